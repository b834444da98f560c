package smime

import (
	"bytes"
	"io"
)

// Spool keeps octets that may not be released yet: the plaintext of an
// authenticated cipher before its tag is verified (RFC 5083 §3). It is written
// once, then opened, and closed in any case.
type Spool interface {
	io.Writer
	// Open reads what has been written, from the beginning.
	Open() (io.Reader, error)
	// Close gives back what the spool holds.
	Close() error
}

// NewMemorySpool keeps octets in memory. It is what is used where no other
// spool is given.
func NewMemorySpool() (Spool, error) { return new(memorySpool), nil }

type memorySpool struct{ bytes.Buffer }

func (s *memorySpool) Open() (io.Reader, error) { return bytes.NewReader(s.Bytes()), nil }
func (s *memorySpool) Close() error             { s.Buffer = bytes.Buffer{}; return nil }
