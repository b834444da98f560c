// Package eventhash computes the hash id of an EPCIS event as GS1's Core
// Business Vocabulary 2.0 §8.9 defines it: the SHA-256 of a string that is the
// same whether the event was written in XML or JSON-LD, with EPC URNs or GS1
// Digital Link URIs, in UTC or local time, and in whatever order.
//
// The order of properties is that of the standard's table. GS1's reference
// implementation puts the lists of business transactions, sources and
// destinations elsewhere in events that have several of them; such an event has
// another id there.
//
// An Event serves one goroutine; its memory is bounded and used again.
package eventhash

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// Bounds on one event.
const (
	MaxText  = 4 << 20 // octets of names and values
	MaxNodes = 1 << 17 // properties
	maxDepth = 128

	usual = 1 << 20 // octets of an event that is not large
)

// An Event is a tree of properties: name, value, and properties of its own, in
// the structure of EPCIS 2.0 XML. It is built by
// Open, Attr, Set or Add, and Close.
type Event struct {
	// Bare says that standard vocabulary is written as bare words, "shipping",
	// as it is in JSON-LD.
	Bare bool

	text    []byte
	nodes   []node // the first one is the event
	open    []int32
	tooMuch bool

	scratch []byte
	spans   []span
}

type node struct {
	name, value       span
	property          Property
	inside            bool  // a property inside has begun, an attribute excepted
	first, last, next int32 // children; 0 is none
}

type span struct{ start, end uint32 }

// Reset begins an event of the given type, "ObjectEvent".
func (e *Event) Reset(kind string) {
	e.Bare, e.tooMuch = false, false
	e.text, e.nodes, e.open = e.text[:0], e.nodes[:0], e.open[:0]
	e.nodes = append(e.nodes, node{name: e.keep([]byte(kind))})
	e.open = append(e.open, 0)
}

// SetType is for an event whose type becomes known late.
func (e *Event) SetType(kind []byte) { e.nodes[0].name = e.keep(kind) }

// TooMuch says that the event is beyond the bounds, and its hash worthless.
func (e *Event) TooMuch() bool { return e.tooMuch }

// Large says that it would be a waste to keep the memory for other events.
func (e *Event) Large() bool { return cap(e.text)+cap(e.scratch)+64*cap(e.nodes) > usual }

func (e *Event) keep(b []byte) span {
	if len(e.text)+len(b) > MaxText {
		e.tooMuch = true
		b = nil
	}
	e.text = append(e.text, b...)
	return span{uint32(len(e.text) - len(b)), uint32(len(e.text))}
}

// Open begins a property of the one that is open. The name of an extension is
// preceded by its namespace.
func (e *Event) Open(space, local string) {
	if space == "" {
		e.OpenProperty(properties[local], local)
		return
	}
	if e.full() {
		return
	}
	name := span{start: e.keep([]byte("{")).start}
	e.keep([]byte(space))
	e.keep([]byte("}"))
	name.end = e.keep([]byte(local)).end
	e.add(node{name: name})
}

// OpenProperty is Open for a name whose property is known.
func (e *Event) OpenProperty(p Property, name string) {
	if !e.full() {
		e.add(node{name: e.keep([]byte(name)), property: p})
	}
}

func (e *Event) full() bool {
	e.tooMuch = e.tooMuch || len(e.nodes) == MaxNodes || len(e.open) == maxDepth
	return e.tooMuch
}

// add makes a node the last one in the open property, and opens it.
func (e *Event) add(n node) {
	at, of := int32(len(e.nodes)), e.open[len(e.open)-1]
	parent := &e.nodes[of]
	parent.inside = true
	if parent.first == 0 {
		parent.first = at
	} else {
		e.nodes[parent.last].next = at
	}
	parent.last = at
	e.nodes = append(e.nodes, n)
	e.open = append(e.open, at)
}

// Set gives the open property its value.
func (e *Event) Set(value []byte) {
	if !e.tooMuch {
		e.nodes[e.open[len(e.open)-1]].value = e.keep(value)
	}
}

// Attr adds a property with its value that stands in a tag, so that text may
// follow.
func (e *Event) Attr(space, local string, value []byte) {
	inside := e.nodes[e.open[len(e.open)-1]].inside
	e.Open(space, local)
	e.Set(value)
	e.Close()
	e.nodes[e.open[len(e.open)-1]].inside = inside
}

// Add continues the value of the open property. Text behind a property inside
// is none.
func (e *Event) Add(value []byte) {
	if e.tooMuch {
		return
	}
	n := &e.nodes[e.open[len(e.open)-1]]
	switch {
	case n.inside:
	case n.value.start == n.value.end:
		n.value = e.keep(value)
	default:
		n.value.end = e.keep(value).end
	}
}

// Close ends the open property.
func (e *Event) Close() {
	if !e.tooMuch && len(e.open) > 1 {
		e.open = e.open[:len(e.open)-1]
	}
}

// Depth is how many properties are open, the event itself included.
func (e *Event) Depth() int { return len(e.open) }

func (e *Event) octets(s span) []byte { return e.text[s.start:s.end] }

// Type is the type of the event.
func (e *Event) Type() []byte { return e.octets(e.nodes[0].name) }

// Get returns the value of a property of the event, without blanks around, as
// written.
func (e *Event) Get(path ...string) []byte {
	at := int32(0)
	for _, name := range path {
		if at = e.child(at, name); at == 0 {
			return nil
		}
	}
	return bytes.TrimSpace(e.octets(e.nodes[at].value))
}

// Has tells whether the event has a property.
func (e *Event) Has(name string) bool { return e.child(0, name) != 0 }

// child returns a property by its name, which is one that the standard uses.
func (e *Event) child(of int32, name string) int32 {
	p := properties[name]
	for c := e.nodes[of].first; c != 0; c = e.nodes[c].next {
		if e.nodes[c].property == p {
			return c
		}
	}
	return 0
}

// Sum is the hash of the event.
func (e *Event) Sum() [sha256.Size]byte { return sha256.Sum256(e.Prehash()) }

// AppendID adds the hash id with a sum.
func AppendID(to []byte, sum [sha256.Size]byte) []byte {
	return append(hex.AppendEncode(append(to, "ni:///sha-256;"...), sum[:]), "?ver=CBV2.0"...)
}
