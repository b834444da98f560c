package interchange

// leastRoom is what translate is given to write to, at least.
const leastRoom = 4 << 10

// A tagSet tells segments that a reader has to see from the ordinary ones, by
// the first two octets of their tags. It may let too many through to the
// reader, never too few: a tag that is wrapped cannot be translated anyway.
type tagSet struct{ first, second [256]uint32 }

// newTagSet takes beginnings of one or two octets, at most 32.
func newTagSet(beginnings ...string) tagSet {
	var t tagSet
	for i, b := range beginnings {
		t.first[b[0]] |= 1 << i
		for c := range t.second {
			if len(b) == 1 || byte(c) == b[1] {
				t.second[c] |= 1 << i
			}
		}
	}
	return t
}

func (t *tagSet) has(b []byte) bool { return t.first[b[0]]&t.second[b[1]] != 0 }

// takeOrdinary passes over segments that need no reader and no more than
// translation, and returns how many there were. It stops for many reasons, and
// may stop before the first.
func (s *scanner) takeOrdinary(syn *syntax, special *tagSet) (segments int) {
	if len(syn.tail) > 0 || !syn.words.usable {
		return 0
	}
	b := s.need(lookahead)
	at := 0
	for {
		room := s.form.room(leastRoom)
		read, written, n := syn.words.translate(room, b[at:min(len(b), at+len(room))], syn, special)
		s.form.wrote(written)
		at += read
		segments += n
		if n == 0 {
			break
		}
	}
	s.advance(at)
	return segments
}
