package smime

import (
	"bytes"
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

// maxHeader bounds a header block, in octets.
const maxHeader = 16 << 10

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
	rest := entity
	mime := false
	for len(entity)-len(rest) <= maxHeader {
		line, next := cutLine(rest)
		if len(line) == 0 && len(next) == len(rest) {
			break // no empty line: a header block with nothing behind it
		}
		rest = next
		switch name, value, ok := cutField(line); {
		case len(line) == 0:
			if len(header) > 0 && !mime {
				return nil, entity
			}
			return header, rest
		case ok:
			header = append(header, Field{name, value})
			mime = mime || isMIMEField(name)
		case (line[0] == ' ' || line[0] == '\t') && len(header) > 0: // folded
			last := &header[len(header)-1]
			last.Value = strings.TrimSpace(last.Value + " " + string(bytes.TrimSpace(line)))
		default:
			return nil, entity
		}
	}
	if !mime || len(rest) > 0 {
		return nil, entity
	}
	return header, rest
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
