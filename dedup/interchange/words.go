package interchange

import (
	"encoding/binary"
	"math/bits"
)

// maxFast is the longest segment that translate takes on.
const maxFast = 2 << 10

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
	lows  = 0x7F * ones
)

// words holds what translate needs of a syntax, each octet repeated eight times
// over. A role that no octet has gets an empty mask.
type words struct {
	terminator, element, component     uint64
	repetition, repetitionMask         uint64
	release, releaseMask               uint64
	componentMask                      uint64
	toElement, toComponent, toRepetion uint64 // XORed into a separator
}

func newWords(classes *[256]class) words {
	var w words
	for c, cl := range classes {
		all := uint64(c) * ones
		switch cl {
		case terminator:
			w.terminator = all
		case element:
			w.element, w.toElement = all, uint64(c)^canonElement
		case component:
			w.component, w.componentMask, w.toComponent = all, highs, uint64(c)^canonComponent
		case repetition:
			w.repetition, w.repetitionMask, w.toRepetion = all, highs, uint64(c)^canonRepetition
		case release:
			w.release, w.releaseMask = all, highs
		}
	}
	return w
}

// equal has the high bit set in every octet in which x and y are equal.
func equal(x, y uint64) uint64 {
	x ^= y
	return ^((x&lows + lows) | x | lows)
}

// firstEqual is cheaper than equal: it is right up to the first equal octet.
func firstEqual(x, y uint64) uint64 {
	x ^= y
	return (x - ones) &^ x & highs
}

// translate is the fast way to the canonical form, for a segment that needs
// nothing but other separators: it writes src up to its terminator into dst,
// eight octets at a time, and returns the length. It gives up (-1) if there is
// no terminator in src or if anything else is to be done: a release character,
// a line break or other control character, a trailing empty element or
// component. dst is at least as long as src.
func (w *words) translate(dst, src []byte) int {
	var odd, low, elements uint64 // low, elements: separators that ended the previous word
	for i := 0; len(src) >= 8 && len(dst) >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(src)
		t := firstEqual(x, w.terminator)
		e := equal(x, w.element)
		c := equal(x, w.component) & w.componentMask
		y := x ^ (e>>7)*w.toElement ^ (c>>7)*w.toComponent
		if w.repetitionMask != 0 {
			p := equal(x, w.repetition)
			y ^= (p >> 7) * w.toRepetion
			// "**" is taken for odd too: that costs time, not correctness.
			odd |= (c<<8 | low | p<<8) & p & (t ^ (t - 1))
			c |= p
		}
		// A separator before one of higher rank closes an empty part. Whatever
		// follows the terminator does not count; if there is none, all counts.
		odd |= ((c<<8|low)&(e|t) | (e<<8|elements)&t) & (t ^ (t - 1))
		// Release characters, and octets below a space.
		odd |= (firstEqual(x, w.release)&w.releaseMask | (x-' '*ones)&^x&highs) & (t - 1) &^ t
		low, elements = c>>56, e>>56
		binary.LittleEndian.PutUint64(dst, y)
		if t != 0 {
			if odd != 0 {
				return -1
			}
			return i + bits.TrailingZeros64(t)/8
		}
		src, dst = src[8:], dst[8:]
	}
	return -1
}
