package interchange

import "bytes"

// A class is the role of an octet in the syntax of one interchange.
type class uint8

const (
	plain  class = iota
	quoted       // data that looks like a separator of the canonical form
	newline
	component
	repetition
	element
	release
	terminator
)

// A serviceChar is an octet that has a role, or none.
type serviceChar struct {
	char byte
	used bool
}

// octet is the character, or 0 if it has no role.
func (c serviceChar) octet() byte {
	if !c.used {
		return 0
	}
	return c.char
}

// A syntax holds the service characters of one interchange.
type syntax struct {
	component, element, release, repetition, terminator serviceChar
	// tail follows every terminator: the rest of a character of which the
	// terminator is the first octet (a terminator re-encoded as UTF-8).
	tail  []byte
	class [256]class
	words words
}

// prepare derives the tables. Where one octet was given two roles, the one that
// keeps the segments apart wins. A line break without a role is no part of
// either syntax, wherever it stands.
func (s *syntax) prepare() {
	s.class = [256]class{'\r': newline, '\n': newline}
	for c := canonEscape; c <= canonComponent; c++ {
		s.class[c] = quoted
	}
	for _, role := range [...]struct {
		serviceChar
		class
	}{
		{s.component, component}, {s.repetition, repetition}, {s.element, element},
		{s.release, release}, {s.terminator, terminator},
	} {
		if role.used {
			s.class[role.char] = role.class
		}
	}
	s.words = newWords(&s.class)
}

// segmentEnd returns the index of the first terminator in b that is not
// released, or -1. b begins at the start of a segment.
func (s *syntax) segmentEnd(b []byte) int {
	for i := 0; ; i++ {
		n := bytes.IndexByte(b[i:], s.terminator.char)
		if n < 0 {
			return -1
		}
		if i += n; !s.released(b, i) {
			return i
		}
	}
}

// released tells whether a release character acts on b[at]. Releases count by
// parity, since one may release another, and line breaks do not count at all.
func (s *syntax) released(b []byte, at int) bool {
	odd := false
	for at--; s.release.used && at >= 0; at-- {
		switch s.class[b[at]] {
		case release:
			odd = !odd
		case newline:
		default:
			return odd
		}
	}
	return odd
}

// split cuts b at the separators of one class, as they stand, into parts. What
// does not fit into parts is left out.
func (s *syntax) split(b []byte, at class, parts [][]byte) int {
	n, start, released := 0, 0, false
	for i, c := range b {
		cl := s.class[c]
		switch {
		case released:
			released = cl == newline
		case cl == release:
			released = true
		case cl == at:
			if n == len(parts) {
				return n
			}
			parts[n] = b[start:i]
			n, start = n+1, i+1
		}
	}
	if n < len(parts) {
		parts[n] = b[start:]
		n++
	}
	return n
}

// part returns component n of an element as it stands, nil if there is none.
func (s *syntax) part(el []byte, n int) []byte {
	var parts [4][]byte
	if n >= s.split(el, component, parts[:]) {
		return nil
	}
	return parts[n]
}

// value returns what was meant by octets that stand in a segment: without line
// breaks and release characters. It allocates only if there are any.
func (s *syntax) value(b []byte) []byte {
	clean := true
	for _, c := range b {
		cl := s.class[c]
		clean = clean && cl != newline && cl != release
	}
	if clean {
		return b
	}
	v, released := make([]byte, 0, len(b)), false
	for _, c := range b {
		switch cl := s.class[c]; {
		case cl == newline:
		case cl == release && !released:
			released = true
		default:
			v, released = append(v, c), false
		}
	}
	return v
}

// simple returns the value of a simple element, or of the first component.
// Writers leave component separators behind after either.
func (s *syntax) simple(el []byte) []byte { return s.value(s.part(el, 0)) }

// A tag is a segment tag of two or three characters; 0 is any other.
type tag uint32

// tag reads the tag of a segment. Wrapping may have broken it into two lines.
func (s *syntax) tag(b []byte) tag {
	var t tag
	for _, c := range b {
		switch s.class[c] {
		case newline:
			continue
		case plain:
			if t > 0xFFFF {
				return 0
			}
			t = t<<8 | tag(c)
			continue
		}
		break
	}
	return t
}

// number reads an unsigned count, zero padded or not; -1 if it is none.
func number(b []byte) int {
	if n := size(b); n < 1e9 {
		return int(n)
	}
	return -1
}

// size is number for lengths of up to 18 digits.
func size(b []byte) int64 {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || !digits(b) {
		return -1
	}
	if b = bytes.TrimLeft(b, "0"); len(b) > 18 {
		return -1
	}
	var n int64
	for _, c := range b {
		n = n*10 + int64(c-'0')
	}
	return n
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// separates tells whether an octet can be a service character at all.
func separates(c byte) bool { return c != ' ' && c != 0 && !alphanumeric(c) }
