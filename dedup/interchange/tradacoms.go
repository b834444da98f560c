package interchange

import "bytes"

// Segments that structure a TRADACOMS transmission (UN/GTDI as the Article
// Number Association published it; segment tables of KA Software and of
// Information Builders' TRADACOMS adapter): STX=…, files of messages MHD=…
// to MTR=…, and END=….
const (
	tagSTX tag = 'S'<<16 | 'T'<<8 | 'X'
	tagMHD tag = 'M'<<16 | 'H'<<8 | 'D'
	tagMTR tag = 'M'<<16 | 'T'<<8 | 'R'
	tagEND tag = 'E'<<16 | 'N'<<8 | 'D'
	tagFIL tag = 'F'<<16 | 'I'<<8 | 'L'
)

var tradacomsTags = newTagSet("ST", "MH", "MT", "EN", "FI")

// The date of STX (TRDT) is the element numbered 3 here; the canonical form
// leaves it empty. What stands before the first plus sign, tag and first element
// in one, is number 0; it is left out of MHD and MTR, whose first elements are
// the message's place in the transmission and its length.
const (
	transmissionDate = 1 << 3
	messagePlace     = 1 << 0
)

// A tradacoms reads one transmission. Its service characters are fixed.
type tradacoms struct {
	envelope
	header []byte
}

func tradacomsBegins(b []byte) bool { return bytes.HasPrefix(b, []byte("STX=ANA")) }

func readTRADACOMS(s *scanner, ic *Interchange) {
	x := tradacoms{envelope: envelope{scanner: s, ic: ic}}
	ic.Standard = TRADACOMS
	x.syntax.component, x.syntax.element = serviceChar{':', true}, serviceChar{'+', true}
	x.syntax.release, x.syntax.terminator = serviceChar{'?', true}, serviceChar{'\'', true}
	x.syntax.prepare()
	s.beginForm("tradacoms-c2", &x.syntax)
	if x.header = x.setAside(); x.header == nil {
		return
	}
	for !ic.Complete {
		x.passed(s.takeOrdinary(&x.syntax, &tradacomsTags))
		seg, ok := s.next(&x.syntax)
		if !ok {
			break
		}
		if tradacomsBegins(seg.body) {
			s.flag(truncated)
			ic.Standard = Content // as for EDIFACT
			break
		}
		x.segment(seg)
	}
	x.finishInterchange()
	x.identify()
}

// segment follows the messages, and passes over one segment.
func (x *tradacoms) segment(seg segment) {
	t := x.tag(seg.body)
	var el [4][]byte
	x.syntax.split(seg.body, element, el[:])
	switch t {
	case tagMHD:
		x.openMHD(el[0], el[1])
		x.takeUnless(seg, 0)
	case tagMTR:
		if !x.inMessage {
			x.flag(strayMessageTrailer)
			x.take(seg, 0)
			return
		}
		x.passed(1)
		count := x.first(el[0])
		x.message.Declared = number(count)
		x.check(&x.message.Faults, x.counted(count, int64(x.message.Segments)), FaultCount, messageCount)
		x.trailerRef = append(x.trailerRef, el[0]...)
		x.takeUnless(seg, 0)
		x.finishMessage()
	case tagEND:
		x.endMessage()
		x.ic.Complete = true
		x.check(&x.ic.Faults, x.counted(x.first(el[0]), int64(x.messages)), FaultCount, trailerCount)
		x.take(seg, 0)
	default:
		if len(seg.body) > 0 {
			x.passed(1)
		}
		if t == tagFIL && x.inMessage { // generation, version and date of the file that the messages are
			x.message.Number, x.message.Revision = x.short(x.first(el[0])), x.short(x.syntax.simple(el[1]))
			x.message.Date = x.short(x.syntax.simple(el[2]))
		}
		x.take(seg, 0)
	}
}

// openMHD begins a message, say MHD=2+ORDERS:9.
func (x *tradacoms) openMHD(place, kind []byte) {
	x.endMessage()
	m := Message{Type: x.addType(x.ic, x.syntax.simple(kind)), Version: x.text(x.syntax.value(x.syntax.part(kind, 1))),
		Control: x.short(x.first(place))}
	x.openMessage(m, place)
	if m.Type == "" {
		x.message.Faults |= FaultType | FaultMissing
	}
}

// tag reads a tag of three letters before an equals sign; wrapping may have
// broken it.
func (x *tradacoms) tag(body []byte) tag {
	name, _, found := bytes.Cut(body[:min(len(body), 16)], []byte{'='})
	if !found {
		return 0
	}
	return x.syntax.tag(name)
}

// first is the first element, which stands behind tag and equals sign.
func (x *tradacoms) first(el []byte) []byte {
	_, el, _ = bytes.Cut(el, []byte{'='})
	return x.syntax.simple(el)
}

// identify fills in the interchange from STX and adds that to the canonical
// form. A party is given by code or by name; a name keeps its colon, so that no
// name is taken for a code.
func (x *tradacoms) identify() {
	ic, s := x.ic, &x.syntax
	var el [8][]byte
	s.split(x.header, element, el[:])
	s.header(x.form, x.header, transmissionDate)
	ic.Content = x.form.sum()

	ic.Header, ic.Separators = x.header, x.separators()
	_, agency, _ := bytes.Cut(el[0], []byte{'='})
	ic.Version = written(s.value(agency))
	ic.Date, ic.Time = written(s.value(s.part(el[3], 0))), written(s.value(s.part(el[3], 1)))
	ic.AsWritten = Written{Sender: written(el[1]), Recipient: written(el[2]), Control: written(el[4])}
	x.setIdentity(ic, identity{sender: x.party(el[1]), recipient: x.party(el[2]), control: s.simple(el[4]),
		longestParty: 36, longestControl: 14})
	if len(el[3]) == 0 {
		ic.Faults |= FaultMissing
	}
}

func (x *tradacoms) party(el []byte) []byte {
	code, name := x.syntax.simple(el), x.syntax.value(x.syntax.part(el, 1))
	if len(code) > 0 || len(name) == 0 {
		return code
	}
	return append([]byte{':'}, name...)
}
