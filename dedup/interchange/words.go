package interchange

import (
	"encoding/binary"
	"math/bits"
)

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
	lows  = 0x7F * ones
)

// words holds what translate needs of a syntax, each octet repeated eight times
// over. A role that no octet has is given to NUL, which no segment may hold that
// is translated.
type words struct {
	usable                               bool // no service character is beyond ASCII
	terminator, element                  uint64
	component, repetition, release       uint64
	toElement, toComponent, toRepetition uint64 // XORed into a separator
}

func newWords(classes *[256]class) words {
	w := words{usable: true}
	for c, cl := range classes {
		all := uint64(c) * ones
		switch cl {
		case terminator:
			w.terminator = all
		case element:
			w.element, w.toElement = all, uint64(c)^canonElement
		case component:
			w.component, w.toComponent = all, uint64(c)^canonComponent
		case repetition:
			w.repetition, w.toRepetition = all, uint64(c)^canonRepetition
		case release:
			w.release = all
		default:
			continue
		}
		w.usable = w.usable && c < 0x80
	}
	return w
}

// translate is the fast way to the canonical form, for segments that need
// nothing but other separators. It writes them from src into dst, which is no
// shorter, and returns how many octets it has read and written and how many
// segments these are. It stops before a segment that has no terminator in src,
// is special, or needs anything else: a release character, a line break or other
// control character, a trailing empty element or component to be dropped.
func (w *words) translate(dst, src []byte, syn *syntax, special *tagSet) (read, written, segments int) {
	for {
		if read < len(src) && src[read] <= ' ' {
			read += indent(syn, src[read:])
		}
		if len(src)-read < 8 || special.has(src[read:]) {
			return read, written, segments
		}
		n := w.segment(dst[written:], src[read:])
		if n < 0 || n > 0 && syn.class[src[read+n-1]] != plain { // a trailing empty part
			return read, written, segments
		}
		if n > 0 {
			dst[written+n] = canonTerminator
			written += n + 1
			segments++
		}
		read += n + 1
	}
}

// segment translates one segment up to its terminator, eight octets at a time,
// and returns its length, or -1 if that is not enough. Of separators that only
// close empty parts it sees all but those at the end.
//
// The words named not… have the high bit clear in every octet that is the
// character, and only there: below 0x80 nothing is carried from one octet to the
// next, and octets beyond are no character.
func (w *words) segment(dst, src []byte) int {
	right := uint64(highs)     // high bits clear where something else is to be done
	components := uint64(0x80) // notComponent of the octet before the word
	for i := 0; i <= len(src)-8 && i <= len(dst)-8; i += 8 {
		x := binary.LittleEndian.Uint64(src[i:])
		ascii := x & lows
		notTerminator := ascii ^ w.terminator + lows | x
		notElement := ascii ^ w.element + lows | x
		notComponent := ascii ^ w.component + lows | x
		y := x ^ ^notElement&highs>>7*w.toElement ^ ^notComponent&highs>>7*w.toComponent
		// Neither a release character nor, but for a terminator, below a space.
		fine := (ascii^w.release+lows)&(ascii+0x60*ones|^notTerminator) | x
		if w.repetition != 0 {
			notRepetition := ascii ^ w.repetition + lows | x
			y ^= ^notRepetition & highs >> 7 * w.toRepetition
			notComponent &= notRepetition
			// "**" is not taken for fine: that costs time, not correctness.
			fine &= notComponent<<8 | components | notRepetition
		}
		fine &= notComponent<<8 | components | notElement // before an element separator, one of lower rank closes an empty part
		binary.LittleEndian.PutUint64(dst[i:], y)
		if end := ^notTerminator & highs; end != 0 {
			if (fine|^(end^(end-1)))&right&highs != highs { // what follows the terminator does not count
				return -1
			}
			return i + bits.TrailingZeros64(end)/8
		}
		right &= fine
		components = notComponent >> 56
	}
	return -1
}
