package smime

import "io"

// Buffers start small, since most messages are, and grow as long as a reader
// fills them.
const (
	minBuffer = 4 << 10
	maxBuffer = 64 << 10
)

// Source is a buffered reader that can be looked ahead in by up to 64 KiB. The
// readers of this package share one when they are given one, so that nothing
// is buffered twice.
type Source struct {
	r         io.Reader
	buf       []byte
	next, end int // of what is buffered
	filled    bool
	err       error // of r, once it has failed or ended
}

// NewSource returns a Source over r: r itself if it is one.
func NewSource(r io.Reader) *Source {
	if s, ok := r.(*Source); ok {
		return s
	}
	return &Source{r: r}
}

// maxEmptyReads is how often a reader may return nothing and no error.
const maxEmptyReads = 100

// fill reads once. It makes room first: by moving what is left to the front,
// or by a larger buffer.
func (s *Source) fill() {
	if s.err != nil {
		return
	}
	if s.next == s.end {
		s.next, s.end = 0, 0
	}
	if grow := len(s.buf) == 0 || len(s.buf) < maxBuffer && (s.filled || s.end-s.next == len(s.buf)); grow {
		buf := make([]byte, min(max(minBuffer, 2*len(s.buf)), maxBuffer))
		s.end = copy(buf, s.buf[s.next:s.end])
		s.buf, s.next = buf, 0
	} else if s.end == len(s.buf) {
		s.end = copy(s.buf, s.buf[s.next:s.end])
		s.next = 0
	}
	room := s.buf[s.end:]
	for range maxEmptyReads {
		n, err := s.r.Read(room)
		s.end += n
		s.filled = n == len(room)
		if err != nil {
			s.err = err
		}
		if n > 0 || err != nil {
			return
		}
	}
	s.err = io.ErrNoProgress
}

// Peek returns the next n octets without consuming them, fewer only with the
// error that is in the way. n is at most 64 KiB. The octets are valid until the
// next call.
func (s *Source) Peek(n int) ([]byte, error) {
	for s.end-s.next < n && s.err == nil {
		s.fill()
	}
	if have := s.end - s.next; have < n {
		return s.buf[s.next:s.end], s.err
	}
	return s.buf[s.next : s.next+n], nil
}

// skip consumes n octets that have been peeked.
func (s *Source) skip(n int) { s.next += n }

// buffered are the octets that can be had without reading.
func (s *Source) buffered() []byte { return s.buf[s.next:s.end] }

// Read reads past the buffer where it is empty and p is larger.
func (s *Source) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if s.next == s.end {
		if s.err != nil {
			return 0, s.err
		}
		if len(p) >= max(len(s.buf), minBuffer) {
			n, err := s.r.Read(p)
			s.err = err
			if n > 0 {
				return n, nil
			}
			return 0, err
		}
		if s.fill(); s.next == s.end {
			return 0, s.err
		}
	}
	n := copy(p, s.buf[s.next:s.end])
	s.next += n
	return n, nil
}

// ReadByte completes what compress/flate wants of a reader.
func (s *Source) ReadByte() (byte, error) {
	if s.next == s.end {
		if s.fill(); s.next == s.end {
			return 0, s.err
		}
	}
	c := s.buf[s.next]
	s.next++
	return c, nil
}

// WriteTo saves io.Copy a buffer of its own.
func (s *Source) WriteTo(w io.Writer) (total int64, err error) {
	for {
		if s.next < s.end {
			n, err := w.Write(s.buf[s.next:s.end])
			s.next += n
			if total += int64(n); err != nil {
				return total, err
			}
			if s.next < s.end {
				return total, io.ErrShortWrite
			}
		}
		if s.err == io.EOF {
			return total, nil
		}
		if s.err != nil {
			return total, s.err
		}
		s.fill()
	}
}

// readFull fills p as far as r goes. Unlike io.ReadFull it returns io.EOF for
// every end, so that an io.ErrUnexpectedEOF of r's own, which is how HTTP
// reports a body that broke off, is not taken for one.
func readFull(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = r.Read(p[n:])
		n += k
	}
	if n == len(p) {
		err = nil
	}
	return n, err
}

// Drain reads to the end.
func Drain(r io.Reader) error {
	_, err := io.Copy(io.Discard, NewSource(r))
	return err
}
