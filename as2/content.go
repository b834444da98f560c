package as2

import (
	"bytes"
	"io"

	"firstcopy/as2/smime"
)

// Content is octets that can be read as often as needed.
type Content interface {
	Open() (io.Reader, error)
	Size() int64
}

// ContentAt is the first size octets of a file or of anything like it.
func ContentAt(r io.ReaderAt, size int64) Content { return section{r, size} }

type section struct {
	r    io.ReaderAt
	size int64
}

func (s section) Open() (io.Reader, error) { return io.NewSectionReader(s.r, 0, s.size), nil }
func (s section) Size() int64              { return s.size }

// Octets is content in memory.
func Octets(b []byte) Content { return inMemory(b) }

type inMemory []byte

func (m inMemory) Open() (io.Reader, error) { return bytes.NewReader(m), nil }
func (m inMemory) Size() int64              { return int64(len(m)) }

// sequence is one after another.
type sequence []Content

func (s sequence) Open() (io.Reader, error) {
	readers := make([]io.Reader, len(s))
	for i, c := range s {
		var err error
		if readers[i], err = c.Open(); err != nil {
			return nil, err
		}
	}
	return io.MultiReader(readers...), nil
}

func (s sequence) Size() (n int64) {
	for _, c := range s {
		n += c.Size()
	}
	return n
}

// spooled is what has been written to a spool.
type spooled struct {
	smime.Spool
	size int64
}

func (s *spooled) Write(p []byte) (int, error) {
	n, err := s.Spool.Write(p)
	s.size += int64(n)
	return n, err
}

func (s *spooled) Size() int64 { return s.size }

// sized tells smime.Encrypt how much comes, so that it writes DER.
type sized struct {
	io.Reader
	size int
}

func (s sized) Len() int { return s.size }

// copyTo writes all of it.
func copyTo(w io.Writer, c Content) error {
	r, err := c.Open()
	if err == nil {
		_, err = io.Copy(w, r)
	}
	return err
}
