package main

import (
	"fmt"
	"io"
	"strings"

	"firstcopy/gateway/forward"
)

// acknowledgementOutput is a functional acknowledgement with its transmissions.
type acknowledgementOutput struct{ forward.Acknowledgement }

func acknowledgementsOf(all []forward.Acknowledgement) []acknowledgementOutput {
	var out []acknowledgementOutput
	for _, a := range all {
		a.CreatedAt = a.CreatedAt.UTC()
		for i := range a.Transmissions {
			t := &a.Transmissions[i]
			t.CreatedAt = t.CreatedAt.UTC()
			if !t.SentAt.IsZero() {
				t.SentAt = t.SentAt.UTC()
			}
		}
		out = append(out, acknowledgementOutput{a})
	}
	return out
}

func (d *deliveryOutput) writeAcknowledgements(w io.Writer) error {
	for i := range d.Acknowledgements {
		a := &d.Acknowledgements[i]
		fmt.Fprintf(w, "\nAcknowledgement %s %s\n", strings.ToUpper(string(a.Kind)), printable(a.Control))
		t := newTable(w)
		t.pair("outcome", a.outcome())
		t.pair("of document", a.Document)
		t.pair("stored", when(a.CreatedAt))
		if a.Delivery != d.ID {
			t.pair("", "for delivery "+a.Delivery.String()+", of which this one is a copy")
		}
		t.pair("sent", a.sent())
		for j := range a.Transmissions {
			t.pair("", transmissionLine(&a.Transmissions[j]))
		}
		if err := t.flush(); err != nil {
			return err
		}
	}
	return nil
}

func (a *acknowledgementOutput) outcome() string {
	switch {
	case a.Problem != "":
		return a.Outcome + ": " + a.Problem
	case a.Code != "":
		return a.Outcome + ", code " + a.Code
	}
	return a.Outcome
}

func (a *acknowledgementOutput) sent() string {
	switch {
	case a.Octets == nil:
		return "never: the partner has to be told by other means"
	case len(a.Transmissions) == 0:
		return "never: the agreement has no address for it"
	}
	return count(len(a.Transmissions), "time", "times")
}

func transmissionLine(t *forward.Transmission) string {
	switch t.State {
	case forward.TransmissionSent:
		s := fmt.Sprintf("%s to %s", when(t.SentAt), t.SentTo)
		if t.MessageID != "" {
			s += ", as message " + t.MessageID
		}
		return s
	case forward.TransmissionStuck:
		return fmt.Sprintf("stuck after %s: %s", count(t.Attempts, "attempt", "attempts"), t.LastError)
	}
	if t.LastError != "" {
		return fmt.Sprintf("pending after %s: %s", count(t.Attempts, "attempt", "attempts"), t.LastError)
	}
	return "pending"
}

// writeAcknowledgement writes the octets of the acknowledgements, one after the
// other, or of the one of a kind.
func (d *deliveryOutput) writeAcknowledgement(w io.Writer, kind string) error {
	written := false
	for i := range d.Acknowledgements {
		if a := &d.Acknowledgements[i]; a.Octets != nil && (kind == "" || strings.EqualFold(kind, string(a.Kind))) {
			if _, err := w.Write(a.Octets); err != nil {
				return err
			}
			written = true
		}
	}
	if !written {
		return withHint(fmt.Errorf("delivery %s has no such acknowledgement", d.ID), "firstcopy delivery show %s names those that there are", d.ID)
	}
	return nil
}
