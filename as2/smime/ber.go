package smime

import (
	"bytes"
	"errors"
	"slices"
)

// Identifier octets of the ASN.1 types that CMS is made of (X.690 §8.1.2).
const (
	tagInteger     = 0x02
	tagOctetString = 0x04
	tagOID         = 0x06
	tagSequence    = 0x30
	tagSet         = 0x31
	tagImplicit0   = 0x80 // [0] IMPLICIT, primitive
	tagContext0    = 0xa0 // [0], constructed
	tagContext1    = 0xa1
	tagContext2    = 0xa2
	tagConstructed = 0x20 // the bit
)

// maxNesting bounds how deep indefinite lengths may nest. CMS needs seven
// levels; without a bound an attacker chooses our stack depth.
const maxNesting = 24

var errBER = errors.New("smime: malformed or truncated BER")

// element is one BER encoding. Its slices share the input's memory.
type element struct {
	tag  byte   // the first identifier octet
	body []byte // contents octets, without end-of-contents octets
	raw  []byte // the whole encoding
}

// readElement splits the first element off b. Definite and indefinite lengths
// are read alike; the contents of definite ones are not looked into.
func readElement(b []byte) (e element, rest []byte, err error) {
	return readNested(b, 0)
}

func readNested(b []byte, depth int) (e element, rest []byte, err error) {
	head, length, err := readHead(b)
	if err != nil {
		return element{}, nil, err
	}
	if length >= 0 {
		end := head + length
		return element{b[0], b[head:end:end], b[:end:end]}, b[end:], nil
	}
	if b[0]&tagConstructed == 0 || depth >= maxNesting {
		return element{}, nil, errBER
	}
	for rest = b[head:]; ; {
		if len(rest) >= 2 && rest[0] == 0 && rest[1] == 0 {
			end := len(b) - len(rest)
			return element{b[0], b[head:end:end], b[: end+2 : end+2]}, rest[2:], nil
		}
		if _, rest, err = readNested(rest, depth+1); err != nil {
			return element{}, nil, err
		}
	}
}

// readHead reads identifier and length octets. length is -1 for the indefinite
// form; a definite length never exceeds what b holds.
func readHead(b []byte) (head, length int, err error) {
	head = 1
	if len(b) > 0 && b[0]&0x1f == 0x1f { // tag number in further octets
		for head < len(b) && b[head]&0x80 != 0 {
			head++
		}
		head++
	}
	if head >= len(b) {
		return 0, 0, errBER
	}
	first := b[head]
	head++
	switch {
	case first < 0x80:
		length = int(first)
	case first == 0x80:
		return head, -1, nil
	default:
		for n := int(first & 0x7f); n > 0; n-- {
			if head >= len(b) || length > len(b) {
				return 0, 0, errBER
			}
			length = length<<8 | int(b[head])
			head++
		}
	}
	if length > len(b)-head {
		return 0, 0, errBER
	}
	return head, length, nil
}

// cursor walks the elements of a constructed body. Its first error sticks, so
// that a structure can be read in one run and judged at the end.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) more() bool { return c.err == nil && len(c.rest) > 0 }

// peek returns the next identifier octet, or 0 at the end.
func (c *cursor) peek() byte {
	if !c.more() {
		return 0
	}
	return c.rest[0]
}

func (c *cursor) next() element {
	if c.err != nil {
		return element{}
	}
	e, rest, err := readElement(c.rest)
	if err != nil {
		c.err = err
		return element{}
	}
	c.rest = rest
	return e
}

// expect reads the next element, which has to carry the tag.
func (c *cursor) expect(tag byte) element {
	if c.peek() != tag {
		if c.err == nil {
			c.err = errBER
		}
		return element{}
	}
	return c.next()
}

// enter reads the next element and returns a cursor over its contents.
func (c *cursor) enter(tag byte) *cursor {
	e := c.expect(tag)
	return &cursor{rest: e.body, err: c.err}
}

// skip passes over an optional element.
func (c *cursor) skip(tag byte) {
	if c.peek() == tag {
		c.next()
	}
}

// octetString reads an OCTET STRING, in one piece or in segments.
func (c *cursor) octetString() []byte {
	if c.peek()&^tagConstructed != tagOctetString {
		c.expect(tagOctetString)
		return nil
	}
	value, err := octets(c.next())
	if c.err == nil {
		c.err = err
	}
	return value
}

// octets returns the value of an OCTET STRING, plain or implicitly tagged. A
// value in several segments is put together in fresh memory; one in a single
// segment is not copied.
func octets(e element) ([]byte, error) {
	if e.tag&tagConstructed == 0 {
		return e.body, nil
	}
	var parts [][]byte
	if err := segments(&parts, e.body, 0); err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return slices.Concat(parts...), nil
}

// segments collects the OCTET STRINGs inside a constructed one (X.690 §8.7.3).
func segments(parts *[][]byte, body []byte, depth int) error {
	if depth > maxNesting {
		return errBER
	}
	c := cursor{rest: body}
	for c.more() {
		switch e := c.next(); {
		case c.err != nil:
			return c.err
		case e.tag == tagOctetString:
			*parts = append(*parts, e.body)
		case e.tag == tagOctetString|tagConstructed:
			if err := segments(parts, e.body, depth+1); err != nil {
				return err
			}
		default:
			return errBER
		}
	}
	return nil
}

// derSet puts a SET OF header before encoded members: the form in which signed
// and authenticated attributes are digested (RFC 5652 §5.4, RFC 5083 §2.2).
func derSet(members []byte) []byte {
	n := len(members)
	out := make([]byte, 0, n+6)
	out = append(out, tagSet)
	switch {
	case n < 0x80:
		out = append(out, byte(n))
	case n < 0x100:
		out = append(out, 0x81, byte(n))
	case n < 0x10000:
		out = append(out, 0x82, byte(n>>8), byte(n))
	case n < 0x1000000:
		out = append(out, 0x83, byte(n>>16), byte(n>>8), byte(n))
	default:
		out = append(out, 0x84, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(out, members...)
}

// sortedMembers returns the members of a SET OF in DER order (X.690 §11.6).
func sortedMembers(body []byte) ([]byte, error) {
	var members [][]byte
	c := cursor{rest: body}
	for c.more() {
		members = append(members, c.next().raw)
	}
	if c.err != nil {
		return nil, c.err
	}
	slices.SortStableFunc(members, bytes.Compare)
	return slices.Concat(members...), nil
}
