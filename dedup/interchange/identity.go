package interchange

// An identity is what a header says of the parties and the control reference,
// cleaned of what the syntax adds.
type identity struct {
	sender, senderQualifier       []byte
	recipient, recipientQualifier []byte
	control                       []byte
	// what the standard allows
	longestParty, longestControl int
}

// setIdentity puts the identity into the reference, or makes the interchange
// one of Standard Content if it is not complete. No element may be so long that
// it could not be part of a key.
func (s *scanner) setIdentity(ic *Interchange, id identity) {
	for _, e := range [...]struct {
		octets  []byte
		longest int
		missing irregularity
	}{
		{id.sender, id.longestParty, noSender},
		{id.recipient, id.longestParty, noRecipient},
		{id.control, id.longestControl, noControl},
	} {
		switch {
		case blanks(e.octets) == len(e.octets):
			s.flag(e.missing)
			ic.Standard = Content
			ic.Faults |= FaultMissing
		case len(e.octets) > maxIdentity:
			s.flag(identityTooLong)
			ic.Standard = Content
			ic.Faults |= FaultInvalid
		case len(e.octets) > e.longest:
			s.flag(identityLong)
			ic.Faults |= FaultInvalid
		}
	}
	ic.Sender, ic.SenderQualifier = Text(id.sender), Text(id.senderQualifier)
	ic.Recipient, ic.RecipientQualifier = Text(id.recipient), Text(id.recipientQualifier)
	ic.Control = Text(id.control)
}

// written makes text of a part of the header as the sender wrote it.
func written(octets []byte) string { return Text(octets[:min(len(octets), maxWritten)]) }
