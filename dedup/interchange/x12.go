package interchange

import "bytes"

// Segment tags that structure an X12 interchange, and those that hold binary
// data or a purpose code.
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

// x12Tags are the beginnings of the tags above and below.
var x12Tags = newTagSet("IS", "IE", "GS", "GE", "ST", "SE", "TA", "B")

// GS04 and GS05 are the date and time of a group; the canonical form leaves
// them empty.
const groupDateTime = 1<<4 | 1<<5

// An x12 reads one X12 interchange.
type x12 struct {
	*scanner
	ic  *Interchange
	isa isa

	groups     int
	inGroup    *level
	inSet      *level
	hasPurpose bool // of the set
	ta1        bool
	spare      [2]level
}

func x12Begins(b []byte) bool {
	if len(b) < 4 || b[0] != 'I' || b[1] != 'S' || b[2] != 'A' {
		return false
	}
	_, ok := parseISA(b)
	return ok
}

func readX12(s *scanner, ic *Interchange) {
	x := x12{scanner: s, ic: ic}
	ic.Standard = X12
	x.readHeader()
	syn := &x.isa.syntax
	s.canon.begin("x12-c1", syn)
	for !ic.Complete {
		passed := s.takeOrdinary(syn, &x12Tags)
		if x.inSet != nil {
			x.inSet.count += passed
		}
		seg, ok := s.next(syn)
		if !ok {
			break
		}
		if first(seg.body) == 'I' && x12Begins(s.need(lookahead)) {
			s.flag(truncated)
			ic.Standard = Content // as for EDIFACT
			break
		}
		if x.inSet != nil && len(seg.body) > 0 {
			x.inSet.count++
		}
		t := syn.tag(seg.body)
		if t == tagBIN || t == tagBDS {
			x.binary(t, seg)
			continue
		}
		s.take(seg, x.structure(t, seg.body))
	}
	if !ic.Complete {
		s.flag(noTrailer)
		x.endSet()
		x.endGroup()
	}
	x.canonicalHeader()
	x.identify()
}

// readHeader copies ISA out of the window and passes over it.
func (x *x12) readHeader() {
	h, _ := parseISA(x.need(lookahead))
	kept := make([]byte, 0, h.length)
	for i, el := range h.el {
		start := len(kept)
		kept = append(kept, el...)
		h.el[i] = kept[start:]
	}
	x.isa = h
	x.isa.syntax.prepare()
	x.advance(h.length)
}

// structure follows groups and transaction sets. It returns the elements that
// the canonical form leaves empty.
func (x *x12) structure(t tag, body []byte) (skip uint32) {
	var el [10][]byte
	switch t {
	case tagGS:
		x.split(body, &el)
		x.openGroup(el[6])
		return groupDateTime
	case tagGE:
		x.split(body, &el)
		x.closeGroup(el[1], el[2])
	case tagST:
		x.split(body, &el)
		x.openSet(el[1], el[2])
	case tagSE:
		x.split(body, &el)
		x.closeSet(el[1], el[2])
	case tagTA1:
		x.ta1 = true
	case tagIEA:
		x.split(body, &el)
		x.closeInterchange(el[1], el[2])
	default:
		if t>>16 == 'B' && x.inSet != nil && !x.hasPurpose {
			x.purpose(t, body)
		}
	}
	return 0
}

// split gives the values of the elements. A component separator that was
// mistaken for the terminator ends them, which is of no other use here.
func (x *x12) split(body []byte, el *[10][]byte) {
	s := &x.isa.syntax
	n := s.split(body, element, el[:])
	for i := range el[:n] {
		el[i] = bytes.Trim(s.simple(el[i]), " ")
	}
}

func (x *x12) openGroup(control []byte) {
	x.endSet()
	x.endGroup()
	x.groups++
	x.inGroup = x.spare[0].open(control)
}

func (x *x12) closeGroup(count, control []byte) {
	x.endSet()
	if x.inGroup == nil {
		x.flag(strayGroupTrailer)
		return
	}
	if number(count) != x.inGroup.count {
		x.flag(groupCount)
	}
	if !sameNumber(control, x.inGroup.ref) {
		x.flag(groupControl)
	}
	x.inGroup = nil
}

func (x *x12) openSet(identifier, control []byte) {
	x.endSet()
	if x.inGroup != nil {
		x.inGroup.count++
	}
	x.addType(x.ic, identifier)
	x.inSet = x.spare[1].open(control)
	x.inSet.count = 1
	x.hasPurpose = false
}

func (x *x12) closeSet(count, control []byte) {
	if x.inSet == nil {
		x.flag(strayMessageTrailer)
		return
	}
	if number(count) != x.inSet.count {
		x.flag(messageCount)
	}
	if !bytes.Equal(control, x.inSet.ref) {
		x.flag(messageControl)
	}
	x.inSet = nil
}

// closeInterchange checks IEA. IEA01 of an interchange without groups is 0 by
// the standard and 1 by custom.
func (x *x12) closeInterchange(count, control []byte) {
	x.endSet()
	x.endGroup()
	x.ic.Complete = true
	if n := number(count); n != x.groups && (x.groups > 0 || n != 1) {
		x.flag(trailerCount)
	}
	if !sameNumber(control, isaValue(x.isa.el[13])) {
		x.flag(trailerControl)
	}
}

func (x *x12) endSet() {
	if x.inSet != nil {
		x.flag(noMessageTrailer)
		x.inSet = nil
	}
}

func (x *x12) endGroup() {
	if x.inGroup != nil {
		x.flag(noGroupTrailer)
		x.inGroup = nil
	}
}

// sameNumber compares control numbers (N0), which may be zero padded.
func sameNumber(a, b []byte) bool {
	return bytes.Equal(bytes.TrimLeft(a, "0"), bytes.TrimLeft(b, "0"))
}
