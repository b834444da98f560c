package smime

import (
	"bytes"
	"errors"
	"io"
)

// ErrMultipart says that a body does not have the structure of a multipart.
var ErrMultipart = errors.New("smime: not the multipart it should be")

// maxBoundary bounds a boundary, in octets. RFC 2046 §5.1.1 allows 70; senders
// of 83 exist.
const maxBoundary = 1 << 10

// maxPadding bounds the blanks behind a boundary (RFC 2046 §5.1.1).
const maxPadding = 1 << 10

// Multipart takes a multipart body (RFC 2046 §5.1) apart while it is read, to
// the octet: nothing is decoded, unfolded or repaired.
//
// The line end before a delimiter belongs to the delimiter, be it CRLF or LF.
// Preamble and epilogue are ignored, blanks behind a delimiter tolerated. Only
// whole lines are delimiters: a boundary may be the beginning of another.
type Multipart struct {
	src    *Source
	marker []byte
	start  bool // the part has just begun: a delimiter needs no line end before it
	ended  bool // the part has
	closed bool // by a close delimiter, which nothing may follow
	last   bool // the body has no further part
	ready  int  // buffered octets that are known to belong to the part
	err    error
}

// NewMultipart reads a multipart body from src.
func NewMultipart(src io.Reader, boundary string) (*Multipart, error) {
	if boundary == "" || len(boundary) > maxBoundary || bytes.ContainsAny([]byte(boundary), "\r\n") {
		return nil, ErrMultipart
	}
	return &Multipart{src: NewSource(src), marker: []byte("--" + boundary), start: true}, nil
}

// Next passes over what is left of the present part and goes on to the next
// one. It returns io.EOF if there is none, and [ErrMultipart] for a body
// without any delimiter.
func (m *Multipart) Next() error {
	if err := m.drain(); err != nil {
		return err
	}
	if m.last {
		return io.EOF
	}
	m.start, m.ended = true, false
	return nil
}

// First goes on to the first part, past the preamble.
func (m *Multipart) First() error {
	if err := m.drain(); err != nil {
		return err
	}
	if m.last { // no delimiter, or a close delimiter at once
		return ErrMultipart
	}
	m.start, m.ended = true, false
	return nil
}

// Closed reports, at the end, whether the close delimiter was there. A body
// without one may have lost more.
func (m *Multipart) Closed() bool { return m.closed }

func (m *Multipart) drain() error {
	for !m.ended && m.err == nil {
		b, err := m.piece()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		m.take(len(b))
	}
	return m.err
}

func (m *Multipart) take(n int) {
	m.src.skip(n)
	m.ready -= n
}

// End reads the body to its end and returns [ErrMultipart] if there are parts
// besides those that have been read. A delimiter with nothing but blanks behind
// it is taken for a close delimiter.
func (m *Multipart) End() error {
	if err := m.drain(); err != nil {
		return err
	}
	if !m.last {
		m.start, m.ended = true, false
		for {
			b, err := m.piece()
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			if len(bytes.TrimSpace(b)) > 0 {
				return ErrMultipart
			}
			m.take(len(b))
		}
		if !m.last || m.closed {
			return ErrMultipart
		}
	}
	return Drain(m.src)
}

// Read reads the present part.
func (m *Multipart) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	b, err := m.piece()
	if err != nil {
		return 0, err
	}
	n := copy(p, b)
	m.take(n)
	return n, nil
}

// WriteTo saves io.Copy a buffer of its own.
func (m *Multipart) WriteTo(w io.Writer) (total int64, err error) {
	for {
		b, err := m.piece()
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		n, err := w.Write(b)
		m.take(n)
		if total += int64(n); err != nil {
			return total, err
		}
	}
}

// piece returns octets of the part that are buffered and certain to be no
// delimiter, at least one, or io.EOF at the part's end.
func (m *Multipart) piece() ([]byte, error) {
	for {
		if m.err != nil {
			return nil, m.err
		}
		if m.ended {
			return nil, io.EOF
		}
		b := m.src.buffered()
		if m.ready == 0 {
			m.ready = m.certain(b)
		}
		if m.ready > 0 {
			m.start = false
			return b[:m.ready], nil
		}
		if m.ended {
			return nil, io.EOF
		}
		before := len(b)
		m.src.fill()
		if err := m.src.err; err != nil && len(m.src.buffered()) == before {
			if err != io.EOF {
				m.err = err
				return nil, err
			}
			if len(m.src.buffered()) == 0 { // no delimiter has come
				m.ended, m.last = true, true
			}
		}
	}
}

// certain returns how many octets of b belong to the part. With 0, either more
// has to be read, or the part has ended and its delimiter has been consumed.
func (m *Multipart) certain(b []byte) int {
	atEnd := m.src.err == io.EOF
	for at := 0; ; {
		i := bytes.Index(b[at:], m.marker)
		if i < 0 {
			break
		}
		i += at
		if i > 0 && b[i-1] != '\n' || i == 0 && !m.start {
			at = i + len(m.marker)
			continue
		}
		from := lineEndBefore(b, i)
		end, closing, verdict := delimiterLine(b[i+len(m.marker):], atEnd)
		switch {
		case verdict == noDelimiter:
			at = i + len(m.marker)
		case from > 0 || verdict == undecided:
			return from // first what stands before it
		default:
			m.end(i+len(m.marker)+end, closing)
			return 0
		}
	}
	if atEnd {
		return len(b)
	}
	return max(len(b)-m.tail(b), 0)
}

// tail is how many octets at the end of b may be the beginning of a delimiter.
func (m *Multipart) tail(b []byte) int {
	window := b[max(0, len(b)-len(m.marker)-1):]
	for i, c := range window {
		switch {
		case c == '\r' && (i+1 == len(window) || window[i+1] == '\n' && bytes.HasPrefix(m.marker, window[i+2:])),
			c == '\n' && bytes.HasPrefix(m.marker, window[i+1:]),
			i == 0 && m.start && len(window) == len(b) && bytes.HasPrefix(m.marker, window):
			return len(window) - i
		}
	}
	return 0
}

func (m *Multipart) end(size int, closing bool) {
	m.src.skip(size)
	m.ended = true
	m.closed = closing
	m.last = closing
}

type verdict uint8

const (
	isDelimiter verdict = iota
	noDelimiter
	undecided
)

// delimiterLine judges what follows a boundary and returns where its line ends.
func delimiterLine(b []byte, atEnd bool) (end int, closing bool, v verdict) {
	rest := b
	if bytes.HasPrefix(rest, []byte("--")) {
		closing = true
		rest = rest[2:]
	} else if len(rest) < 2 && !atEnd && bytes.HasPrefix([]byte("--"), rest) {
		return 0, false, undecided
	}
	line := bytes.IndexByte(rest, '\n')
	text := rest
	if line >= 0 {
		text = rest[:line]
	}
	switch {
	case len(bytes.TrimRight(text, " \t\r")) > 0 || len(text) > maxPadding:
		return 0, false, noDelimiter
	case line >= 0:
		return len(b) - len(rest) + line + 1, closing, isDelimiter
	case atEnd:
		return len(b), closing, isDelimiter
	}
	return 0, false, undecided
}

// lineEndBefore steps back from i over one CRLF or LF.
func lineEndBefore(b []byte, i int) int {
	if i > 0 && b[i-1] == '\n' {
		i--
		if i > 0 && b[i-1] == '\r' {
			i--
		}
	}
	return i
}
