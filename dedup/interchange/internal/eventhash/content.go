package eventhash

import (
	"bytes"
	"encoding/binary"
)

// lengths stand before each property of [Event.Content]: of its name, of its
// value, and of all that is in it.
const lengths = 3 * 4

// Content is a string like [Event.Prehash] for telling contents apart. The
// standard's writes names and values one after another without a mark between
// them, so that different events can have the same one; in this one everything
// has its length. It covers the error declaration, and is good until the event
// changes.
func (e *Event) Content() []byte {
	e.scratch, e.spans = append(e.scratch[:0], e.Type()...), e.spans[:0]
	e.scratch = append(e.scratch, 0)
	e.framed(0, eventOrder, true)
	return e.scratch
}

// framed adds the properties of a node, in the order of their strings.
func (e *Event) framed(at int32, by *order, isEvent bool) {
	first := e.mark()
	for c := e.nodes[at].first; c != 0; c = e.nodes[c].next {
		p := e.nodes[c].property
		declaration := isEvent && p == declarationProperty
		if isEvent && p != 0 && excluded[p] && !declaration {
			continue
		}
		r := rule{inside: none}
		if declaration {
			r.inside = declarationOrder
		} else if by.ruled[p] {
			r = by.rule(p)
		}
		start := len(e.scratch)
		if e.frame(c, &r) {
			e.span(start)
		} else {
			e.scratch = e.scratch[:start]
		}
	}
	e.sort(first)
}

// frame adds one property; false if it is empty.
func (e *Event) frame(at int32, r *rule) bool {
	start := len(e.scratch)
	e.scratch = append(e.scratch, make([]byte, lengths)...)
	e.scratch = append(e.scratch, e.octets(e.nodes[at].name)...)
	name := len(e.scratch)
	if value := bytes.TrimSpace(e.octets(e.nodes[at].value)); len(value) > 0 {
		if r.time {
			e.scratch = AppendTime(e.scratch, value)
		} else {
			e.scratch = e.appendValue(e.scratch, value, r.vocabulary)
		}
	}
	value := len(e.scratch)
	e.framed(at, r.inside, false)
	for i, n := range [...]int{name - start - lengths, value - name, len(e.scratch) - value} {
		binary.BigEndian.PutUint32(e.scratch[start+4*i:], uint32(n))
	}
	return len(e.scratch) > name || r.name == ""
}
