package gateway

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"os"
)

// Spool holds a decoded payload while it is decided: in memory up to a limit, in an unlinked temporary file beyond. It
// hashes what passes. It is written once, then read any number of times, and must be closed. It is an [as2.Payload] and a
// [smime.Spool].
type Spool struct {
	dir    string
	memory int
	max    int64
	buf    bytes.Buffer
	file   *os.File
	size   int64
	hash   hash.Hash // nil: nobody asks for it

	moved    func() *follower // called when octets move to the file; nil: nobody follows
	follower *follower
}

// ErrTooLarge is returned by Write when the payload exceeds its limit.
var ErrTooLarge = errors.New("payload exceeds the limit")

// NewSpool makes a spool that keeps up to memory octets in memory, puts more into dir ("" for the system's), and takes
// max octets at most.
func NewSpool(dir string, memory int, max int64) *Spool {
	return &Spool{dir: dir, memory: memory, max: max, hash: sha256.New()}
}

// newScratch makes a spool without a hash, for plaintext that waits until it is verified.
func newScratch(dir string, memory int, max int64) *Spool {
	return &Spool{dir: dir, memory: memory, max: max}
}

// Write appends octets.
func (s *Spool) Write(p []byte) (int, error) {
	if s.size+int64(len(p)) > s.max {
		return 0, ErrTooLarge
	}
	if s.hash != nil {
		s.hash.Write(p)
	}
	if s.file == nil && s.size+int64(len(p)) > int64(s.memory) {
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	s.size += int64(len(p))
	if s.file == nil {
		return s.buf.Write(p)
	}
	n, err := s.file.Write(p)
	if s.follower != nil {
		s.follower.grew(n)
	}
	return n, err
}

// spill moves to a file. It has no name while in use, so that a crash leaves nothing behind.
func (s *Spool) spill() error {
	f, err := os.CreateTemp(s.dir, "firstcopy-spool-*")
	if err != nil {
		return err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return err
	}
	if _, err := f.Write(s.buf.Bytes()); err != nil {
		f.Close()
		return err
	}
	s.file, s.buf = f, bytes.Buffer{}
	if s.moved != nil {
		s.follower = s.moved()
	}
	return nil
}

// Size is the number of octets written.
func (s *Spool) Size() int64 { return s.size }

// Sum is the SHA-256 of the octets written.
func (s *Spool) Sum() (sum [32]byte) {
	s.hash.Sum(sum[:0])
	return sum
}

// Open reads all octets.
func (s *Spool) Open() (io.Reader, error) { return s.Section(0, s.size), nil }

// Section reads the octets from start up to end.
func (s *Spool) Section(start, end int64) io.Reader {
	if s.file != nil {
		return io.NewSectionReader(s.file, start, end-start)
	}
	return bytes.NewReader(s.buf.Bytes()[start:end])
}

// Octets returns the octets from start up to end in memory: without a copy if they are there.
func (s *Spool) Octets(start, end int64) ([]byte, error) {
	if s.file == nil {
		return s.buf.Bytes()[start:end], nil
	}
	b := make([]byte, end-start)
	_, err := s.file.ReadAt(b, start)
	return b, err
}

// Close gives the spool's memory and file back.
func (s *Spool) Close() error {
	s.buf = bytes.Buffer{}
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
