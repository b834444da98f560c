package functional

import "firstcopy/dedup/interchange"

// Notes, I18 (X12.5 appendix A).
const (
	noteNone      = "000"
	noteControl   = "001" // of header and trailer do not match
	noteDate      = "014"
	noteTime      = "015"
	noteRequest   = "019"
	noteTest      = "020"
	noteGroups    = "021" // number of included groups
	noteStructure = "022" // invalid control structure
	noteEnd       = "023" // premature end
	noteDuplicate = "025"
)

// composeTA1 writes an interchange with a TA1 and nothing else.
func composeTA1(x *interchange.Interchange, o Options) (Acknowledgement, error) {
	h, err := parseISA(x)
	if err != nil {
		return Acknowledgement{}, err
	}
	if len(h.date) != 6 || !fits(h.date, 6) || len(h.time) != 4 || !fits(h.time, 4) {
		return Acknowledgement{}, unanswerable("no date and time (ISA09, ISA10) to be copied")
	}
	w, err := separatorsFor([]string{h.senderQualifier, h.sender, h.recipientQualifier, h.recipient, h.date, h.time}, x.Separators)
	if err != nil {
		return Acknowledgement{}, err
	}
	a := Acknowledgement{Kind: TA1, Control: control(o), Outcome: Accepted}
	code := "A"
	note := h.note(x, o.Drift)
	if note != noteNone {
		code, a.Outcome, a.Code = "R", Rejected, note
	}
	w.open(&h, o)
	w.add("TA1", h.control, h.date, h.time, code, note)
	w.close(0, o)
	a.Octets = w.b.Bytes()
	return a, nil
}

// note is the first error of ISA and IEA; a TA1 tells one. Groups answer for
// themselves.
func (h *isa) note(x *interchange.Interchange, drift bool) string {
	switch f := x.Faults; {
	case drift || f.Has(interchange.FaultDuplicate):
		return noteDuplicate
	case f.Has(interchange.FaultTrailer):
		return noteEnd
	case f.Has(interchange.FaultControl):
		return noteControl
	case f.Has(interchange.FaultInvalid), f.Has(interchange.FaultMissing):
		return h.elementNote()
	case f.Has(interchange.FaultCount):
		return noteGroups
	case f != 0:
		return noteStructure
	}
	return noteNone
}

// elementNote looks which element of ISA is not as it should be.
func (h *isa) elementNote() string {
	switch {
	case !digits(h.date):
		return noteDate
	case !digits(h.time):
		return noteTime
	case h.acknowledge != "0" && h.acknowledge != "1":
		return noteRequest
	case h.usage != "P" && h.usage != "T" && h.usage != "I":
		return noteTest
	}
	return noteStructure
}
