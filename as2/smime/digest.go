package smime

import (
	"bytes"
	"crypto"
	"hash"
	"slices"
)

// Form is one of the forms of a part that senders are known to have signed
// (RFC 8551 §3.1.1).
type Form uint8

// The forms, in the order in which they are tried.
const (
	AsReceived      Form = iota
	Canonical            // bare LF made CRLF everywhere
	CanonicalHeader      // in the header block only
	forms
)

// Digests hashes a part while it passes, by several algorithms at once and, as
// soon as they differ, in several forms.
type Digests struct {
	hashes []crypto.Hash
	header int64 // octets of the header block still to come
	all    bool  // all forms, not only as received
	sums   [forms][]hash.Cloner
	bareLF bool
	lastCR bool
	shape  setShape
	text   []byte // scratch
}

// NewDigests hashes by each of hashes; those that are not available are left
// out. header is the size of the part's header block. Without all only the form
// as received is hashed.
func NewDigests(hashes []crypto.Hash, header int, all bool) *Digests {
	d := &Digests{header: int64(header), all: all}
	for _, h := range hashes {
		if h == 0 || !h.Available() || slices.Contains(d.hashes, h) {
			continue
		}
		if c, ok := h.New().(hash.Cloner); ok {
			d.hashes = append(d.hashes, h)
			d.sums[AsReceived] = append(d.sums[AsReceived], c)
		}
	}
	return d
}

// Has reports whether all of hashes are computed.
func (d *Digests) Has(hashes ...crypto.Hash) bool {
	return !slices.ContainsFunc(hashes, func(h crypto.Hash) bool { return !slices.Contains(d.hashes, h) })
}

// BareLF reports whether the part has a line feed without carriage return, so
// that its forms differ.
func (d *Digests) BareLF() bool { return d.bareLF }

// Sum is the digest of the part in a form; nil if it is not computed.
func (d *Digests) Sum(f Form, h crypto.Hash) []byte {
	i := slices.Index(d.hashes, h)
	if i < 0 || f >= forms {
		return nil
	}
	if d.sums[f] == nil { // it has not come to differ
		f = AsReceived
	}
	return d.sums[f][i].Sum(nil)
}

// differing are the forms that have to be tried one by one.
func (d *Digests) differing() []Form {
	list := []Form{AsReceived}
	for f := Canonical; f < forms; f++ {
		if d.sums[f] != nil {
			list = append(list, f)
		}
	}
	return list
}

// Write hashes; it never fails.
func (d *Digests) Write(p []byte) (int, error) {
	d.shape.write(p)
	inHeader := p[:min(d.header, int64(len(p)))]
	d.header -= int64(len(inHeader))
	d.write(inHeader, true)
	d.write(p[len(inHeader):], false)
	return len(p), nil
}

func (d *Digests) write(p []byte, header bool) {
	if len(p) == 0 {
		return
	}
	if !d.bareLF {
		if i := d.findBareLF(p); i >= 0 {
			d.hash(AsReceived, p[:i])
			if i > 0 {
				d.lastCR = false
			}
			d.diverge(header)
			p = p[i:]
		}
	}
	d.hash(AsReceived, p)
	if d.sums[Canonical] != nil {
		d.hashCanonical(Canonical, p)
	}
	switch {
	case d.sums[CanonicalHeader] == nil:
	case header:
		d.hashCanonical(CanonicalHeader, p)
	default:
		d.hash(CanonicalHeader, p)
	}
	d.lastCR = p[len(p)-1] == '\r'
}

// diverge begins the forms that differ from here on. The first bare LF is in
// the header block or in the body; the form of a canonical header differs only
// in the former case.
func (d *Digests) diverge(header bool) {
	d.bareLF = true
	if !d.all {
		return
	}
	d.sums[Canonical] = d.clone()
	if header {
		d.sums[CanonicalHeader] = d.clone()
	}
}

func (d *Digests) clone() []hash.Cloner {
	copies := make([]hash.Cloner, 0, len(d.hashes))
	for _, h := range d.sums[AsReceived] {
		c, err := h.Clone()
		if err != nil {
			return nil
		}
		copies = append(copies, c)
	}
	return copies
}

func (d *Digests) hash(f Form, p []byte) {
	for _, h := range d.sums[f] {
		h.Write(p)
	}
}

// findBareLF returns where the first bare LF of p is, -1 if it has none.
func (d *Digests) findBareLF(p []byte) int {
	lastCR := d.lastCR
	for at := 0; ; {
		i := bytes.IndexByte(p[at:], '\n')
		if i < 0 {
			return -1
		}
		i += at
		if i == 0 && !lastCR || i > 0 && p[i-1] != '\r' {
			return i
		}
		at = i + 1
	}
}

// hashCanonical hashes p with every bare LF made CRLF, by way of a buffer: a
// hash fed line by line is slow.
func (d *Digests) hashCanonical(f Form, p []byte) {
	d.text = d.text[:0]
	lastCR := d.lastCR
	for len(p) > 0 {
		line, ended := p, false
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			line, ended = p[:i], true
		}
		d.text = append(d.text, line...)
		if len(line) > 0 {
			lastCR = line[len(line)-1] == '\r'
		}
		p = p[len(line):]
		if ended {
			if !lastCR {
				d.text = append(d.text, '\r')
			}
			d.text = append(d.text, '\n')
			lastCR = false
			p = p[1:]
		}
		if len(d.text) >= minBuffer {
			d.hash(f, d.text)
			d.text = d.text[:0]
		}
	}
	d.hash(f, d.text)
}

// setShape watches content go by and tells whether all of it is one encoded SET.
type setShape struct {
	head  []byte
	total int64
}

func (s *setShape) write(p []byte) {
	if n := 6 - len(s.head); n > 0 {
		s.head = append(s.head, p[:min(n, len(p))]...)
	}
	s.total += int64(len(p))
}

func (s *setShape) isSet() bool {
	if len(s.head) < 2 || s.head[0] != tagSet {
		return false
	}
	length, head := int64(s.head[1]), int64(2)
	if length > 0x80 {
		n := int64(length & 0x7f)
		if n > int64(len(s.head))-2 {
			return false
		}
		length, head = 0, 2+n
		for _, b := range s.head[2 : 2+n] {
			length = length<<8 | int64(b)
		}
	}
	return head+length == s.total
}
