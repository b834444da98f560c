package smime

import (
	"crypto/cipher"
	"encoding/binary"
)

// ghash computes the hash of Galois/Counter Mode (NIST SP 800-38D §6.4) piece
// by piece, which the standard library's AEAD does only for a whole message.
//
// The library's own GHASH, which runs on the processor's instructions, is made
// to do the work: the tag it computes for data X without plaintext is
// E(J0) + (GHASH(X) + L) * H, L being the length block (SP 800-38D §7.1).
// Taking E(J0) and L*H off leaves GHASH(X) * H, and since GHASH is a polynomial
// in H, the pieces add up: for X followed by n blocks Y it is
// GHASH(X)*H * H^n + GHASH(Y)*H.
type ghash struct {
	aead cipher.AEAD
	mask fieldElement // E(J0) of the all-zero nonce
	h    fieldElement
	step fieldElement // H^n for pieces of ghashPiece octets
	sum  fieldElement // GHASH * H of what has been written
	size int64        // octets written; only the last piece may be no whole number of blocks
}

const (
	blockSize  = 16 // of AES and of GHASH
	nonceSize  = 12
	ghashPiece = maxBuffer
)

func newGHASH(block cipher.Block) (*ghash, error) {
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	var zero, first [blockSize]byte
	first[blockSize-1] = 1 // J0 of a nonce of 96 zero bits
	g := &ghash{aead: aead}
	block.Encrypt(zero[:], zero[:])
	block.Encrypt(first[:], first[:])
	g.h, g.mask = newFieldElement(zero[:]), newFieldElement(first[:])
	return g, nil
}

// write adds a piece of at most ghashPiece octets.
func (g *ghash) write(p []byte) {
	if len(p) == 0 {
		return
	}
	var nonce [nonceSize]byte
	var tag [blockSize]byte
	g.aead.Seal(tag[:0], nonce[:], nil, p)
	piece := newFieldElement(tag[:]).add(g.mask).add(lengthBlock(len(p), 0).mul(g.h))
	if g.size > 0 {
		power := g.step
		if len(p) != ghashPiece {
			power = g.h.pow(blocks(int64(len(p))))
		} else if power == (fieldElement{}) {
			power = g.h.pow(ghashPiece / blockSize)
			g.step = power
		}
		g.sum = g.sum.mul(power)
	}
	g.sum = g.sum.add(piece)
	g.size += int64(len(p))
}

// tag returns the authentication tag of what was written as the ciphertext,
// with additional data. That comes first in the hash, but last in an
// AuthEnvelopedData (RFC 5083 §2.1).
func (g *ghash) tag(block cipher.Block, first [blockSize]byte, data []byte) (tag [blockSize]byte) {
	sum := g.sum
	if len(data) > 0 {
		before := ghash{aead: g.aead, mask: g.mask, h: g.h}
		for rest := data; len(rest) > 0; rest = rest[min(len(rest), ghashPiece):] {
			before.write(rest[:min(len(rest), ghashPiece)])
		}
		sum = sum.add(before.sum.mul(g.h.pow(blocks(g.size))))
	}
	sum = sum.add(lengthBlock(len(data), g.size).mul(g.h))
	block.Encrypt(tag[:], first[:])
	sum.add(newFieldElement(tag[:])).put(tag[:])
	return tag
}

// firstCounter is J0 (SP 800-38D §7.1): a nonce of 96 bits as it is, others by their hash.
func (g *ghash) firstCounter(nonce []byte) (counter [blockSize]byte) {
	if len(nonce) == nonceSize {
		copy(counter[:], nonce)
		counter[blockSize-1] = 1
		return counter
	}
	var hash fieldElement
	for rest := nonce; len(rest) > 0; rest = rest[min(len(rest), blockSize):] {
		var padded [blockSize]byte
		copy(padded[:], rest)
		hash = hash.add(newFieldElement(padded[:])).mul(g.h)
	}
	hash.add(lengthBlock(0, int64(len(nonce)))).mul(g.h).put(counter[:])
	return counter
}

// gcmStream is the key stream of GCM over the content. It starts behind J0, and counts in the last 32 bits alone (SP 800-38D
// §6.2), where a plain counter mode would carry.
type gcmStream struct {
	block   cipher.Block
	counter [blockSize]byte
	stream  cipher.Stream
	left    uint64 // octets until the 32 bits overflow
}

func newGCMStream(block cipher.Block, first [blockSize]byte) *gcmStream {
	s := &gcmStream{block: block, counter: first}
	s.start(binary.BigEndian.Uint32(first[nonceSize:]) + 1)
	return s
}

func (s *gcmStream) start(count uint32) {
	binary.BigEndian.PutUint32(s.counter[nonceSize:], count)
	s.stream = cipher.NewCTR(s.block, s.counter[:])
	s.left = (1<<32 - uint64(count)) * blockSize
}

// XORKeyStream makes a gcmStream a [cipher.Stream].
func (s *gcmStream) XORKeyStream(dst, src []byte) {
	for uint64(len(src)) > s.left {
		n := s.left
		s.stream.XORKeyStream(dst[:n], src[:n])
		dst, src = dst[n:], src[n:]
		s.start(0)
	}
	s.stream.XORKeyStream(dst, src)
	s.left -= uint64(len(src))
}

func blocks(octets int64) int64 { return (octets + blockSize - 1) / blockSize }

func lengthBlock(data int, content int64) fieldElement {
	return fieldElement{uint64(data) * 8, uint64(content) * 8}
}

// fieldElement is an element of GF(2^128) in the bit order of SP 800-38D §6.3:
// the leftmost bit is the coefficient of x^0.
type fieldElement struct{ high, low uint64 }

func newFieldElement(b []byte) fieldElement {
	return fieldElement{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
}

func (x fieldElement) put(b []byte) {
	binary.BigEndian.PutUint64(b, x.high)
	binary.BigEndian.PutUint64(b[8:], x.low)
}

func (x fieldElement) add(y fieldElement) fieldElement {
	return fieldElement{x.high ^ y.high, x.low ^ y.low}
}

// mul multiplies in constant time (SP 800-38D algorithm 1).
func (x fieldElement) mul(y fieldElement) (z fieldElement) {
	for _, word := range [2]uint64{x.high, x.low} {
		for i := 63; i >= 0; i-- {
			bit := -(word >> uint(i) & 1)
			z.high ^= y.high & bit
			z.low ^= y.low & bit
			carry := -(y.low & 1)
			y.low = y.low>>1 | y.high<<63
			y.high = y.high>>1 ^ 0xe1<<56&carry
		}
	}
	return z
}

// pow raises to a power, which is public.
func (x fieldElement) pow(n int64) fieldElement {
	result := fieldElement{1 << 63, 0}
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			result = result.mul(x)
		}
		x = x.mul(x)
	}
	return result
}
