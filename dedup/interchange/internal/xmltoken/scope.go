package xmltoken

// A scope holds the namespace declarations in force.
type scope struct {
	id       uint32 // different for every set of declarations
	next     uint32
	bindings []binding
	prefixes []byte
}

type binding struct {
	start, end int // of the prefix
	space      space
}

// A mark is where a scope stood before an element.
type mark struct {
	id                 uint32
	bindings, prefixes int
}

// begin leaves the ids running, so that no name of another document is found by
// mistake. Now and then they start anew, and what was found by them is void.
func (s *scope) begin() (anew bool) {
	if anew = s.next > 1<<31; anew { // a document of 2^31 tags may follow
		s.next = 0
	}
	s.next++
	s.id = s.next
	s.bindings, s.prefixes = s.bindings[:0], s.prefixes[:0]
	return anew
}

func (s *scope) mark() mark { return mark{s.id, len(s.bindings), len(s.prefixes)} }

func (s *scope) pop(m mark) {
	s.id, s.bindings, s.prefixes = m.id, s.bindings[:m.bindings], s.prefixes[:m.prefixes]
}

// declare binds a prefix, "" for the default namespace.
func (s *scope) declare(prefix []byte, to space) {
	if b, ok := s.find(prefix); ok && b.space == to {
		return // said again, as some writers do with every element
	}
	start := len(s.prefixes)
	s.prefixes = append(s.prefixes, prefix...)
	s.bindings = append(s.bindings, binding{start, len(s.prefixes), to})
	s.next++
	s.id = s.next
}

func (s *scope) find(prefix []byte) (binding, bool) {
	for i := len(s.bindings) - 1; i >= 0; i-- {
		b := s.bindings[i]
		if string(s.prefixes[b.start:b.end]) == string(prefix) {
			return b, true
		}
	}
	return binding{}, false
}

// lookup returns the namespace of a prefix.
func (s *scope) lookup(n *names, prefix []byte) (space, bool) {
	if b, ok := s.find(prefix); ok {
		return b.space, len(prefix) == 0 || b.space != noSpace
	}
	switch string(prefix) {
	case "":
		return noSpace, true
	case "xml":
		return n.space([]byte(xmlSpace))
	}
	return 0, false
}
