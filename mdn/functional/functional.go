// Package functional composes the functional acknowledgements of EDI
// interchanges: CONTRL for UN/EDIFACT (ISO 9735-4, and UN/EDIFACT D.3 for
// syntax versions 1 to 3), TA1 (X12.5), 997 (X12.20) and 999 (005010X231A1) for
// X12.
//
// It answers for the envelopes alone, as package interchange has judged them:
// references, counts, trailers, nesting. The content of messages is not
// validated, so an acceptance says no more than that, and segments in error
// (UCS, UCD, AK3, IK3) are never reported.
//
// An acknowledgement is never acknowledged, and where an interchange mixes
// acknowledgements with data, those are passed over (ISO 9735-4 §5.3, X12.20).
// Every acknowledgement is an interchange of its own, from the subject's
// recipient to its sender, with a control number that the caller draws; it does
// not ask for an acknowledgement. A test is answered by a test.
//
// There is no clock and no state here: the caller gives the time and the
// numbers, keeps the octets, and sends the same ones again when the subject
// comes again. All functions are safe for concurrent use.
package functional

import (
	"errors"
	"fmt"
	"time"

	"firstcopy/dedup/interchange"
)

// Kind names a kind of acknowledgement.
type Kind string

// The kinds.
const (
	CONTRL                    Kind = "contrl"
	TA1                       Kind = "ta1"
	FunctionalAcknowledgement Kind = "997"
	Implementation            Kind = "999"
)

// Rule says when a kind of acknowledgement is sent.
type Rule string

// The rules. Whether one is requested is in 0031 and in ISA14.
const (
	Never     Rule = ""
	Requested Rule = "requested"
	Always    Rule = "always" // for TA1: when requested, and when it rejects
)

// Terms are what was agreed on with the sender.
type Terms struct {
	CONTRL Rule
	TA1    Rule
	// Groups is FunctionalAcknowledgement or Implementation, sent for every
	// functional group with data, or "" for neither: nothing in an X12
	// interchange asks for them.
	Groups Kind
	// RejectDrift has other content under a known reference answered with a
	// rejection as a duplicate, requested or not: CONTRL 26, TA1 025.
	RejectDrift bool
}

// Outcome is what an acknowledgement tells the sender of the interchange.
type Outcome string

// The outcomes.
const (
	Accepted Outcome = "accepted"
	Received Outcome = "received" // CONTRL 8: no more was asked for
	Partial  Outcome = "partial"  // some groups or messages are rejected
	Rejected Outcome = "rejected"
)

// Options are what the subject does not say.
type Options struct {
	// Numbers are our control numbers, as many as [Numbers] says. The first is
	// the interchange's.
	Numbers []int64
	At      time.Time // in the zone that dates are to be written in
	Drift   bool      // other content under a known reference, to be rejected as a duplicate
}

// An Acknowledgement is a whole interchange, ready to be sent.
type Acknowledgement struct {
	Kind    Kind
	Control string // our control reference: 0020, ISA13
	Outcome Outcome
	Code    string // the error code of the interchange, or the first one below it; "" without
	Octets  []byte
}

// ErrUnanswerable is what Compose's errors wrap: an element that an
// acknowledgement has to copy is missing or invalid, so none can be built and
// the sender has to be told by other means (ISO 9735-4 §5.3.2).
var ErrUnanswerable = errors.New("functional: cannot be acknowledged")

func unanswerable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnanswerable, fmt.Sprintf(format, args...))
}

// Due lists the acknowledgements that an interchange is to get, in the order in
// which they are sent. drift is as in Options, and counts only if the terms
// reject it.
func Due(x *interchange.Interchange, t Terms, drift bool) []Kind {
	drift = drift && t.RejectDrift
	switch {
	case x.Acknowledges:
		return nil
	case isEDIFACT(x):
		if t.CONTRL == Always || t.CONTRL == Requested && x.AckRequested || t.CONTRL != Never && drift {
			return []Kind{CONTRL}
		}
	case isX12(x):
		var due []Kind
		rejects := drift || x.Faults != 0
		if t.TA1 != Never && (x.AckRequested || t.TA1 == Always && rejects || drift) {
			due = append(due, TA1)
		}
		if t.Groups != "" && !drift && (len(due) == 0 || !rejects) && len(dataGroups(x)) > 0 {
			due = append(due, t.Groups)
		}
		return due
	}
	return nil
}

// Numbers is how many control numbers an acknowledgement takes: one for the
// interchange, and of 997 and 999 one more for every functional group beyond the
// first, since the parties of groups may differ.
func Numbers(x *interchange.Interchange, kind Kind) int {
	if kind == FunctionalAcknowledgement || kind == Implementation {
		return max(1, len(byParties(x)))
	}
	return 1
}

// MaxNumber is the largest control number that an acknowledgement of a kind can
// bear: 0020 has 14 characters, ISA13 nine digits (GS06, too).
func MaxNumber(kind Kind) int64 {
	if kind == CONTRL {
		return 99_999_999_999_999
	}
	return 999_999_999
}

// Parties are those of the acknowledgement, qualifiers included: whom it comes
// from and whom it goes to. Control numbers have to be unique for the two.
func Parties(x *interchange.Interchange) (from, to string) {
	w := &x.AsWritten
	return party(w.Recipient, w.RecipientQualifier), party(w.Sender, w.SenderQualifier)
}

// Compose makes an acknowledgement of a kind that is due. The error wraps
// ErrUnanswerable.
func Compose(x *interchange.Interchange, kind Kind, o Options) (Acknowledgement, error) {
	if need := Numbers(x, kind); len(o.Numbers) < need {
		return Acknowledgement{}, fmt.Errorf("functional: %d control numbers for %s, which needs %d", len(o.Numbers), kind, need)
	}
	for _, n := range o.Numbers {
		if n < 1 || n > MaxNumber(kind) {
			return Acknowledgement{}, fmt.Errorf("functional: control number %d for %s", n, kind)
		}
	}
	switch {
	case kind == CONTRL && isEDIFACT(x):
		return composeCONTRL(x, o)
	case kind == TA1 && isX12(x):
		return composeTA1(x, o)
	case (kind == FunctionalAcknowledgement || kind == Implementation) && isX12(x):
		return composeGroups(x, kind, o)
	}
	return Acknowledgement{}, unanswerable("no %s for such an interchange", kind)
}
