package interchange

import "bytes"

// Segments that structure HL7 version 2 (chapter 2): a message begins with MSH
// and has no trailer; messages may stand in batches, BHS to BTS, and batches in
// a file, FHS to FTS.
const (
	tagMSH tag = 'M'<<16 | 'S'<<8 | 'H'
	tagBHS tag = 'B'<<16 | 'H'<<8 | 'S'
	tagBTS tag = 'B'<<16 | 'T'<<8 | 'S'
	tagFHS tag = 'F'<<16 | 'H'<<8 | 'S'
	tagFTS tag = 'F'<<16 | 'T'<<8 | 'S'
)

var hl7Tags = newTagSet("MS", "BH", "BT", "FH", "FT")

// blockEnd ends a block of the lower layer protocol (MLLP).
const blockEnd = 0x1C

// The canonical form leaves empty, of any header, the encoding characters and
// the time (MSH-2, MSH-7); of MSH, as part of the message, the parties and the
// control reference too (MSH-3 to MSH-6, MSH-10). MSH-1 is the separator behind
// the tag, so field n is element n-1.
const (
	hl7Envelope = 1<<1 | 1<<6
	hl7Message  = hl7Envelope | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<9
)

// An hl7 reads one message, or one batch or file of them. Escape sequences and
// subcomponents are data like any other.
type hl7 struct {
	envelope
	header []byte // MSH, BHS or FHS
	kind   tag
	acks   int
}

// hl7Begins recognises a header by its encoding characters, three to five,
// between two separators.
func hl7Begins(b []byte) bool {
	if len(b) < 9 {
		return false
	}
	switch string(b[:3]) {
	case "MSH", "BHS", "FHS":
	default:
		return false
	}
	if !separates(b[3]) || b[3] < ' ' || b[3] >= 0x80 {
		return false
	}
	n := bytes.IndexByte(b[4:min(len(b), 10)], b[3])
	for i := range max(n, 0) {
		if c := b[4+i]; !separates(c) || c < ' ' || c >= 0x80 {
			return false
		}
	}
	return n >= 3
}

func readHL7(s *scanner, ic *Interchange) {
	x := hl7{envelope: envelope{scanner: s, ic: ic, optional: true}}
	ic.Standard = HL7
	b := s.need(lookahead)
	x.kind = tag(b[0])<<16 | tag(b[1])<<8 | tag(b[2])
	x.serviceCharacters(b)
	s.beginForm("hl7-c2", &x.syntax)
	if x.kind != tagMSH {
		x.header = x.setAside()
	}
	for !ic.Complete {
		x.passed(s.takeOrdinary(&x.syntax, &hl7Tags))
		seg, ok := s.next(&x.syntax)
		if !ok || !x.segment(seg) {
			break
		}
	}
	x.finishLast()
	ic.Complete = ic.Complete || x.kind == tagMSH
	x.finishInterchange()
	x.identify()
}

// serviceCharacters takes the separators from the header, and the terminator,
// which is CR by the standard and LF in files, from the end of it.
func (x *hl7) serviceCharacters(b []byte) {
	s := &x.syntax
	s.element = serviceChar{b[3], true}
	s.component, s.repetition = serviceChar{b[4], true}, serviceChar{b[5], true}
	s.terminator = serviceChar{'\r', true}
	if i := bytes.IndexAny(b, "\r\n"); i >= 0 {
		s.terminator.char = b[i]
	}
	s.prepare()
}

// segment follows batches and messages, and passes over one segment. It reports
// false at the beginning of another interchange.
func (x *hl7) segment(seg segment) bool {
	if first(seg.body) == blockEnd {
		return false
	}
	t := x.syntax.tag(seg.body)
	var el [16][]byte
	switch t {
	case tagMSH, tagBHS, tagFHS, tagBTS, tagFTS:
		x.syntax.split(seg.body, element, el[:])
		x.finishLast()
	}
	switch {
	case t == tagMSH && hl7Begins(seg.body):
		if x.kind == tagMSH && x.header != nil {
			return false
		}
		if x.header == nil {
			x.header = bytes.Clone(seg.body)
		}
		x.openMSH(seg, &el)
	case t == tagFHS && hl7Begins(seg.body), t == tagBHS && x.kind != tagFHS && hl7Begins(seg.body):
		x.flagTruncated()
		return false
	case t == tagBHS && hl7Begins(seg.body):
		x.openGroup(Group{Type: "BHS", Sender: x.short(el[2]), Recipient: x.short(el[4]), Control: x.short(el[10])}, el[10], el[10])
		x.take(seg, hl7Envelope)
	case t == tagBTS && x.kind == tagFHS:
		x.closeGroup(x.syntax.simple(el[1]), true)
		x.take(seg, 0)
	case t == tagBTS && x.kind == tagBHS, t == tagFTS && x.kind == tagFHS:
		x.closeBatch(el[1])
		x.take(seg, 0)
	default:
		if len(seg.body) > 0 {
			x.passed(1)
		}
		x.take(seg, 0)
	}
	return true
}

// flagTruncated is about a batch or file that another header ends; a message has
// no other end.
func (x *hl7) flagTruncated() {
	if x.kind != tagMSH {
		x.flag(truncated)
		x.ic.Standard = Content // as for EDIFACT
	}
}

// openMSH begins a message. MSH belongs to the envelope as a whole, and to the
// message in part.
func (x *hl7) openMSH(seg segment, el *[16][]byte) {
	s := &x.syntax
	kind := s.value(s.part(el[8], 0))
	if event := s.value(s.part(el[8], 1)); len(event) > 0 {
		kind = append(append(bytes.Clone(kind), '^'), event...)
	}
	s.header(x.form, seg.body, hl7Envelope)
	x.openMessage(Message{Type: x.addType(x.ic, kind), Control: x.short(s.simple(el[9])), Version: x.text(s.simple(el[11])),
		Date: x.short(s.simple(el[6]))}, nil)
	if x.ic.Version == "" {
		x.ic.Version = x.message.Version
	}
	switch {
	case len(kind) == 0:
		x.message.Faults |= FaultType | FaultMissing
	case string(kind) == "ACK" || bytes.HasPrefix(kind, []byte("ACK^")):
		x.acks++
	}
	if x.message.Control == "" {
		x.message.Faults |= FaultMissing
	}
	if !x.messageNames.add(s.simple(el[9])) {
		x.message.Faults |= FaultDuplicate
	}
	x.take(seg, hl7Message)
}

// finishLast ends the open message; none has a trailer.
func (x *hl7) finishLast() {
	if x.inMessage {
		x.finishMessage()
	}
}

// closeBatch checks the count of a batch's messages, or of a file's batches.
func (x *hl7) closeBatch(count []byte) {
	x.endGroup()
	x.ic.Complete = true
	n := x.groups
	if n == 0 {
		n = x.messages
	}
	x.check(&x.ic.Faults, x.counted(x.syntax.simple(count), int64(n)), FaultCount, trailerCount)
}
