package partners

import (
	"errors"
	"slices"
	"strings"

	"firstcopy/mdn/functional"
)

// Acknowledge says which functional acknowledgements a partner's interchanges
// get. The zero value answers those that ask for it: by CONTRL where UNB says so
// (0031), by TA1 where ISA does (ISA14).
type Acknowledge struct {
	EDIFACT AcknowledgeEDIFACT // "" is AcknowledgeRequested
	X12     []AcknowledgeX12   // none is X12Requested
	OnDrift DriftAnswer        // "" is AnswerAccept
}

// AcknowledgeEDIFACT says when CONTRL is sent.
type AcknowledgeEDIFACT string

// When CONTRL is sent.
const (
	AcknowledgeRequested AcknowledgeEDIFACT = "requested"
	AcknowledgeContrl    AcknowledgeEDIFACT = "contrl" // always
	AcknowledgeNone      AcknowledgeEDIFACT = "none"
)

// AcknowledgeX12 is a kind of acknowledgement, or when to send TA1.
type AcknowledgeX12 string

// What is sent for X12.
const (
	X12Requested AcknowledgeX12 = "requested" // TA1, where ISA14 is 1
	X12TA1       AcknowledgeX12 = "ta1"       // that, and where the envelope is rejected
	X12997       AcknowledgeX12 = "997"       // for every functional group
	X12999       AcknowledgeX12 = "999"       // instead of 997
	X12None      AcknowledgeX12 = "none"
)

// DriftAnswer is what an acknowledgement says of new content under a known
// reference.
type DriftAnswer string

// The answers.
const (
	AnswerAccept DriftAnswer = "accept"
	AnswerReject DriftAnswer = "reject" // a duplicate: CONTRL 26, TA1 025
)

// Terms are the agreement in the words of package functional.
func (a *Acknowledge) Terms() functional.Terms {
	t := functional.Terms{CONTRL: functional.Requested, TA1: functional.Never, RejectDrift: a.OnDrift == AnswerReject}
	switch a.EDIFACT {
	case AcknowledgeContrl:
		t.CONTRL = functional.Always
	case AcknowledgeNone:
		t.CONTRL = functional.Never
	}
	if len(a.X12) == 0 {
		t.TA1 = functional.Requested
	}
	for _, kind := range a.X12 {
		switch kind {
		case X12Requested:
			t.TA1 = functional.Requested
		case X12TA1:
			t.TA1 = functional.Always
		case X12997:
			t.Groups = functional.FunctionalAcknowledgement
		case X12999:
			t.Groups = functional.Implementation
		}
	}
	return t
}

// check holds the words against their lists, against each other, and against
// what becomes of drift.
func (a *Acknowledge) check(drift Drift, report func(key string, err error)) {
	if a.EDIFACT != "" {
		report("edifact", oneOf(a.EDIFACT, AcknowledgeRequested, AcknowledgeContrl, AcknowledgeNone))
	}
	for _, kind := range a.X12 {
		report("x12", oneOf(kind, X12Requested, X12TA1, X12997, X12999, X12None))
	}
	has := func(kind AcknowledgeX12) bool { return slices.Contains(a.X12, kind) }
	switch {
	case has(X12None) && len(a.X12) > 1:
		report("x12", errors.New("none goes with nothing else"))
	case has(X12997) && has(X12999):
		report("x12", errors.New("997 or 999, not both"))
	case has(X12Requested) && has(X12TA1):
		report("x12", errors.New("requested is part of ta1"))
	case a.OnDrift == AnswerReject && drift == DriftForward:
		report("on_drift", errors.New("drift that is forwarded cannot be rejected"))
	case a.OnDrift == AnswerReject && len(a.X12) > 0 && !has(X12None) && a.Terms().TA1 == functional.Never:
		report("on_drift", errors.New("only a TA1 can reject a duplicate of X12: x12 needs ta1 or requested"))
	}
	if a.OnDrift != "" {
		report("on_drift", oneOf(a.OnDrift, AnswerAccept, AnswerReject))
	}
}

// agreed tells whether the file itself asks for acknowledgements, beside the default.
func (y *acknowledgeYAML) agreed() bool {
	return y.EDIFACT != "" && y.EDIFACT != AcknowledgeNone || y.OnDrift == AnswerReject ||
		slices.ContainsFunc(y.X12, func(kind AcknowledgeX12) bool { return kind != X12None })
}

// Summary is the agreement in one line, for people.
func (a *Acknowledge) Summary() string {
	t := a.Terms()
	var parts []string
	add := func(rule functional.Rule, kind string) {
		switch rule {
		case functional.Requested:
			parts = append(parts, kind+" when requested")
		case functional.Always:
			parts = append(parts, kind)
		}
	}
	add(t.CONTRL, "CONTRL")
	add(t.TA1, "TA1")
	if t.Groups != "" {
		parts = append(parts, string(t.Groups))
	}
	if len(parts) == 0 {
		return "never"
	}
	if t.RejectDrift {
		parts = append(parts, "rejecting drift")
	}
	return strings.Join(parts, ", ")
}
