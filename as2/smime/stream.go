package smime

import (
	"bytes"
	"io"
	"math"
)

// maxElement bounds the elements that are held in memory: identifiers,
// algorithms, recipients, signers with their attributes. Content, certificates
// and revocation lists stream by.
const maxElement = 256 << 10

// stream reads BER from the front to the back, one identifier and length at a
// time, in constant memory. Its errors are errBER or the source's own.
type stream struct {
	src    *Source
	off    int64 // octets consumed
	frames []frame
}

// frame is a constructed element that has been entered.
type frame struct {
	end        int64 // where its contents, or those of what it is in, end at the latest
	indefinite bool
}

func newStream(r io.Reader) *stream { return &stream{src: NewSource(r)} }

func (s *stream) end() int64 {
	if len(s.frames) == 0 {
		return math.MaxInt64
	}
	return s.frames[len(s.frames)-1].end
}

// peek returns the next n octets, which have to lie in the frame.
func (s *stream) peek(n int) ([]byte, error) {
	if s.end()-s.off < int64(n) {
		return nil, errBER
	}
	b, err := s.src.Peek(n)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if err != nil {
		return nil, errBER
	}
	return b, nil
}

// next returns the head that comes, without consuming it.
func (s *stream) next() (head, []byte, error) {
	room := min(s.end()-s.off, maxHead)
	for n := int64(2); ; n++ {
		if n > room {
			return head{}, nil, errBER
		}
		b, err := s.peek(int(n))
		if err != nil {
			return head{}, nil, err
		}
		h, ok := parseHead(b)
		if !ok {
			continue
		}
		if h.length > s.end()-s.off-int64(h.size) || h.length < -1 || h.length < 0 && h.tag&tagConstructed == 0 {
			return head{}, nil, errBER
		}
		return h, b[:h.size], nil
	}
}

func (s *stream) consume(n int) {
	s.src.skip(n)
	s.off += int64(n)
}

// peekTag returns the identifier octet that comes, 0 at the end of the frame.
func (s *stream) peekTag() (byte, error) {
	more, err := s.more()
	if err != nil || !more {
		return 0, err
	}
	b, err := s.peek(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// more reports whether the frame has another element.
func (s *stream) more() (bool, error) {
	f := s.frames[len(s.frames)-1]
	if !f.indefinite {
		return s.off < f.end, nil
	}
	b, err := s.peek(2)
	if err != nil {
		return false, err
	}
	return b[0] != 0 || b[1] != 0, nil
}

// enter opens the constructed element that comes, which has to carry the tag.
func (s *stream) enter(tag byte) error {
	h, _, err := s.next()
	if err != nil {
		return err
	}
	if h.tag != tag || len(s.frames) >= maxNesting {
		return errBER
	}
	s.push(h)
	return nil
}

func (s *stream) push(h head) {
	s.consume(h.size)
	f := frame{end: s.end(), indefinite: h.length < 0}
	if !f.indefinite {
		f.end = s.off + h.length
	}
	s.frames = append(s.frames, f)
}

// leave closes the innermost frame, passing over what is left in it.
func (s *stream) leave() error {
	for {
		more, err := s.more()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if err := s.skip(); err != nil {
			return err
		}
	}
	if s.frames[len(s.frames)-1].indefinite {
		s.consume(2)
	}
	s.frames = s.frames[:len(s.frames)-1]
	return nil
}

// skip passes over the element that comes, of any size.
func (s *stream) skip() error {
	h, _, err := s.next()
	if err != nil {
		return err
	}
	if h.length < 0 {
		if len(s.frames) >= maxNesting {
			return errBER
		}
		s.push(h)
		return s.leave()
	}
	s.consume(h.size)
	return s.discard(h.length)
}

func (s *stream) discard(n int64) error {
	for n > 0 {
		b := s.src.buffered()
		if len(b) == 0 {
			s.src.fill()
			if b = s.src.buffered(); len(b) == 0 {
				return s.broken()
			}
		}
		k := int(min(int64(len(b)), n))
		s.consume(k)
		n -= int64(k)
	}
	return nil
}

// broken is why the source has nothing more.
func (s *stream) broken() error {
	if err := s.src.err; err != nil && err != io.EOF {
		return err
	}
	return errBER
}

// element reads the element that comes into memory; of limit octets at most.
func (s *stream) element(limit int) (element, error) {
	var raw bytes.Buffer
	if err := s.gather(&raw, limit, 0); err != nil {
		return element{}, err
	}
	e, _, err := readElement(raw.Bytes())
	return e, err
}

func (s *stream) gather(raw *bytes.Buffer, limit, depth int) error {
	h, octets, err := s.next()
	if err != nil {
		return err
	}
	if depth >= maxNesting || int64(raw.Len()+h.size)+max(h.length, 0) > int64(limit) {
		return errBER
	}
	raw.Write(octets)
	if h.length >= 0 {
		s.consume(h.size)
		if _, err := io.CopyN(raw, s.src, h.length); err != nil {
			return s.broken()
		}
		s.off += h.length
		return nil
	}
	s.push(h)
	for {
		more, err := s.more()
		if err != nil {
			return err
		}
		if !more {
			raw.Write([]byte{0, 0})
			return s.leave()
		}
		if err := s.gather(raw, limit, depth+1); err != nil {
			return err
		}
	}
}

// expect is element for one that has to carry the tag.
func (s *stream) expect(tag byte) (element, error) {
	e, err := s.element(maxElement)
	if err == nil && e.tag != tag {
		err = errBER
	}
	return e, err
}

// contentInfo enters a ContentInfo (RFC 5652 §3) down into the SEQUENCE of its
// content.
func (s *stream) contentInfo() (ContentKind, error) {
	if err := s.enter(tagSequence); err != nil {
		return Unknown, err
	}
	oid, err := s.expect(tagOID)
	if err != nil {
		return Unknown, err
	}
	if err := s.enter(tagContext0); err != nil {
		return Unknown, err
	}
	return kindOf(string(oid.body)), s.enter(tagSequence)
}

// finish leaves all frames, so that a content cut off behind its last octet is
// not taken for whole.
func (s *stream) finish() error {
	for len(s.frames) > 0 {
		if err := s.leave(); err != nil {
			return err
		}
	}
	return nil
}
