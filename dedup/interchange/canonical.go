package interchange

import "crypto/sha256"

// The canonical form, version 2, has two levels. A message is the sequence of
// its segments, from header to trailer, without its own reference in either. An
// interchange is the sequence of its other segments and, for each message, its
// references and its digest; the interchange's header comes last, since only
// the trailer proves which elements of an odd header are the date.
//
// In each segment the separators are information separators as in ISO 9735
// level B, release characters are resolved, line breaks, trailing empty
// elements, components and repetitions are dropped, and so are blanks before
// the tag and empty segments. Dates and times of interchange and group headers
// are left empty. Data octets that look like a separator are escaped. Nothing
// else is changed: case, inner blanks, order and decimal marks are content.
const (
	canonMessage    = 'M' // after an escape: a message follows
	canonEscape     = 0x1B
	canonTerminator = 0x1C
	canonElement    = 0x1D
	canonRepetition = 0x1E
	canonComponent  = 0x1F
)

// A canon writes the canonical form of one interchange or message into a digest. A segment
// can be fed in pieces of any size; the state is that within a segment.
type canon struct {
	digest digest
	block  []byte // gathering, never longer than blockSize
	syntax *syntax
	skip   uint32 // set of element positions to be left empty
	at     uint   // position of the current element, the tag being 0

	// Separators that are written when data follow them. Three counts are
	// enough: a separator drops those of lower rank before it, which closed an
	// empty part.
	elements, repetitions, components int
	released                          bool // the next octet is data
	some                              bool // the segment has data
}

func newCanon() canon {
	return canon{digest: digest{hash: sha256.New()}, block: make([]byte, 0, blockSize)}
}

// begin starts a form. The name keeps those of the standards apart.
func (c *canon) begin(name string, s *syntax) {
	c.block, c.syntax = c.block[:0], s
	c.write([]byte(name))
	c.writeByte(canonTerminator)
	c.segment(0)
}

// segment starts a segment, of which the elements in skip shall be empty.
func (c *canon) segment(skip uint32) {
	c.skip, c.at = skip, 0
	c.elements, c.repetitions, c.components = 0, 0, 0
	c.released, c.some = false, false
}

// feed takes the next octets of the segment. It returns how many of them belong
// to it and whether the last of these is its terminator.
func (c *canon) feed(b []byte) (n int, ended bool) {
	classes := &c.syntax.class
	for n < len(b) {
		cl := classes[b[n]]
		switch {
		case cl == newline:
		case c.released:
			c.released = false
			c.data(b[n])
		case cl == plain:
			start := n
			for n++; n < len(b) && classes[b[n]] == plain; n++ {
			}
			c.plain(b[start:n])
			continue
		case cl == quoted:
			c.data(b[n])
		case cl == release:
			c.released = true
		case cl == terminator:
			return n + 1, true
		default:
			c.separator(cl)
		}
		n++
	}
	return n, false
}

func (c *canon) separator(cl class) {
	switch cl {
	case element:
		c.elements++
		c.repetitions, c.components = 0, 0
		c.at++
	case repetition:
		c.repetitions++
		c.components = 0
	case component:
		c.components++
	}
}

// data adds one octet of data of any kind.
func (c *canon) data(char byte) {
	if c.skipped() {
		return
	}
	c.separate()
	if char >= canonEscape && char <= canonComponent {
		c.writeByte(canonEscape)
	}
	c.writeByte(char)
}

// plain adds data none of which is to be escaped.
func (c *canon) plain(b []byte) {
	if c.skipped() {
		return
	}
	c.separate()
	c.write(b)
}

func (c *canon) skipped() bool {
	if c.at >= 32 || c.skip&(1<<c.at) == 0 {
		return false
	}
	c.repetitions, c.components = 0, 0
	return true
}

// separate writes the separators that stand before data.
func (c *canon) separate() {
	for ; c.elements > 0; c.elements-- {
		c.writeByte(canonElement)
	}
	for ; c.repetitions > 0; c.repetitions-- {
		c.writeByte(canonRepetition)
	}
	for ; c.components > 0; c.components-- {
		c.writeByte(canonComponent)
	}
	c.some = true
}

// message adds a message: the elements that hold its references, in header and
// trailer, and its digest.
func (c *canon) message(header, trailer []byte, digest [sha256.Size]byte) {
	c.writeByte(canonEscape)
	c.writeByte(canonMessage)
	for _, ref := range [...][]byte{header, trailer} {
		c.segment(0)
		c.feed(ref)
		c.writeByte(canonTerminator)
	}
	c.write(digest[:])
}

// end ends the segment; one without data leaves no trace.
func (c *canon) end() {
	if c.some {
		c.writeByte(canonTerminator)
	}
}

func (c *canon) write(p []byte) {
	for len(p) > 0 {
		n := min(len(p), blockSize-len(c.block))
		c.block = append(c.block, p[:n]...)
		p = p[n:]
		if len(c.block) == blockSize {
			c.flush()
		}
	}
}

func (c *canon) writeByte(octet byte) {
	if len(c.block) == blockSize {
		c.flush()
	}
	c.block = append(c.block, octet)
}

// room makes place for n octets, n at most blockSize, and returns the free end
// of the block.
func (c *canon) room(n int) []byte {
	if blockSize-len(c.block) < n {
		c.flush()
	}
	return c.block[len(c.block):blockSize]
}

// wrote takes in n octets that were written to the free end.
func (c *canon) wrote(n int) { c.block = c.block[:len(c.block)+n] }

func (c *canon) flush() {
	c.block = c.digest.hand(c.block, c.block[:blockSize])[:0]
}

// sum ends the form.
func (c *canon) sum() [sha256.Size]byte {
	sum := c.digest.sum(c.block)
	c.block = c.block[:0]
	return sum
}
