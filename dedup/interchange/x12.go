package interchange

import "bytes"

// Segment tags that structure an X12 interchange, and those that hold binary
// data.
const (
	tagGS  tag = 'G'<<8 | 'S'
	tagGE  tag = 'G'<<8 | 'E'
	tagST  tag = 'S'<<8 | 'T'
	tagSE  tag = 'S'<<8 | 'E'
	tagTA1 tag = 'T'<<16 | 'A'<<8 | '1'
	tagIEA tag = 'I'<<16 | 'E'<<8 | 'A'
	tagBIN tag = 'B'<<16 | 'I'<<8 | 'N'
	tagBDS tag = 'B'<<16 | 'D'<<8 | 'S'
)

// GS04 and GS05 are the date and time of a group; the canonical form leaves
// them empty.
const groupDateTime = 1<<4 | 1<<5

// An x12 reads one X12 interchange.
type x12 struct {
	envelope
	isa isa
	ta1 bool
	// acks counts sets that are functional acknowledgements.
	acks int

	// Of the open set: whether its document is still to be read, and, if it is
	// an 837, whether there was a claim and what frequency all claims had.
	lead, claims, claimed bool
	frequency             string
}

func x12Begins(b []byte) bool {
	if len(b) < 4 || b[0] != 'I' || b[1] != 'S' || b[2] != 'A' {
		return false
	}
	_, ok := parseISA(b)
	return ok
}

func readX12(s *scanner, ic *Interchange) {
	x := x12{envelope: envelope{scanner: s, ic: ic}}
	ic.Standard = X12
	x.readHeader()
	s.beginForm("x12-c2", &x.syntax)
	for !ic.Complete {
		x.passed(s.takeOrdinary(&x.syntax, x.special()))
		seg, ok := s.next(&x.syntax)
		if !ok {
			break
		}
		if first(seg.body) == 'I' && x12Begins(s.need(lookahead)) {
			s.flag(truncated)
			ic.Standard = Content // as for EDIFACT
			break
		}
		x.segment(seg)
	}
	x.endSet()
	x.finishInterchange()
	x.canonicalHeader()
	x.identify()
}

// special are the segments that have to be looked at.
func (x *x12) special() *tagSet {
	switch {
	case x.claims:
		return &x12Claims
	case x.lead:
		return &x12Lead
	}
	return &x12Body
}

// readHeader copies ISA out of the window and passes over it.
func (x *x12) readHeader() {
	b := x.need(lookahead)
	h, _ := parseISA(b)
	kept := make([]byte, 0, h.length)
	for i, el := range h.el {
		start := len(kept)
		kept = append(kept, el...)
		h.el[i] = kept[start:]
	}
	x.ic.Header = bytes.Clone(b[:h.length-1-len(h.syntax.tail)])
	x.isa, x.syntax = h, h.syntax
	x.syntax.prepare()
	x.advance(h.length)
}

// segment follows groups and transaction sets, and passes over one segment.
func (x *x12) segment(seg segment) {
	t := x.syntax.tag(seg.body)
	var el [10][]byte
	switch t {
	case tagGS:
		x.split(seg.body, &el)
		x.openGS(&el)
		x.take(seg, groupDateTime)
	case tagGE:
		x.split(seg.body, &el)
		x.endSet()
		x.closeGroup(el[1], sameNumber(el[2], x.groupRef))
		x.take(seg, 0)
	case tagST:
		x.syntax.split(seg.body, element, el[:])
		x.openST(el[1], el[2], el[3])
		x.takeUnless(seg, 2)
	case tagSE:
		x.syntax.split(seg.body, element, el[:])
		x.closeSE(seg, el[1], el[2])
	case tagIEA:
		x.split(seg.body, &el)
		x.closeInterchange(el[1], el[2])
		x.take(seg, 0)
	case tagBIN, tagBDS:
		x.passed(1)
		x.binary(t, seg)
	default:
		x.ta1 = x.ta1 || t == tagTA1
		if len(seg.body) > 0 {
			x.passed(1)
		}
		if x.lead || x.claims {
			x.document(t, seg.body)
		}
		x.take(seg, 0)
	}
}

// split gives the values of the elements. A component separator that was
// mistaken for the terminator ends them, which is of no other use here.
func (x *x12) split(body []byte, el *[10][]byte) {
	n := x.syntax.split(body, element, el[:])
	for i := range el[:n] {
		el[i] = x.trimmed(el[i])
	}
}

func (x *x12) trimmed(el []byte) []byte { return bytes.Trim(x.syntax.simple(el), " ") }

func (x *x12) openGS(el *[10][]byte) {
	x.endSet()
	// X12.6 §3.9.1: type, parties and number together are unique.
	name := bytes.Join([][]byte{el[1], el[2], el[3], bytes.TrimLeft(el[6], "0")}, []byte{0})
	x.openGroup(Group{Type: x.short(el[1]), Sender: x.short(el[2]), Recipient: x.short(el[3]), Control: x.short(el[6]),
		Version: x.short(el[8])}, el[6], name)
}

func (x *x12) openST(identifier, control, version []byte) {
	x.endSet()
	kind := x.addType(x.ic, x.trimmed(identifier))
	x.openMessage(Message{Type: kind, Control: x.short(x.trimmed(control)), Version: x.text(x.trimmed(version))}, control)
	switch kind {
	case "":
		x.message.Faults |= FaultType | FaultMissing
	case "997", "999":
		x.acks++
	}
	x.lead, x.claims, x.claimed, x.frequency = true, kind == "837", false, ""
}

func (x *x12) closeSE(seg segment, count, control []byte) {
	if !x.inMessage {
		x.flag(strayMessageTrailer)
		x.take(seg, 0)
		return
	}
	x.passed(1)
	x.closeMessage(x.trimmed(count), control)
	x.takeUnless(seg, 2)
	x.endDocument()
	x.finishMessage()
}

// endSet ends a set that has no trailer.
func (x *x12) endSet() {
	x.endDocument()
	x.endMessage()
}

// endDocument lets the claims of an 837 say what its function is, unless they
// are originals.
func (x *x12) endDocument() {
	if x.inMessage && x.claimed && x.frequency != claimOriginal {
		x.message.Function = x.frequency
	}
	x.lead, x.claims, x.claimed = false, false, false
}

// closeInterchange checks IEA. IEA01 of an interchange without groups is 0 by
// the standard and 1 by custom.
func (x *x12) closeInterchange(count, control []byte) {
	x.endSet()
	x.endGroup()
	x.ic.Complete = true
	n := number(count)
	x.check(&x.ic.Faults, n == x.groups || x.groups == 0 && n == 1, FaultCount, trailerCount)
	x.check(&x.ic.Faults, sameNumber(control, isaValue(x.isa.el[13])), FaultControl, trailerControl)
}

// sameNumber compares control numbers (N0), which may be zero padded.
func sameNumber(a, b []byte) bool {
	return bytes.Equal(bytes.TrimLeft(a, "0"), bytes.TrimLeft(b, "0"))
}
