package interchange

import (
	"bytes"
	"slices"
)

// Bounds on what is kept of groups and messages.
const (
	maxNumber       = 80 // octets of a number, date or reference in a document
	maxPredecessors = 16 // of one message; each counts as one of MaxMessages
)

// An envelope keeps account of the groups and messages of an interchange of
// segments: what they say, what is wrong with them, and which canonical form a
// segment belongs to. Groups do not nest, nor do messages.
type envelope struct {
	*scanner
	ic     *Interchange
	syntax syntax

	optional bool // messages need no reference, trailers no count

	inGroup, inMessage    bool
	group                 Group
	message               Message
	headerRef, trailerRef []byte // the references of the open message, as elements
	groupRef              []byte // that of the open group

	groups, messages         int // how many there were
	loose                    int // messages outside of groups
	groupNames, messageNames names
}

// setAside passes over a header segment, which enters the canonical form last,
// and returns it.
func (e *envelope) setAside() []byte {
	seg, ok := e.next(&e.syntax)
	if !ok {
		return nil
	}
	if seg.long || len(seg.body) > headLimit {
		e.flag(headerTooLong)
		e.ic.Standard = Content
	}
	header := bytes.Clone(seg.body[:min(len(seg.body), headLimit)])
	if seg.long {
		e.take(seg, 0)
	} else {
		e.advance(seg.width)
	}
	return header
}

// passed counts segments of the open message.
func (e *envelope) passed(segments int) {
	if e.inMessage {
		e.message.Segments += segments
	}
}

// openGroup begins a group; name is what makes it unique in the interchange.
func (e *envelope) openGroup(g Group, ref, name []byte) {
	e.endGroup()
	e.groups++
	e.inGroup, e.group = true, g
	e.group.Declared = -1
	e.groupRef = append(e.groupRef[:0], ref...)
	e.messageNames = names{}
	if g.Control == "" {
		e.group.Faults |= FaultMissing
	}
	if !e.groupNames.add(name) {
		e.group.Faults |= FaultDuplicate
	}
}

// closeGroup checks a group's trailer, which has a count, and a reference that
// is the header's or not.
func (e *envelope) closeGroup(count []byte, sameRef bool) {
	e.endMessage()
	if !e.inGroup {
		e.flag(strayGroupTrailer)
		return
	}
	e.group.Declared = number(count)
	e.check(&e.group.Faults, e.counted(count, int64(e.group.Messages)), FaultCount, groupCount)
	e.check(&e.group.Faults, sameRef, FaultControl, groupControl)
	e.finishGroup()
}

// endGroup ends a group that has no trailer.
func (e *envelope) endGroup() {
	e.endMessage()
	if e.inGroup {
		e.check(&e.group.Faults, false, FaultTrailer, noGroupTrailer)
		e.finishGroup()
	}
}

func (e *envelope) finishGroup() {
	if e.group.Messages == 0 {
		e.group.Faults |= FaultEmpty
	}
	if e.room() {
		e.ic.Groups = append(e.ic.Groups, e.group)
	}
	e.inGroup = false
}

// openMessage begins a message. ref is the element that holds its reference.
func (e *envelope) openMessage(m Message, ref []byte) {
	e.endMessage()
	m.Group, m.Declared, m.Segments = -1, -1, 1
	if e.inGroup {
		m.Group = len(e.ic.Groups) // where the group will be listed
		e.group.Messages++
	} else {
		e.loose++
	}
	e.messages++
	if m.Control == "" && !e.optional {
		m.Faults |= FaultMissing
	}
	if !e.messageNames.add(e.syntax.simple(ref)) {
		m.Faults |= FaultDuplicate
	}
	e.inMessage, e.message = true, m
	e.headerRef, e.trailerRef = append(e.headerRef[:0], ref...), e.trailerRef[:0]
	e.openPart()
}

// closeMessage checks a message's trailer, which is taken before finishMessage
// is called.
func (e *envelope) closeMessage(count, ref []byte) {
	e.message.Declared = number(count)
	e.check(&e.message.Faults, e.counted(count, int64(e.message.Segments)), FaultCount, messageCount)
	e.check(&e.message.Faults, e.refers(ref, e.headerRef), FaultControl, messageControl)
	e.trailerRef = append(e.trailerRef, ref...)
}

// endMessage ends a message that has no trailer.
func (e *envelope) endMessage() {
	if e.inMessage {
		e.check(&e.message.Faults, false, FaultTrailer, noMessageTrailer)
		e.finishMessage()
	}
}

// finishMessage puts the message's digest into the interchange's canonical form,
// beside its references.
func (e *envelope) finishMessage() {
	e.message.Digest = e.closePart(e.headerRef, e.trailerRef)
	e.message.Effect = EffectOf(e.ic.Standard, e.message.Function)
	if e.room() {
		e.ic.Messages = append(e.ic.Messages, e.message)
	}
	e.inMessage = false
}

// takeUnless takes a segment without the element that holds its reference.
func (e *envelope) takeUnless(seg segment, reference uint) {
	if seg.long { // the element may go on beyond what was looked at
		e.take(seg, 0)
		return
	}
	e.take(seg, 1<<reference)
}

// finishInterchange ends what the trailer did not, and judges the whole.
func (e *envelope) finishInterchange() {
	e.endGroup()
	e.check(&e.ic.Faults, e.ic.Complete, FaultTrailer, noTrailer)
	if e.groups > 0 && e.loose > 0 {
		e.check(&e.ic.Faults, false, FaultMixed, mixedGroups)
	}
	if e.groups+e.loose == 0 {
		e.ic.Faults |= FaultEmpty
	}
}

// counted tells whether a trailer counted right.
func (e *envelope) counted(count []byte, n int64) bool {
	return size(count) == n || e.optional && len(count) == 0
}

// refers tells whether the element of a trailer is the reference in the header.
func (e *envelope) refers(trailer, header []byte) bool {
	ref := bytes.Trim(e.syntax.simple(trailer), " ")
	return bytes.Equal(ref, bytes.Trim(e.syntax.simple(header), " ")) || e.optional && len(ref) == 0
}

// check records a fault, where there is one, in both of its forms.
func (e *envelope) check(faults *Faults, right bool, fault Faults, odd irregularity) {
	if !right {
		*faults |= fault
		e.flag(odd)
	}
}

// addPredecessor takes up a number that the open message refers to as what it
// replaces, changes or cancels.
func (e *envelope) addPredecessor(number string) {
	p := &e.message.Predecessors
	if number != "" && len(*p) < maxPredecessors && !slices.Contains(*p, number) && e.room() {
		*p = append(*p, number)
	}
}

// separators tells the service characters.
func (e *envelope) separators() Separators {
	s := &e.syntax
	return Separators{Component: s.component.octet(), Element: s.element.octet(), Repetition: s.repetition.octet(),
		Release: s.release.octet(), Terminator: s.terminator.octet()}
}

// short makes text of a number, date or reference of a document; "" if it is too
// long to be one.
func (e *envelope) short(octets []byte) string {
	if len(octets) > maxNumber {
		return ""
	}
	return Text(octets)
}

// names tells whether references are unique. Most levels hold one message, for
// which no map is made.
type names struct {
	first string
	more  map[string]struct{}
	some  bool
}

// add reports whether a name is new; of names that are missing, and beyond a
// bound, it always says so.
func (n *names) add(name []byte) bool {
	switch {
	case len(name) == 0 || len(name) > maxNumber:
		return true
	case !n.some:
		n.first, n.some = string(name), true
		return true
	case n.first == string(name):
		return false
	case n.more == nil:
		n.more = make(map[string]struct{})
	}
	if _, known := n.more[string(name)]; known {
		return false
	}
	if len(n.more) < MaxMessages {
		n.more[string(name)] = struct{}{}
	}
	return true
}
