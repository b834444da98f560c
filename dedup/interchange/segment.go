package interchange

import "bytes"

// headLimit bounds what is looked at of a segment that is longer than the
// window: its first octets.
const headLimit = 4 << 10

// A segment lies at the current position of the window.
type segment struct {
	// body is the segment without its terminator, or its first headLimit octets
	// if long. It is good until the window moves.
	body  []byte
	width int  // octets with the terminator; 0 if long
	long  bool // the end is not in the window
}

// next finds the next segment, past line breaks and blanks before its tag. It
// reports false at the end of the payload.
func (s *scanner) next(syn *syntax) (segment, bool) {
	b := s.need(lookahead)
	for n := indent(syn, b); n > 0; n = indent(syn, b) {
		s.advance(n)
		b = s.need(lookahead)
	}
	if len(b) == 0 {
		return segment{}, false
	}
	n := syn.segmentEnd(b)
	if n < 0 {
		b = s.need(windowSize)
		n = syn.segmentEnd(b)
	}
	switch {
	case n >= 0:
		return segment{body: b[:n], width: n + 1}, true
	case len(b) == windowSize:
		return segment{body: b[:headLimit], long: true}, true
	default:
		s.flag(lastUnterminated)
		return segment{body: b, width: len(b)}, true
	}
}

func indent(syn *syntax, b []byte) int {
	for i, c := range b {
		switch {
		case syn.class[c] == newline:
		case (c == ' ' || c == '\t') && syn.class[c] == plain:
		default:
			return i
		}
	}
	return len(b)
}

// take passes over a segment and adds it to the canonical form, the elements in
// skip left empty.
func (s *scanner) take(seg segment, skip uint32) {
	s.form.segment(skip)
	if seg.long {
		s.takeRest()
		return
	}
	s.form.feed(seg.body)
	s.form.end()
	s.advance(seg.width)
	s.skipTail()
}

// takeRest passes over what is left of the segment that is being fed.
func (s *scanner) takeRest() {
	for ended := false; !ended; {
		b := s.need(1)
		if len(b) == 0 {
			s.flag(lastUnterminated)
			break
		}
		var n int
		n, ended = s.form.feed(b)
		s.advance(n)
	}
	s.form.end()
	s.skipTail()
}

// takeOctets passes over n octets, or all that are left, which enter the
// canonical form as they are, and returns how many were missing.
func (s *scanner) takeOctets(n int64) (missing int64) {
	for n > 0 {
		b := s.need(1)
		if len(b) == 0 {
			return n
		}
		b = b[:min(int64(len(b)), n)]
		s.form.write(b)
		s.advance(len(b))
		n -= int64(len(b))
	}
	return 0
}

func (s *scanner) skipTail() {
	tail := s.form.syntax.tail
	if len(tail) > 0 && bytes.HasPrefix(s.need(len(tail)), tail) {
		s.advance(len(tail))
	}
}
