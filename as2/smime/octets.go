package smime

import "io"

// Segments of a few octets cost more to read than they hold. Beyond the first
// freeSegments they have to have minSegment octets on the average.
const (
	freeSegments = 64 << 10
	minSegment   = 16
)

// octetReader reads the value of an OCTET STRING, plain or implicitly tagged,
// in one piece or in segments at any depth (X.690 §8.7.3). It leaves the stream
// behind the element.
type octetReader struct {
	s        *stream
	left     int64 // of the present segment
	depth    int   // frames entered
	segments int64
	total    int64
	err      error // io.EOF at the end
}

// octets starts reading the OCTET STRING that comes, whose identifier is tag
// or its constructed form.
func (s *stream) octets(tag byte) (*octetReader, error) {
	h, _, err := s.next()
	if err != nil {
		return nil, err
	}
	if h.tag&^tagConstructed != tag&^tagConstructed {
		return nil, errBER
	}
	r := &octetReader{s: s}
	if h.tag&tagConstructed != 0 {
		s.push(h)
		r.depth = 1
		return r, nil
	}
	s.consume(h.size)
	r.left = h.length
	return r, nil
}

func (r *octetReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for r.left == 0 && r.err == nil {
		r.err = r.segment()
	}
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.s.src.Read(p[:min(int64(len(p)), r.left)])
	r.s.off += int64(n)
	r.left -= int64(n)
	r.total += int64(n)
	if n == 0 && err != nil {
		r.err = r.s.broken()
		return 0, r.err
	}
	return n, nil
}

// segment goes on to the next segment.
func (r *octetReader) segment() error {
	if r.depth == 0 {
		return io.EOF
	}
	more, err := r.s.more()
	if err != nil {
		return err
	}
	if !more {
		r.depth--
		if err := r.s.leave(); err != nil {
			return err
		}
		if r.depth == 0 {
			return io.EOF
		}
		return nil
	}
	h, _, err := r.s.next()
	if err != nil {
		return err
	}
	r.segments++
	if r.segments > freeSegments && r.total/r.segments < minSegment {
		return errBER
	}
	switch {
	case h.tag == tagOctetString:
		r.s.consume(h.size)
		r.left = h.length
	case h.tag == tagOctetString|tagConstructed && len(r.s.frames) < maxNesting:
		r.s.push(h)
		r.depth++
	default:
		return errBER
	}
	return nil
}
