package as2client

import (
	"bufio"
	"io"
	"os"
)

// scratch is a temporary file without a name, so that nothing is left of it
// whatever happens.
type scratch struct {
	file *os.File
	to   *bufio.Writer
	size int64
}

func newScratch() (*scratch, error) {
	f, err := os.CreateTemp("", "firstcopy-send-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return &scratch{file: f, to: bufio.NewWriterSize(f, 64<<10)}, nil
}

func (s *scratch) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.size += int64(n)
	return n, err
}

func (s *scratch) flush() error { return s.to.Flush() }

// Open reads what has been written.
func (s *scratch) Open() (io.Reader, error) {
	if err := s.flush(); err != nil {
		return nil, err
	}
	return io.NewSectionReader(s.file, 0, s.size), nil
}

// Size is the number of octets written.
func (s *scratch) Size() int64 { return s.size }

// Close removes it.
func (s *scratch) Close() error { return s.file.Close() }
