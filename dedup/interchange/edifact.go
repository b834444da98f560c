package interchange

import "bytes"

// Segment tags that structure an EDIFACT interchange (ISO 9735-1 §7), batch and
// interactive (ISO 9735-3).
const (
	tagUNA tag = 'U'<<16 | 'N'<<8 | 'A'
	tagUNB tag = 'U'<<16 | 'N'<<8 | 'B'
	tagUNG tag = 'U'<<16 | 'N'<<8 | 'G'
	tagUNH tag = 'U'<<16 | 'N'<<8 | 'H'
	tagUNO tag = 'U'<<16 | 'N'<<8 | 'O'
	tagUNP tag = 'U'<<16 | 'N'<<8 | 'P'
	tagUNT tag = 'U'<<16 | 'N'<<8 | 'T'
	tagUNE tag = 'U'<<16 | 'N'<<8 | 'E'
	tagUNZ tag = 'U'<<16 | 'N'<<8 | 'Z'
	tagUIB tag = 'U'<<16 | 'I'<<8 | 'B'
	tagUIH tag = 'U'<<16 | 'I'<<8 | 'H'
	tagUIT tag = 'U'<<16 | 'I'<<8 | 'T'
	tagUIZ tag = 'U'<<16 | 'I'<<8 | 'Z'
)

// S004 of UNG is element 4; the canonical form leaves it empty.
const groupDate = 1 << 4

// An edifact reads one EDIFACT interchange.
type edifact struct {
	envelope
	header   []byte // UNB or UIB without its terminator
	ref      []byte // 0020 of UNZ, S302 of UIZ, as elements
	acks     int    // messages that are CONTRL
	lead     bool   // of the open message, see document
	version4 bool   // of the syntax, or later
}

func readEDIFACT(s *scanner, ic *Interchange) {
	e := edifact{envelope: envelope{scanner: s, ic: ic}}
	ic.Standard = EDIFACT
	e.serviceCharacters()
	s.beginForm("edifact-c2", &e.syntax)
	e.header = e.setAside()
	e.optional = e.syntax.tag(e.header) == tagUIB
	for !ic.Complete {
		e.passed(s.takeOrdinary(&e.syntax, e.special()))
		seg, ok := s.next(&e.syntax)
		if !ok {
			break
		}
		if edifactMayBegin(seg.body) && edifactBegins(s.need(lookahead)) {
			s.flag(truncated)
			ic.Standard = Content // see Interchange.Complete; the next one may bear the same reference
			break
		}
		e.segment(seg)
	}
	e.finishInterchange()
	e.identify()
}

func first(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

// special are the segments that have to be looked at.
func (e *edifact) special() *tagSet {
	if e.lead {
		return &edifactLead
	}
	return &edifactBody
}

// segment follows groups and messages, and passes over one segment.
func (e *edifact) segment(seg segment) {
	t := e.syntax.tag(seg.body)
	var el [9][]byte
	if t>>16 == 'U' {
		e.syntax.split(seg.body, element, el[:])
	}
	switch t {
	case tagUNG:
		e.openUNG(&el)
		e.take(seg, groupDate)
	case tagUNH:
		e.openUNH(el[1], el[2])
		e.takeUnless(seg, 1)
	case tagUIH:
		e.openUNH(el[2], el[1])
		e.takeUnless(seg, 2)
	case tagUNT:
		e.closeUNT(seg, el[1], el[2], 2)
	case tagUIT:
		e.closeUNT(seg, el[2], el[1], 1)
	case tagUNO:
		e.object(seg, &el)
	case tagUNE:
		e.closeGroup(e.syntax.simple(el[1]), e.refers(el[2], e.groupRef))
		e.take(seg, 0)
	case tagUNZ:
		e.closeInterchange(el[1], el[2])
		e.take(seg, 0)
	case tagUIZ:
		e.closeInterchange(el[2], el[1])
		e.take(seg, 0)
	default:
		if len(seg.body) > 0 {
			e.passed(1)
		}
		if e.lead && e.inMessage {
			e.document(t, seg.body)
		}
		e.take(seg, 0)
	}
}

func (e *edifact) openUNG(el *[9][]byte) {
	s := &e.syntax
	ref := s.simple(el[5])
	e.openGroup(Group{Type: e.short(s.simple(el[1])), Sender: e.short(el[2]), Recipient: e.short(el[3]),
		Control: e.short(ref), Version: e.short(el[7])}, el[5], ref)
}

// openUNH takes S009 apart, or S306: what stands after the type is the version.
func (e *edifact) openUNH(ref, identifier []byte) {
	s := &e.syntax
	kind := s.simple(identifier)
	m := Message{Control: e.short(s.simple(ref))}
	if version := identifier[len(s.part(identifier, 0)):]; len(version) > 0 {
		m.Version = e.text(version[1:])
	}
	m.Type = e.addType(e.ic, kind)
	e.openMessage(m, ref)
	switch {
	case m.Type == "":
		e.message.Faults |= FaultType | FaultMissing
	case e.inGroup && e.group.Type != "" && e.group.Type != m.Type && !e.version4: // from 4 on, a group may mix types
		e.message.Faults |= FaultType
	case m.Type == "CONTRL":
		e.acks++
	}
	e.lead = true
}

func (e *edifact) closeUNT(seg segment, count, ref []byte, reference uint) {
	if !e.inMessage {
		e.flag(strayMessageTrailer)
		e.take(seg, 0)
		return
	}
	e.passed(1)
	e.lead = false
	e.closeMessage(e.syntax.simple(count), ref)
	e.takeUnless(seg, reference)
	e.finishMessage()
}

// closeInterchange checks 0036, which counts groups if there are any.
func (e *edifact) closeInterchange(count, ref []byte) {
	e.endGroup()
	e.ic.Complete = true
	e.ref = bytes.Clone(ref)
	if e.groups == 0 || e.loose == 0 {
		e.check(&e.ic.Faults, e.counted(e.syntax.simple(count), int64(e.groups+e.loose)), FaultCount, trailerCount)
	}
}
