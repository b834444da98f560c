package interchange

// dateDigits is the length of the date in a time of HL7, which goes on with the
// time of day.
const dateDigits = 8

// identify fills in the interchange from its header: the application and the
// facility on either side, MSH-10 of a message, and FHS-11 or BHS-11 of a file
// or batch.
func (x *hl7) identify() {
	ic, s := x.ic, &x.syntax
	var el [16][]byte
	s.split(x.header, element, el[:])
	control := el[9]
	if x.kind != tagMSH {
		s.header(x.form, x.header, hl7Envelope)
		control = el[10]
	} else {
		x.processing(string(s.simple(el[10])), string(s.simple(el[14])), string(s.simple(el[15])))
	}
	ic.Content = x.form.sum()

	ic.Header, ic.Separators = x.header, x.separators()
	if stamp := s.simple(el[6]); len(stamp) > 0 {
		ic.Date, ic.Time = written(stamp[:min(len(stamp), dateDigits)]), written(stamp[min(len(stamp), dateDigits):])
	}
	ic.AsWritten = Written{Sender: written(el[2]), SenderQualifier: written(el[3]), Recipient: written(el[4]),
		RecipientQualifier: written(el[5]), Control: written(control)}
	id := identity{control: s.simple(control), longestParty: maxIdentity, longestControl: maxIdentity}
	id.sender, id.senderQualifier = x.party(el[2], el[3])
	id.recipient, id.recipientQualifier = x.party(el[4], el[5])
	x.setIdentity(ic, id)
	ic.Acknowledges = x.acks > 0 && x.acks == x.messages
}

// party gives application and facility; a facility alone is marked as one.
func (x *hl7) party(application, facility []byte) (party, qualifier []byte) {
	a, f := x.syntax.value(application), x.syntax.value(facility)
	if len(a) > 0 || len(f) == 0 {
		return a, f
	}
	return append([]byte{'|'}, f...), nil
}

// processing reads MSH-11, and MSH-15 and MSH-16: a message that has neither of
// these is answered by an application (original mode), one that has is answered
// as they say (enhanced mode).
func (x *hl7) processing(id, accept, application string) {
	x.ic.Test = id == "T" || id == "D"
	wanted := map[string]bool{"AL": true, "SU": true, "ER": true}
	original := accept == "" && application == ""
	x.ic.AckRequested = original || wanted[accept] || wanted[application]
	x.ic.ReceiptOnly = wanted[accept] && !wanted[application]
}
