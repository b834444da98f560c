package interchange

import "bytes"

// A beginning is where a beginning segment holds what identifies a document, as
// element positions; 0 where it does not.
type beginning struct{ function, number, revision, date, predecessor int }

// beginnings are those of the usual transaction sets, the same in all releases
// (segment directories of Stedi, 002001 to 008040). 353 is in none of B3, W05 and
// W06, whose first elements have other meanings. B10 is not listed: the number in
// it is that of a shipment, of which each 214 tells another state.
var beginnings = map[tag]beginning{
	'B'<<16 | 'E'<<8 | 'G': {function: 1, number: 3, date: 5},                 // 850
	'B'<<16 | 'C'<<8 | 'H': {function: 1, number: 3, revision: 5, date: 6},    // 860: 327, the sequence of changes
	'B'<<16 | 'A'<<8 | 'K': {function: 1, number: 3, date: 4},                 // 855
	'B'<<16 | 'C'<<8 | 'A': {function: 1, number: 3, revision: 5, date: 6},    // 865
	'B'<<16 | 'S'<<8 | 'N': {function: 1, number: 2, date: 3},                 // 856
	'B'<<16 | 'H'<<8 | 'T': {function: 2, number: 3, date: 4},                 // 27x, 837
	'B'<<16 | 'G'<<8 | 'N': {function: 1, number: 2, date: 3, predecessor: 6}, // 824, 834, 864
	'B'<<16 | '2'<<8 | 'A': {function: 1},                                     // 204, after B2
	'B'<<8 | '2':           {number: 4},                                       // 204
	'B'<<16 | 'F'<<8 | 'R': {function: 1, number: 2, date: 8},                 // 830
	'B'<<16 | 'S'<<8 | 'S': {function: 1, number: 2, date: 3},                 // 862
	'B'<<16 | 'I'<<8 | 'A': {function: 1, number: 3, date: 4},                 // 846
	'B'<<16 | 'P'<<8 | 'T': {function: 1, number: 2, date: 3},                 // 867
	'B'<<16 | 'I'<<8 | 'G': {function: 8, number: 2, revision: 6, date: 1},    // 810
	'B'<<16 | 'R'<<8 | 'A': {function: 3, number: 1, date: 2},                 // 861
	'B'<<8 | '3':           {number: 2, date: 6},                              // 210
	'W'<<16 | '0'<<8 | '5': {number: 2},                                       // 940
	'W'<<16 | '0'<<8 | '6': {number: 2, date: 3},                              // 945
}

const (
	tagCLM tag = 'C'<<16 | 'L'<<8 | 'M'
	tagREF tag = 'R'<<16 | 'E'<<8 | 'F'
)

// x12Lead are the segments to be looked at before the document is known,
// x12Claims those of an 837, and x12Body those of any other set.
var (
	x12Body   = newTagSet("IS", "IE", "GS", "GE", "ST", "SE", "TA", "BI", "BD")
	x12Lead   = newTagSet("IS", "IE", "GS", "GE", "ST", "SE", "TA", "B", "W0", "HL", "N1", "LX", "PO", "LI")
	x12Claims = newTagSet("IS", "IE", "GS", "GE", "ST", "SE", "TA", "B", "CL", "RE")
)

// document takes up what a segment of a set says of the document.
func (x *x12) document(t tag, body []byte) {
	switch {
	case x.claims && (t == tagCLM || t == tagREF):
		x.claim(t, body)
		return
	case t>>16 != 'B' && t>>8 != 'B' && t>>16 != 'W':
		x.lead = x.lead && !ends(t)
		return
	}
	at, known := beginnings[t]
	if !known || !x.lead {
		return
	}
	var el [10][]byte
	x.split(body, &el)
	m := &x.message
	take := func(into *string, i int) {
		if i > 0 && *into == "" {
			*into = x.short(el[i])
		}
	}
	take(&m.Number, at.number)
	take(&m.Revision, at.revision)
	take(&m.Date, at.date)
	if code := el[at.function]; at.function > 0 && m.Function == "" && len(code) == 2 && alphanumeric(code[0]) && alphanumeric(code[1]) {
		m.Function = x.text(code)
	}
	if at.predecessor > 0 {
		x.addPredecessor(x.short(el[at.predecessor]))
	}
}

// ends tells segments that only details begin with.
func ends(t tag) bool {
	switch t {
	case 'H'<<8 | 'L', 'N'<<8 | '1', 'L'<<8 | 'X', 'P'<<16 | 'O'<<8 | '1', 'L'<<16 | 'I'<<8 | 'N':
		return true
	}
	return false
}

// claim reads what amends the claims of an 837: CLM05-3, the frequency, and the
// payer's number of the claim before, REF*F8. The function of a set is that of
// its claims if they agree; sets that mix them state none.
func (x *x12) claim(t tag, body []byte) {
	s := &x.syntax
	var el [6][]byte
	s.split(body, element, el[:])
	if t == tagREF {
		if string(s.simple(el[1])) == "F8" {
			x.addPredecessor(x.short(bytes.TrimSpace(s.simple(el[2]))))
		}
		return
	}
	frequency := x.text(s.value(s.part(el[5], 2)))
	switch {
	case !x.claimed:
		x.claimed, x.frequency = true, frequency
	case frequency != x.frequency:
		x.frequency = ""
	}
}
