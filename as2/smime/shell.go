package smime

import (
	"bytes"
	"io"
)

// layer is a constructed element around content that is written as it comes.
type layer struct {
	tag    byte
	before []byte // encoded elements before the content
	after  int    // octets behind it, which Close is given
}

// maxHeld is how much content is held to write it in DER. More, of which the
// length is not known beforehand, is written in BER with indefinite lengths,
// as streaming implementations of CMS do.
const maxHeld = 1 << 20

// shell writes content as an OCTET STRING in layers of other elements,
// outermost first.
type shell struct {
	dst    io.Writer
	layers []layer
	tag    byte  // of the content: OCTET STRING or [0] IMPLICIT
	left   int64 // of a known length; -1 if it is not known
	begun  bool
	held   bytes.Buffer
}

// newShell writes to dst. length is that of the content, -1 if not known.
func newShell(dst io.Writer, layers []layer, tag byte, length int64) *shell {
	return &shell{dst: dst, layers: layers, tag: tag, left: length}
}

func (s *shell) Write(p []byte) (int, error) {
	if s.left >= 0 {
		if !s.begun {
			if err := s.beginDefinite(s.left); err != nil {
				return 0, err
			}
		}
		s.left -= int64(len(p))
		return s.dst.Write(p)
	}
	s.held.Write(p)
	for s.held.Len() > maxHeld {
		if err := s.segment(maxBuffer); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// beginDefinite writes everything before content of n octets, in DER.
func (s *shell) beginDefinite(n int64) error {
	s.begun = true
	head := appendLength([]byte{s.tag}, n)
	for i := len(s.layers) - 1; i >= 0; i-- {
		l := s.layers[i]
		inside := append(l.before[:len(l.before):len(l.before)], head...)
		n += int64(l.after)
		head = append(appendLength([]byte{l.tag}, n+int64(len(inside))), inside...)
	}
	_, err := s.dst.Write(head)
	return err
}

// segment writes a piece of content that is held, in BER.
func (s *shell) segment(size int) error {
	var b []byte
	if !s.begun {
		s.begun = true
		for _, l := range s.layers {
			b = append(append(b, l.tag, 0x80), l.before...)
		}
		b = append(b, s.tag|tagConstructed, 0x80)
	}
	piece := s.held.Next(size)
	if len(piece) > 0 {
		b = append(appendLength(append(b, tagOctetString), int64(len(piece))), piece...)
	}
	_, err := s.dst.Write(b)
	return err
}

// Close ends the content and the layers, writing after behind the innermost
// one that has room for it.
func (s *shell) Close(after []byte) error {
	if s.left >= 0 || !s.begun {
		return s.closeDefinite(after)
	}
	if err := s.segment(s.held.Len()); err != nil {
		return err
	}
	end := []byte{0, 0} // of the content
	for i := len(s.layers) - 1; i >= 0; i-- {
		if s.layers[i].after > 0 {
			end = append(end, after...)
		}
		end = append(end, 0, 0)
	}
	_, err := s.dst.Write(end)
	return err
}

func (s *shell) closeDefinite(after []byte) error {
	if !s.begun {
		if err := s.beginDefinite(int64(s.held.Len())); err != nil {
			return err
		}
		if _, err := s.held.WriteTo(s.dst); err != nil {
			return err
		}
	}
	_, err := s.dst.Write(after)
	return err
}
