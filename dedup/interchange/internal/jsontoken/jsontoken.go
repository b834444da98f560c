// Package jsontoken cuts JSON (RFC 8259) into tokens as it streams by.
//
// It is made for octets that a stranger sent: depth, members of an object and
// the length of a name or value have bounds, and a member given twice breaks
// the document, since no two readers agree on which of them counts (RFC 8259
// §4).
//
// A Reader serves one goroutine; steady use hardly allocates.
package jsontoken

import "hash/maphash"

// Bounds. A document beyond one of them is Broken.
const (
	MaxDepth = 128
	MaxValue = 32 << 10 // octets of a name, a string or a number as written
)

// A Source gives the octets of a document, in a window that moves.
type Source interface {
	// Need returns at least n octets from the position on, n at most MaxValue+2,
	// or all that are left. The slice is good until the next call.
	Need(n int) []byte
	// Advance moves the position.
	Advance(n int)
}

// A Kind is that of a token.
type Kind uint8

// The kinds.
const (
	Broken Kind = iota // the document cannot be read further: see Reader.Fault
	ObjectStart
	ObjectEnd
	ArrayStart
	ArrayEnd
	Member // the name of one; its value follows
	String
	Number
	True
	False
	Null
)

// A Fault is why a document cannot be read further.
type Fault uint8

// The faults.
const (
	NoFault    Fault = iota
	Malformed        // RFC 8259 is violated
	Truncated        // the octets end inside
	Bounds           // one of the bounds above
	Characters       // a control character, or octets that are no UTF-8
	Duplicate        // a member given twice
)

// A Reader reads one document after another.
type Reader struct {
	// Text is a Member's name, or the value of a String or Number, with escapes
	// resolved; good until the next token.
	Text  []byte
	Fault Fault

	src  Source
	buf  []byte
	pos  int
	last bool

	open    []frame
	names   []uint64 // of the members of the open objects
	scratch []byte
	seed    maphash.Seed
}

// A frame is an open object or array.
type frame struct {
	object bool
	first  int // its names, in Reader.names
	many   map[uint64]bool
	state  state
}

type state uint8

const (
	begun  state = iota // nothing yet
	named               // a member's name was read: its value follows
	filled              // a value was read
)

// manyMembers is from how many on the names of an object are looked up in a map.
const manyMembers = 32

// New returns a Reader.
func New() *Reader { return &Reader{seed: maphash.MakeSeed()} }

// Open begins with a document at the position of src.
func (r *Reader) Open(src Source) {
	r.src, r.buf, r.pos, r.last = src, nil, 0, false
	r.open, r.names, r.Fault = r.open[:0], r.names[:0], NoFault
}

// Close moves the position of the source to behind the last token.
func (r *Reader) Close() {
	r.src.Advance(r.pos)
	r.src, r.buf, r.pos = nil, nil, 0
}

// Depth is the number of open objects and arrays. It is 0 after the last token
// of a document, behind which Next must not be called.
func (r *Reader) Depth() int { return len(r.open) }
