package smime

import (
	"bytes"
	"io"
	"strings"
)

// Field is one MIME header field, unfolded, its value without surrounding
// blanks.
type Field struct{ Name, Value string }

// Header is a header block in its received order.
type Header []Field

// Get returns the first value of a field, compared without regard to case, or
// "".
func (h Header) Get(name string) string {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// MaxHeader bounds a header block, in octets. What has none within it has none
// at all.
const MaxHeader = 16 << 10

// SplitHeader divides a MIME entity at its first empty line. body shares the
// entity's memory, so that entity[:len(entity)-len(body)] is the header block
// as received. Lines may end in CRLF or LF.
//
// An entity without a header block, or with text where one would be, is all
// body: senders exist that leave it out, and an EDI payload must not lose its
// first segment to a parser. A header block therefore counts only if every
// line is a field and one of them is MIME-Version or Content-something
// (RFC 2045 §3).
func SplitHeader(entity []byte) (header Header, body []byte) {
	header, size, _ := scanHeader(entity, true)
	return header, entity[size:]
}

// ReadHeader is SplitHeader for an entity that is read: it returns the header
// block and its octets, and leaves src at the body. Errors are src's own.
func ReadHeader(src *Source) (header Header, block []byte, err error) {
	for n := 1 << 10; ; n *= 2 {
		b, err := src.Peek(n)
		if err != nil && err != io.EOF {
			return nil, nil, err
		}
		header, size, decided := scanHeader(b, err == io.EOF || n > MaxHeader)
		if decided {
			block = bytes.Clone(b[:size])
			src.skip(size)
			return header, block, nil
		}
	}
}

// scanHeader finds the header block at the beginning of b and its size. It is
// undecided while the block may go on behind b.
func scanHeader(b []byte, whole bool) (header Header, size int, decided bool) {
	mime := false
	for rest := b; size <= MaxHeader; {
		line, next := cutLine(rest)
		if len(line) == len(rest) && !whole { // without its line end
			return nil, 0, false
		}
		if len(rest) == 0 {
			break // no empty line: a header block with nothing behind it
		}
		rest = next
		size = len(b) - len(rest)
		switch name, value, ok := cutField(line); {
		case len(line) == 0:
			if len(header) > 0 && !mime {
				return nil, 0, true
			}
			return header, size, true
		case ok:
			header = append(header, Field{name, value})
			mime = mime || isMIMEField(name)
		case (line[0] == ' ' || line[0] == '\t') && len(header) > 0: // folded
			last := &header[len(header)-1]
			last.Value = strings.TrimSpace(last.Value + " " + string(bytes.TrimSpace(line)))
		default:
			return nil, 0, true
		}
	}
	if !mime || size < len(b) {
		return nil, 0, true
	}
	return header, size, true
}

// cutLine returns the first line of b without its line end, and what follows.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return b, nil
	}
	line = b[:i]
	if i > 0 && line[i-1] == '\r' {
		line = line[:i-1]
	}
	return line, b[i+1:]
}

func cutField(line []byte) (name, value string, ok bool) {
	for i, c := range line {
		if !isFieldNameByte(c) {
			if c != ':' || i == 0 {
				return "", "", false
			}
			return string(line[:i]), string(bytes.TrimSpace(line[i+1:])), true
		}
	}
	return "", "", false
}

// isFieldNameByte is narrower than RFC 5322 §2.2: no field in use has anything
// but these, and EDI separators must not pass.
func isFieldNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

func isMIMEField(name string) bool {
	const prefix = "content-"
	return len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) ||
		strings.EqualFold(name, "MIME-Version")
}
