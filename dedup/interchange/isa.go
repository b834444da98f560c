package interchange

import (
	"bytes"
	"unicode/utf8"
)

// Offsets in an ISA of fixed length, as X12.5 defines it.
const (
	isaLength = 105 // up to and with ISA16; the terminator follows
	// isaReach bounds an ISA that lost or gained padding.
	isaReach = 512
)

// isaSeparators are the offsets of the element separators.
var isaSeparators = [...]int{3, 6, 17, 20, 31, 34, 50, 53, 69, 76, 81, 83, 89, 99, 101, 103}

// An isa is the header of an X12 interchange.
type isa struct {
	el     [17][]byte // as they stand; el[0] is the tag
	length int        // with the terminator and its tail
	syntax syntax     // not prepared
	fixed  bool       // the layout is the fixed one
	blank  bool       // blanks before the terminator
}

// parseISA reads ISA by its fixed offsets or else, since editors and mail
// gateways collapse, wrap and re-encode its padding, by its sixteen elements.
func parseISA(b []byte) (isa, bool) {
	var h isa
	if len(b) < 4 || string(b[:3]) != "ISA" || !separates(b[3]) || b[3] == '\r' || b[3] == '\n' {
		return h, false
	}
	last, fixed := isaLength-1, true
	for _, i := range isaSeparators {
		fixed = fixed && len(b) > isaLength && b[i] == b[3]
	}
	if fixed {
		start := 0
		for i, end := range isaSeparators {
			h.el[i] = b[start:end]
			start = end + 1
		}
	} else {
		if last = h.split(b[:min(len(b), isaReach)]); last < 0 {
			return h, false
		}
	}
	h.fixed = fixed
	h.el[16] = b[last : last+1]
	h.syntax.element = serviceChar{b[3], true}
	if !h.ending(b, last) {
		return h, false
	}
	h.separators()
	return h, true
}

// split finds ISA01 to ISA15 by the separator and returns the index of ISA16,
// or of what stands in its place; -1 if this cannot be an ISA.
func (h *isa) split(b []byte) int {
	n, start := 0, 0
	for i, c := range b {
		switch {
		case c == b[3] && n == 16:
			return -1
		case c == b[3]:
			h.el[n] = b[start:i]
			n, start = n+1, i+1
		case n == 15 && c != '\r' && c != '\n' && c != ' ' && len(isaValue(b[start:i])) > 0:
			h.el[15] = b[start:i] // ISA15 has one octet: ISA16 and its separator are missing
			return h.plausible(i)
		case n == 16 && c != '\r' && c != '\n':
			return h.plausible(i)
		case n == 16 && c == '\n':
			// ISA16 is missing and a line break is the terminator, or the line
			// is wrapped here: what follows decides.
			if i+1 < len(b) && alphanumeric(b[i+1]) {
				return h.plausible(i)
			}
		}
	}
	return -1
}

// plausible keeps text that happens to begin with ISA from being taken for one.
func (h *isa) plausible(last int) int {
	version, control := isaValue(h.el[12]), isaValue(h.el[13])
	if len(version) == 0 || len(version) > 5 || !digits(version) || len(control) == 0 || !digits(control) {
		return -1
	}
	return last
}

// ending finds the terminator after ISA16, which is at last.
func (h *isa) ending(b []byte, last int) bool {
	b = b[:min(len(b), last+isaReach)]
	i := last + 1
	for i < len(b) && b[i] == ' ' {
		i++
	}
	if i == len(b) {
		return false
	}
	h.blank = i > last+1
	c := b[i]
	switch {
	case alphanumeric(c): // the next segment: what seemed to be ISA16 is the terminator
		i, c, h.blank = last, b[last], false
		h.el[16] = nil
	case c == '\r' || c == '\n':
		// The terminator, unless the line was wrapped just before it.
		next := bytes.TrimLeft(b[i:], "\r\n\t ")
		if len(next) > 0 && separates(next[0]) && next[0] != 0x1A && next[0] < 0x80 {
			i, c = len(b)-len(next), next[0]
		}
	case c >= 0xC2 && c <= 0xF4: // a character of several octets
		for j := i + 1; j < len(b) && j < i+4 && b[j]&0xC0 == 0x80; j++ {
			h.syntax.tail = append(h.syntax.tail, b[j])
		}
	}
	h.syntax.terminator = serviceChar{c, true}
	h.length = i + 1 + len(h.syntax.tail)
	return separates(c) && c != b[3]
}

// separators takes ISA16 and ISA11. ISA11 is the repetition separator from
// version 00402 on, and even then files hold the former standards identifier,
// a letter, there.
func (h *isa) separators() {
	s := &h.syntax
	taken := func(c byte) bool {
		return !separates(c) || c == s.element.char || c == s.terminator.char
	}
	if c := first(h.el[16]); !taken(c) {
		s.component = serviceChar{c, true}
	}
	c := first(isaValue(h.el[11]))
	if version := string(isaValue(h.el[12])); version >= "00402" && !taken(c) && c != s.component.char {
		s.repetition = serviceChar{c, true}
	}
}

// isaValue is an element without padding and line breaks. No-break spaces, as
// one octet or as UTF-8, occur as padding.
func isaValue(el []byte) []byte {
	if bytes.ContainsAny(el, "\r\n") {
		el = bytes.ReplaceAll(bytes.ReplaceAll(el, []byte{'\r'}, nil), []byte{'\n'}, nil)
	}
	for len(el) > 0 {
		r, n := utf8.DecodeRune(el)
		if !padding(r, el[:n]) {
			break
		}
		el = el[n:]
	}
	for len(el) > 0 {
		r, n := utf8.DecodeLastRune(el)
		if !padding(r, el[len(el)-n:]) {
			break
		}
		el = el[:len(el)-n]
	}
	return el
}

// padding judges a character and the octets it is made of.
func padding(r rune, octets []byte) bool {
	return r == ' ' || r == '\t' || r == 0xA0 || string(octets) == "\xA0"
}
