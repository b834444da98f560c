package interchange

import "bytes"

// newlineReach is how far a terminator is looked for before line breaks are
// taken in its place.
const newlineReach = 4 << 10

// edifactMayBegin is a quick look at a segment, which may be cut off.
func edifactMayBegin(b []byte) bool {
	return len(b) >= 3 && b[0] == 'U' && (b[1] == 'N' && (b[2] == 'A' || b[2] == 'B') || b[1] == 'I' && b[2] == 'B')
}

// edifactBegins recognises UNA with usable separators before UNB or UIB, and
// those with the default separators of level A (+) or level B (IS3).
func edifactBegins(b []byte) bool {
	if !edifactMayBegin(b) {
		return false
	}
	if b[2] == 'B' {
		return len(b) > 3 && (b[3] == '+' || b[3] == canonElement)
	}
	if len(b) < 9 || !separates(b[3]) || !separates(b[4]) || b[3] == b[4] {
		return false
	}
	rest := b[9:]
	rest = rest[blanks(rest):]
	return edifactMayBegin(rest) && rest[2] == 'B' && len(rest) > 3 && rest[3] == b[4]
}

// serviceCharacters reads UNA or takes the defaults (ISO 9735-1 Annex B), and
// moves on to UNB.
func (e *edifact) serviceCharacters() {
	b := e.need(lookahead)
	s := &e.syntax
	var una []byte
	switch {
	case b[2] == 'A':
		una = b[3:9]
		e.advance(9)
		e.advance(blanks(b[9:]))
		b = e.need(lookahead)
		e.advice(una)
	case b[3] == canonElement: // level B
		s.component = serviceChar{canonComponent, true}
		s.element = serviceChar{canonElement, true}
		s.terminator = serviceChar{canonTerminator, true}
	default:
		s.component, s.element = serviceChar{':', true}, serviceChar{'+', true}
		s.release, s.terminator = serviceChar{'?', true}, serviceChar{'\'', true}
	}
	s.prepare()
	if e.newlineTerminated(b) {
		e.flag(newlineTerminator)
		s.terminator.char = '\r'
		if bytes.IndexByte(b[:min(len(b), newlineReach)], '\n') >= 0 {
			s.terminator.char = '\n'
		}
		s.prepare()
	}
	e.repetition(b, una)
	s.prepare()
}

// advice takes the service characters of UNA. A blank release character means
// that there is none (versions 1 to 3).
func (e *edifact) advice(una []byte) {
	s := &e.syntax
	s.component, s.element = serviceChar{una[0], true}, serviceChar{una[1], true}
	s.release = serviceChar{una[3], separates(una[3])}
	s.terminator = serviceChar{una[5], true}
	if c := una[5]; !separates(c) || c == una[0] || c == una[1] || c == una[3] {
		e.flag(oddServiceChars)
		s.terminator.char = '\''
	}
}

// newlineTerminated tells whether segments end at line breaks: there is no
// terminator at all, or UNB would reach over the start of a line that is
// another structural segment.
func (e *edifact) newlineTerminated(b []byte) bool {
	b = b[:min(len(b), newlineReach)]
	if cl := e.syntax.class; cl['\n'] != newline || cl['\r'] != newline {
		return false
	}
	n := e.syntax.segmentEnd(b)
	if n < 0 {
		return bytes.ContainsAny(b, "\r\n")
	}
	for b = b[:n]; ; {
		i := bytes.IndexAny(b, "\r\n")
		if i < 0 {
			return false
		}
		b = b[i+1:]
		switch e.syntax.tag(b) {
		case tagUNB, tagUNG, tagUNH, tagUNZ, tagUIB, tagUIH, tagUIZ:
			return true
		}
	}
}

// repetition decides on the repetition separator, which exists from version 4
// on. UNA before that may hold anything in its place.
func (e *edifact) repetition(b, una []byte) {
	if n := e.syntax.segmentEnd(b); n >= 0 {
		b = b[:n]
	}
	var el [2][]byte
	e.syntax.split(b, element, el[:])
	version := e.syntax.value(e.syntax.part(el[1], 1))
	if len(version) == 0 || version[0] < '4' || version[0] > '9' {
		return
	}
	e.version4 = true
	c := byte('*')
	if una != nil {
		c = una[4]
	}
	e.syntax.repetition = serviceChar{c, separates(c) && e.syntax.class[c] <= quoted}
}

// unb is where a header has its elements: UNB, or UIB of an interactive
// interchange, whose reference is that of the dialogue (S302 0300) and which
// asks for no acknowledgement (ISO 9735-3; EDIFACT directories, UIB).
type unb struct{ sender, recipient, date, control, ack, test int }

var (
	batchHeader       = unb{sender: 2, recipient: 3, date: 4, control: 5, ack: 9, test: 11}
	interactiveHeader = unb{sender: 6, recipient: 7, date: 8, control: 2, ack: 13, test: 10}
)

// identify fills in the interchange from its header and adds that to the
// canonical form.
func (e *edifact) identify() {
	ic, s := e.ic, &e.syntax
	var el [14][]byte // 0 is the tag; one more than UNB has, see splitDate, and one that it never has
	s.split(e.header, element, el[:])
	at := batchHeader
	if e.optional {
		at = interactiveHeader
	}
	skip := uint32(1) << at.date
	date, time := s.part(el[at.date], 0), s.part(el[at.date], 1)
	if at == batchHeader && e.splitDate(&el) {
		e.flag(splitDateTime)
		skip |= 1 << 5
		time = s.part(el[5], 0)
		at.control, at.ack, at.test = at.control+1, at.ack+1, at.test+1
	}
	s.header(e.form, e.header, skip)
	ic.Content = e.form.sum()

	ic.Header, ic.Separators = e.header, e.separators()
	ic.Version = written(s.simple(el[1]))
	if v := s.value(s.part(el[1], 1)); len(v) > 0 {
		ic.Version += ":" + written(v)
	}
	ic.Date, ic.Time = written(s.value(date)), written(s.value(time))
	ic.AsWritten = Written{
		Sender: written(s.part(el[at.sender], 0)), SenderQualifier: written(s.part(el[at.sender], 1)),
		Recipient: written(s.part(el[at.recipient], 0)), RecipientQualifier: written(s.part(el[at.recipient], 1)),
		Control: written(s.part(el[at.control], 0)),
	}
	e.setIdentity(ic, identity{
		sender: s.simple(el[at.sender]), recipient: s.simple(el[at.recipient]),
		control: s.simple(el[at.control]), longestParty: 35, longestControl: at.longestControl(),
	})
	if len(s.simple(el[1])) == 0 || len(date) == 0 && !e.optional {
		ic.Faults |= FaultMissing
	}
	if len(el[at.control]) > 0 && ic.Complete {
		e.check(&ic.Faults, e.refers(e.ref, el[at.control]), FaultControl, trailerControl)
	}
	ic.Acknowledges = e.acks > 0 && e.acks == e.messages
	e.indicators(s.simple(el[at.ack]), s.simple(el[at.test]))
}

// header adds a header segment that is kept aside to the form.
func (s *syntax) header(form *canon, body []byte, skip uint32) {
	form.segment(skip)
	form.feed(body)
	form.end()
}

// longestControl is the length of 0020, or of 0300.
func (h unb) longestControl() int {
	if h == interactiveHeader {
		return 35
	}
	return 14
}

// splitDate recognises a dialect, `UNB+ANSI:1+A+B+180312+1623+1'`, in which the
// date and the time of S004 are two elements and 0020 is the sixth. Read
// strictly, all interchanges of a minute would have one reference. The trailer
// decides, unless it is missing.
func (e *edifact) splitDate(el *[14][]byte) bool {
	s := &e.syntax
	date, time, ref := s.value(el[4]), s.simple(el[5]), s.simple(el[6])
	if len(date) != 6 && len(date) != 8 || !digits(date) || len(time) != 4 || !digits(time) || len(ref) == 0 {
		return false
	}
	return !e.ic.Complete || bytes.Equal(s.simple(e.ref), ref) && !bytes.Equal(s.simple(e.ref), time)
}

// indicators reads 0031 and 0035.
func (e *edifact) indicators(ack, test []byte) {
	e.ic.ReceiptOnly = string(ack) == "2"
	e.ic.AckRequested = string(ack) == "1" || e.ic.ReceiptOnly
	switch {
	case len(test) == 0 || string(test) == "0":
	case len(test) == 1 && test[0] >= '1' && test[0] <= '4':
		e.ic.Test = true
	default:
		e.check(&e.ic.Faults, false, FaultInvalid, badTestIndicator)
	}
}
