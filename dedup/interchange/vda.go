package interchange

import "bytes"

// recordLength is that of a VDA record, with or without a line break behind it;
// least is what a header record needs at least where trailing blanks were cut.
const (
	recordLength = 128
	vdaLeast     = 39
)

// vdaKinds are the header records and the recommendations they belong to. All
// have the customer's number before the supplier's; who of them sends depends on
// the recommendation. (VDA recommendations 4905, 4906, 4908, 4913 and 4915, and
// Volkswagen's and Antolin's guides to them.)
var vdaKinds = map[string]struct {
	recommendation string
	fromCustomer   bool
}{
	"511": {"4905", true},  // delivery forecast
	"551": {"4915", true},  // just-in-time call-off
	"711": {"4913", false}, // delivery note and transport
	"811": {"4906", false}, // invoice
	"821": {"4908", true},  // credit advice
}

// A vda reads one transmission: records that begin with the same two digits as
// the header, up to the one that ends in 9.
type vda struct {
	envelope
	header []byte
}

// vdaBegins recognises a header record and the record behind it.
func vdaBegins(b []byte) bool {
	if len(b) < vdaLeast || !digits(b[:5]) || b[2] != '1' {
		return false
	}
	_, known := vdaKinds[string(b[:3])]
	record, width := vdaRecord(b)
	if !known || len(record) < vdaLeast || !digits(bytes.TrimSpace(record[23:33])) || !digits(record[33:39]) {
		return false
	}
	next := b[width:]
	return len(next) > 3 && string(next[:2]) == string(b[:2]) && digits(next[:3])
}

// vdaRecord returns the first record of b without trailing blanks, and its
// length with them and with a line break.
func vdaRecord(b []byte) (record []byte, width int) {
	record = b[:min(len(b), recordLength)]
	if i := bytes.IndexAny(record, "\r\n"); i >= 0 {
		record = record[:i]
	}
	width = len(record)
	for rest := b[width:]; len(rest) > 0 && (rest[0] == '\r' || rest[0] == '\n'); rest = rest[1:] {
		width++
	}
	return bytes.TrimRight(record, " "), width
}

func readVDA(s *scanner, ic *Interchange) {
	x := vda{envelope: envelope{scanner: s, ic: ic}}
	ic.Standard = VDA
	x.syntax.prepare() // no octet has a role
	s.beginForm("vda-c2", &x.syntax)
	record, width := vdaRecord(s.need(lookahead))
	x.header = bytes.Clone(record)
	s.advance(width)
	x.openMessage(Message{Type: x.addType(ic, []byte(vdaKinds[string(x.header[:3])].recommendation)), Version: x.text(x.header[3:5]),
		Control: x.short(x.field(28, 33)), Date: x.short(x.field(33, 39))}, nil)
	for !ic.Complete {
		b := s.need(lookahead)
		if len(b) < 3 || string(b[:2]) != string(x.header[:2]) || vdaBegins(b) {
			break
		}
		record, width = vdaRecord(b)
		ic.Complete = b[2] == '9'
		x.passed(1)
		x.form.segment(0)
		x.form.feed(record)
		x.form.end()
		s.advance(width)
	}
	x.finishMessage()
	x.finishInterchange()
	x.identify()
}

// field is a part of the header record without padding.
func (x *vda) field(from, to int) []byte {
	return bytes.Trim(x.header[min(from, len(x.header)):min(to, len(x.header))], " ")
}

// identify fills in the interchange from the header record: its version, the
// numbers of customer and supplier, of the transmission before and of this one,
// and its date, which is no part of the canonical form.
func (x *vda) identify() {
	ic := x.ic
	x.form.segment(0)
	x.form.feed(x.header[:33])
	x.form.separator(element)
	x.form.feed(x.header[39:])
	x.form.end()
	ic.Content = x.form.sum()

	kind := vdaKinds[string(x.header[:3])]
	ic.Header = x.header
	ic.Version = kind.recommendation + "/" + written(x.field(3, 5))
	ic.Date = written(x.field(33, 39))
	sender, recipient := x.field(5, 14), x.field(14, 23)
	if !kind.fromCustomer {
		sender, recipient = recipient, sender
	}
	control := x.field(28, 33)
	ic.AsWritten = Written{Sender: written(sender), Recipient: written(recipient), Control: written(control)}
	x.setIdentity(ic, identity{sender: sender, recipient: recipient, control: control, longestParty: 9, longestControl: 5})
}
