package eventhash

import (
	"bytes"
	"slices"
)

// Prehash is the string that is hashed. It is good until the event changes.
func (e *Event) Prehash() []byte {
	e.scratch, e.spans = e.scratch[:0], e.spans[:0]
	e.scratch = append(append(e.scratch, "eventType="...), e.Type()...)
	e.inside(0, eventOrder, true)
	return e.scratch
}

// Declaration is a string like it for the error declaration, nil without one.
func (e *Event) Declaration() []byte {
	at := e.child(0, "errorDeclaration")
	if at == 0 {
		return nil
	}
	e.scratch, e.spans = append(e.scratch[:0], "errorDeclaration"...), e.spans[:0]
	e.inside(at, declarationOrder, false)
	return e.scratch
}

// inside adds the properties of a node: those that have a rule in the order of
// the rules, all others behind them.
func (e *Event) inside(at int32, by *order, isEvent bool) {
	var present uint64 // which properties there may be
	for c := e.nodes[at].first; c != 0; c = e.nodes[c].next {
		present |= e.nodes[c].property.bit()
	}
	for i := range by.rules {
		r := &by.rules[i]
		if present&r.property.bit() == 0 {
			continue
		}
		first := e.mark()
		for c := e.nodes[at].first; c != 0; c = e.nodes[c].next {
			if e.nodes[c].property == r.property {
				start := len(e.scratch)
				e.byRule(c, r)
				e.span(start)
			}
		}
		e.sort(first)
	}
	first := e.mark()
	for c := e.nodes[at].first; c != 0; c = e.nodes[c].next {
		p := e.nodes[c].property
		if p != 0 && (by.ruled[p] || isEvent && excluded[p]) {
			continue
		}
		start := len(e.scratch)
		e.plain(c)
		e.span(start)
	}
	e.sort(first)
}

// bit is one of 64, that properties share.
func (p Property) bit() uint64 { return 1 << (p & 63) }

// byRule adds a property by its rule, nothing if it is empty.
func (e *Event) byRule(at int32, r *rule) {
	start := len(e.scratch)
	value := bytes.TrimSpace(e.octets(e.nodes[at].value))
	if r.typed {
		e.inside(at, r.inside, false)
	}
	if len(value) > 0 || !r.typed {
		e.scratch = append(e.scratch, r.name...)
	}
	empty := len(value) == 0 && (!r.typed || len(e.scratch) == start)
	if len(value) > 0 {
		e.scratch = append(e.scratch, '=')
		if r.time {
			e.scratch = AppendTime(e.scratch, value)
		} else {
			e.scratch = e.appendValue(e.scratch, value, r.vocabulary)
		}
	}
	if !r.typed {
		before := len(e.scratch)
		e.inside(at, r.inside, false)
		empty = empty && len(e.scratch) == before
	}
	if empty {
		e.scratch = e.scratch[:start]
	}
}

// plain adds a property that has no rule, with all that is in it.
func (e *Event) plain(at int32) {
	e.scratch = append(e.scratch, e.octets(e.nodes[at].name)...)
	if value := bytes.TrimSpace(e.octets(e.nodes[at].value)); len(value) > 0 {
		e.scratch = e.appendValue(append(e.scratch, '='), value, "")
	}
	first := e.mark()
	for c := e.nodes[at].first; c != 0; c = e.nodes[c].next {
		start := len(e.scratch)
		e.plain(c)
		e.span(start)
	}
	e.sort(first)
}

// Strings that are to be sorted lie one behind the other at the end of scratch;
// spans has their places.

func (e *Event) mark() int { return len(e.spans) }

func (e *Event) span(start int) {
	e.spans = append(e.spans, span{uint32(start), uint32(len(e.scratch))})
}

// sort puts the strings from the given span on into order, octet by octet.
func (e *Event) sort(first int) {
	list := e.spans[first:]
	e.spans = e.spans[:first]
	if len(list) < 2 {
		return
	}
	compare := func(a, b span) int { return bytes.Compare(e.scratch[a.start:a.end], e.scratch[b.start:b.end]) }
	start, end := list[0].start, uint32(len(e.scratch))
	if slices.IsSortedFunc(list, compare) {
		return
	}
	slices.SortFunc(list, compare)
	for _, s := range list {
		e.scratch = append(e.scratch, e.scratch[s.start:s.end]...)
	}
	copy(e.scratch[start:], e.scratch[end:])
	e.scratch = e.scratch[:end]
}
