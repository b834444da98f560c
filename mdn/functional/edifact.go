package functional

import (
	"strings"

	"firstcopy/dedup/interchange"
)

// A unb holds what a CONTRL needs of the subject's UNB: values, without release
// characters and line breaks, in their components.
type unb struct {
	syntax            []string // S001
	sender, recipient []string // S002, S003
	control           string   // 0020
	test              bool     // 0035 is 1 to 4
}

// parseUNB reads UNB and judges the elements that a CONTRL copies.
func parseUNB(x *interchange.Interchange) (unb, error) {
	el := elements(string(x.Header), x.Separators)
	at := func(i int) []string {
		if i < len(el) {
			return el[i]
		}
		return []string{""}
	}
	u := unb{syntax: at(1), sender: at(2), recipient: at(3), control: at(5)[0]}
	indicator := at(11)[0]
	if written := octets(x.AsWritten.Control); written != u.control && at(6)[0] == written {
		// Date and time are two elements of this UNB, see package interchange.
		u.control, indicator = written, at(12)[0]
	}
	u.test = len(indicator) == 1 && indicator >= "1" && indicator <= "4"
	switch {
	case u.control == "" || !fits(u.control, 14):
		return u, unanswerable("no valid control reference (0020) in UNB")
	case !partyValid(u.sender):
		return u, unanswerable("no valid sender (S002) in UNB")
	case !partyValid(u.recipient):
		return u, unanswerable("no valid recipient (S003) in UNB")
	}
	return u, nil
}

// partyValid judges S002 or S003: 0004/0010 an..35, 0007 an..4, 0008/0014 and
// 0042/0046 an..35 (ISO 9735-1 Annex C; an..14 before version 4, but routing
// addresses are longer in practice).
func partyValid(components []string) bool {
	if components[0] == "" || len(components) > 4 {
		return false
	}
	for i, c := range components {
		if longest := 35; i == 1 && !fits(c, 4) || !fits(c, longest) {
			return false
		}
	}
	return true
}

// version is that of the syntax, 3 if it is not given.
func (u *unb) version() byte {
	if len(u.syntax) > 1 && len(u.syntax[1]) == 1 && u.syntax[1] >= "1" && u.syntax[1] <= "9" {
		return u.syntax[1][0]
	}
	return '3'
}

// identifier is S001 of the answer: that of the subject, whose repertoire its
// copied values are in.
func (u *unb) identifier() []string {
	id := u.syntax[0]
	if len(id) != 4 || strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return []string{"UNOC", string(u.version())}
	}
	s := []string{id, string(u.version())}
	if len(u.syntax) > 2 && u.version() >= '4' {
		for _, c := range u.syntax[2:] { // 0080, 0133 and 0076 belong to the repertoire
			if !fits(c, 6) {
				return s
			}
		}
		s = append(s, u.syntax[2:]...)
	}
	return s
}

// elements cuts a segment into elements and components by its own service
// characters.
func elements(segment string, s interchange.Separators) [][]string {
	el := [][]string{{""}}
	var value strings.Builder
	put := func() {
		last := &el[len(el)-1]
		(*last)[len(*last)-1] = value.String()
		value.Reset()
	}
	for i := 0; i < len(segment); i++ {
		switch c := segment[i]; {
		case c == '\r' || c == '\n': // a line break is no part of the syntax, wherever it stands
		case c == s.Element:
			put()
			el = append(el, []string{""})
		case c == s.Component && s.Component != 0:
			put()
			el[len(el)-1] = append(el[len(el)-1], "")
		case c == s.Release && s.Release != 0:
			for i++; i < len(segment) && (segment[i] == '\r' || segment[i] == '\n'); i++ {
			}
			if i < len(segment) {
				value.WriteByte(segment[i])
			}
		default:
			value.WriteByte(c)
		}
	}
	put()
	return el
}

// components cuts a composite element as written into its values.
func components(composite string, s interchange.Separators) []string {
	s.Element = 0
	return elements(composite, s)[0]
}

// A segments writes EDIFACT segments with the default service characters.
type segments struct {
	b        strings.Builder
	count    int
	asterisk bool // is a service character, and so needs a release
}

// add writes a segment of elements, each of them a value or components. Empty
// ones at the end are left out.
func (w *segments) add(tag string, el ...any) {
	w.count++
	w.b.WriteString(tag)
	empty := 0
	for _, e := range el {
		var parts []string
		switch e := e.(type) {
		case string:
			parts = []string{e}
		case []string:
			parts = e
		}
		for len(parts) > 0 && parts[len(parts)-1] == "" {
			parts = parts[:len(parts)-1]
		}
		empty++
		if len(parts) == 0 {
			continue
		}
		w.b.WriteString(strings.Repeat("+", empty))
		empty = 0
		for i, p := range parts {
			if i > 0 {
				w.b.WriteByte(':')
			}
			w.value(p)
		}
	}
	w.b.WriteByte('\'')
}

func (w *segments) value(s string) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '+', ':', '\'', '?':
			w.b.WriteByte('?')
		case '*':
			if w.asterisk {
				w.b.WriteByte('?')
			}
		}
		w.b.WriteByte(s[i])
	}
}
