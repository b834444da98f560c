package interchange

import "bytes"

// object takes a package (ISO 9735-8): UNO, which says how many octets the
// object has (S022 0810) and how many segments of security stand before it
// (0814), the object, which may hold anything and enters the canonical form as
// it is, and UNP. A line break behind UNO is an octet of the object, whether the
// length counts it or not.
func (e *edifact) object(seg segment, el *[9][]byte) {
	s := &e.syntax
	length, before := size(s.simple(el[4])), number(s.value(s.part(el[4], 1)))
	e.openMessage(Message{Type: e.addType(e.ic, []byte("UNO")), Control: e.short(s.simple(el[1]))}, el[1])
	e.lead = false
	e.takeUnless(seg, 1)
	for ; before > 0; before-- {
		seg, ok := e.next(s)
		if !ok {
			return
		}
		e.passed(1)
		e.take(seg, 0)
	}
	e.takeOctets(length)
	for miss := range 3 {
		if bytes.HasPrefix(e.need(lookahead)[min(miss, len(e.need(lookahead))):], []byte("UNP")) {
			e.takeOctets(int64(miss))
			break
		}
	}
	e.closeObject(length)
}

func (e *edifact) closeObject(length int64) {
	seg, ok := e.next(&e.syntax)
	if !ok || e.syntax.tag(seg.body) != tagUNP {
		e.message.Faults |= FaultCount
		e.flag(binaryLength)
		e.endMessage() // what follows may be a message
		return
	}
	var el [3][]byte
	e.syntax.split(seg.body, element, el[:])
	e.passed(1)
	e.check(&e.message.Faults, size(e.syntax.simple(el[1])) == length, FaultCount, binaryLength)
	e.check(&e.message.Faults, e.refers(el[2], e.headerRef), FaultControl, messageControl)
	e.trailerRef = append(e.trailerRef, el[2]...)
	e.takeUnless(seg, 2)
	e.finishMessage()
}
