package interchange

import "slices"

const (
	tagBGM tag = 'B'<<16 | 'G'<<8 | 'M'
	tagDTM tag = 'D'<<16 | 'T'<<8 | 'M'
	tagRFF tag = 'R'<<16 | 'F'<<8 | 'F'
)

// The lead of a message is what stands before its details: only there do dates
// and references speak of the document. It ends with the segments that open the
// details of the usual messages (lines, packages, goods, consignments,
// equipment), or UNS.
var (
	edifactLead    = newTagSet("UN", "UI", "BG", "DT", "RF", "LI", "CP", "GI", "CN", "EQ")
	edifactBody    = newTagSet("UN", "UI")
	edifactDetails = []tag{
		'U'<<16 | 'N'<<8 | 'S', 'L'<<16 | 'I'<<8 | 'N', 'C'<<16 | 'P'<<8 | 'S', 'G'<<16 | 'I'<<8 | 'D', 'C'<<16 | 'N'<<8 | 'I',
		'E'<<16 | 'Q'<<8 | 'D',
	}
)

// previousMessage is 1153 of the message that this one replaces or cancels: "Reference number to previous message". Other
// qualifiers name a predecessor only in the messages of the same kind of document: an invoice refers to an order, but
// does not replace it.
const previousMessage = "ACW"

var predecessorQualifiers = map[string][]string{
	"INVOIC": {"IV", "OI"}, // invoice, previous invoice
	"ORDERS": {"ON"},       // order
	"ORDCHG": {"ON"},
	"DESADV": {"AAK"}, // despatch advice
}

// document takes up what a segment of the lead says of the document.
func (e *edifact) document(t tag, body []byte) {
	s, m := &e.syntax, &e.message
	var el [4][]byte
	switch t {
	case tagBGM: // C002, C106 or a simple 1004, 1225
		s.split(body, element, el[:])
		if m.Number == "" {
			m.Number = e.short(s.simple(el[2]))
			m.Revision = e.short(s.value(s.part(el[2], 1)))
		}
		if code := s.simple(el[3]); m.Function == "" && len(code) > 0 && len(code) <= 2 && number(code) > 0 {
			m.Function = e.text(code) // else it is no code of 1225; real messages hold dates there
		}
	case tagDTM: // C507
		s.split(body, element, el[:])
		if m.Date == "" && string(s.simple(el[1])) == "137" {
			m.Date = e.short(s.value(s.part(el[1], 1)))
		}
	case tagRFF: // C506
		s.split(body, element, el[:])
		e.predecessor(string(s.simple(el[1])), e.short(s.value(s.part(el[1], 1))))
	default:
		if slices.Contains(edifactDetails, t) {
			e.lead = false
		}
	}
}

func (e *edifact) predecessor(qualifier, number string) {
	if qualifier == previousMessage || slices.Contains(predecessorQualifiers[e.message.Type], qualifier) {
		e.addPredecessor(number)
	}
}
