package interchange

import "bytes"

// controlDigits is the length of ISA13.
const controlDigits = 9

// identify fills in the interchange from ISA.
func (x *x12) identify() {
	ic, el := x.ic, &x.isa.el
	if !x.isa.fixed {
		x.flag(oddHeaderLayout)
	}
	if x.isa.blank {
		x.flag(blankBeforeTerminator)
	}
	if len(x.syntax.tail) > 0 {
		x.flag(wideTerminator)
	}
	ic.Version = written(isaValue(el[12]))
	ic.Date, ic.Time = written(isaValue(el[9])), written(isaValue(el[10]))
	ic.AsWritten = Written{
		Sender: written(el[6]), SenderQualifier: written(el[5]),
		Recipient: written(el[8]), RecipientQualifier: written(el[7]),
		Control: written(el[13]),
	}
	control := isaValue(el[13])
	if !digits(control) {
		x.check(&ic.Faults, false, FaultInvalid, controlNotNumeric)
		ic.Standard = Content
	}
	x.setIdentity(ic, identity{
		sender: isaValue(el[6]), senderQualifier: isaValue(el[5]),
		recipient: isaValue(el[8]), recipientQualifier: isaValue(el[7]),
		control: padControl(control), longestParty: 15, longestControl: controlDigits,
	})
	ic.Separators = x.separators()
	x.indicators(isaValue(el[14]), isaValue(el[15]))
	ic.Acknowledges = x.acks == x.messages && (x.acks > 0 || x.ta1)
	if x.ta1 && x.groups+x.messages == 0 {
		x.addType(ic, []byte("TA1"))
		ic.Faults &^= FaultEmpty
	}
}

// indicators reads ISA14 and ISA15.
func (x *x12) indicators(ack, usage []byte) {
	x.ic.AckRequested = string(ack) == "1"
	switch string(usage) {
	case "T":
		x.ic.Test = true
	case "P", "I":
	default:
		x.check(&x.ic.Faults, false, FaultInvalid, badTestIndicator)
	}
}

// padControl gives a control number one spelling, since it is compared as a
// number: nine digits, or more if there are that many.
func padControl(n []byte) []byte {
	if len(n) == 0 {
		return nil
	}
	n = bytes.TrimLeft(n, "0")
	if len(n) >= controlDigits {
		return n
	}
	padded := bytes.Repeat([]byte{'0'}, controlDigits)
	copy(padded[controlDigits-len(n):], n)
	return padded
}

// canonicalHeader adds ISA to the canonical form, without padding, and without
// ISA09 to ISA11 and ISA16: date, time, and separators.
func (x *x12) canonicalHeader() {
	c := x.form
	c.segment(1<<9 | 1<<10 | 1<<11)
	for i, el := range x.isa.el[:16] {
		if i > 0 {
			c.separator(element)
		}
		v := isaValue(el)
		if i == 13 {
			v = padControl(v)
		}
		for _, char := range v {
			c.data(char)
		}
	}
	c.end()
	x.ic.Content = c.sum()
}
