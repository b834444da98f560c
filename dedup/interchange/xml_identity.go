package interchange

import (
	"encoding/hex"
	"slices"
	"strings"
)

// Bounds on the identity of a document: URIs are long.
const (
	maxDocumentIdentity = 255 // octets of one element
	maxControls         = 512 // octets of references that are listed
)

// setDocumentIdentity puts the identity into the reference, or makes the
// interchange one of Standard Content if it lacks a sender or a reference. The
// kinds of the parties are kept as written.
func (m *markup) setDocumentIdentity(id identity, senderKind, recipientKind []byte) {
	m.setIdentified(id, true)
	m.ic.AsWritten.SenderQualifier, m.ic.AsWritten.RecipientQualifier = Text(senderKind), Text(recipientKind)
}

// setIdentified is the same where the kinds are part of the identity. Where
// references are unique without a scope, the sender is not needed.
func (m *markup) setIdentified(id identity, scoped bool) {
	ic := m.ic
	m.setParties(id)
	switch {
	case len(id.control) > maxDocumentIdentity:
		m.flag(identityTooLong)
		ic.Standard = Content
	case len(id.control) == 0:
		m.flag(noControl)
		ic.Standard = Content
	}
	if scoped && len(id.recipient) == 0 {
		m.flag(noRecipient)
	}
	if scoped && len(id.sender) == 0 {
		m.flag(noSender)
		ic.Standard = Content
	}
	ic.Control = Text(id.control)
	if ic.AsWritten.Control == "" {
		ic.AsWritten.Control = ic.Control
	}
}

// setParties puts the parties into the reference.
func (m *markup) setParties(id identity) {
	ic := m.ic
	for _, octets := range [...][]byte{id.sender, id.senderQualifier, id.recipient, id.recipientQualifier} {
		if len(octets) > maxDocumentIdentity {
			m.flag(identityTooLong)
			ic.Standard = Content
		}
	}
	ic.Sender, ic.SenderQualifier = Text(id.sender), Text(id.senderQualifier)
	ic.Recipient, ic.RecipientQualifier = Text(id.recipient), Text(id.recipientQualifier)
	ic.AsWritten.Sender, ic.AsWritten.SenderQualifier = ic.Sender, ic.SenderQualifier
	ic.AsWritten.Recipient, ic.AsWritten.RecipientQualifier = ic.Recipient, ic.RecipientQualifier
}

// setControls makes one control reference of several: the sorted list, with
// blanks between, if it can be read, else a digest of the set.
func (m *markup) setControls(keys []string, more bool, set *hashSet) {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	list := strings.Join(keys, " ")
	if !more && len(list) <= maxControls && strings.Count(list, " ") == len(keys)-1 {
		m.ic.Control = list
	} else {
		sum := set.settle()
		m.ic.Control = "sha256:" + hex.EncodeToString(sum[:])
	}
	m.ic.AsWritten.Control = m.ic.Control
}

// predecessors lists the documents that a message says it is about.
func (m *markup) predecessors(msg *Message, r *record, f field) {
	for b := range r.all(f) {
		if t := brief(b); t != "" && !slices.Contains(msg.Predecessors, t) && m.room() {
			msg.Predecessors = append(msg.Predecessors, t)
		}
	}
	if r.cut {
		m.flag(listsCut)
	}
}

// brief makes text of a number, date or word of a document; "" if it is too long
// to be one.
func brief(octets []byte) string {
	if len(octets) > maxDocumentIdentity {
		return ""
	}
	return Text(octets)
}

// addMessage lists a message.
func (m *markup) addMessage(msg Message) {
	m.addType(m.ic, []byte(msg.Type))
	if m.room() {
		m.ic.Messages = append(m.ic.Messages, msg)
	}
}
