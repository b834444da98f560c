package main

import (
	"slices"
	"strings"
	"testing"
)

// What interchanges are answered with is to be seen wherever it goes: nowhere, by an agreement without an address, or into
// the void.
func TestDeliveryAcknowledgement(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply(t, s.agreement("acme", "    acknowledge: {edifact: contrl}\n"),
		"  - {name: globex, as2: {id: GLOBEX, station: HUB, url: \"http://127.0.0.1:9/as2\", allow_private: true, certificates: [{file: acme.crt}]}, "+
			"acknowledge: {edifact: contrl}, sink: \"dir:"+s.dir+"\"}\n")
	h := s.history(t)
	first := h.receive("ACME", "<1@acme>", invoice("R1", "100.00")).Delivery.String()
	duplicate := h.receive("ACME", "<2@acme>", invoice("R1", "100.00")).Delivery.String()
	broken := h.receive("ACME", "<3@acme>", strings.Replace(invoice("R2", "1"), "UNZ+1", "UNZ+2", 1)).Delivery.String()
	nobody := h.receive("ACME", "<4@acme>", strings.Replace(invoice("R3", "1"), "+4012345000009:14+", "+4012345000009:14141+", 1)).Delivery.String()
	stuck := h.receive("GLOBEX", "<5@globex>", invoice("R4", "1")).Delivery.String()
	if got := h.forward(5); !slices.Contains(got, "acknowledgement stuck") {
		t.Fatalf("forwarding: %v", got)
	}
	show := func(args ...string) string {
		return squeeze(s.run(t, append([]string{"delivery", "show"}, args...)...).must(t))
	}
	contains(t, show(first), "\nAcknowledgement CONTRL 1\n", "outcome accepted\n", "sent never: the agreement has no address for it\n")
	contains(t, show(duplicate), "\nAcknowledgement CONTRL 1\n", "for delivery "+first+", of which this one is a copy\n")
	contains(t, show(broken), "outcome rejected, code 29\n")
	contains(t, show(nobody), "outcome impossible: ", "S002", "sent never: the partner has to be told by other means\n")
	contains(t, show(stuck), "sent 1 time\n", "stuck after 1 attempt: ")
	none := s.run(t, "delivery", "acknowledge", first)
	if none.code != exitFailed {
		t.Errorf("exit code %d", none.code)
	}
	contains(t, none.err, "the agreement with acme has no address for acknowledgements by as2",
		"hint: add as2.url to the agreement, apply, and repeat")
	contains(t, s.run(t, "delivery", "acknowledge", stuck, "--reason", "they are back", "--as", "pat").must(t), "delivery "+stuck+": 1 acknowledgement on the way\n")
	nothing := func(delivery, why string) {
		t.Helper()
		r := s.run(t, "delivery", "acknowledge", delivery)
		if r.code != exitFailed {
			t.Errorf("exit code %d", r.code)
		}
		contains(t, r.err, why)
	}
	nothing(stuck, "the acknowledgement of delivery "+stuck+" is pending already")
	again := h.receive("GLOBEX", "<6@globex>", invoice("R4", "1")).Delivery.String()
	contains(t, show(again), "\nAcknowledgement CONTRL 4\n", "pending\n")
	nothing(again, "the acknowledgement of delivery "+again+" is pending already")
	nothing(h.receive("GLOBEX", "<7@globex>", strings.Replace(invoice("R5", "1"), "+4012345000009:14+", "+4012345000009:14141+", 1)).Delivery.String(),
		"could not be composed: ")
	nothing(h.receive("GLOBEX", "<8@globex>", "no interchange").Delivery.String(), "has no acknowledgement")
	contains(t, show(stuck), "sent 2 times\n", "pending\n")
	octets := s.run(t, "delivery", "show", first, "--acknowledgement").must(t)
	if !strings.Contains(octets, "'UCI+R1+4012345000009:14+4098765000002:14+7'UNT+3+1'UNZ+1+1'") {
		t.Errorf("octets %q", octets)
	}
	for _, args := range [][]string{{first, "--kind", "CONTRL"}, {duplicate}} {
		if same := s.run(t, append([]string{"delivery", "show", "--acknowledgement"}, args...)...).must(t); same != octets {
			t.Errorf("%v: %q", args, same)
		}
	}
	none = s.run(t, "delivery", "show", nobody, "--acknowledgement")
	if none.code != exitFailed {
		t.Errorf("exit code %d", none.code)
	}
	contains(t, none.err, "has no such acknowledgement")
	out := decode[map[string]any](t, s.run(t, "delivery", "show", first, "--json").must(t))
	if list, _ := out["acknowledgements"].([]any); len(list) != 1 || list[0].(map[string]any)["control_reference"] != "1" {
		t.Errorf("got %v", out)
	}
	account := squeeze(s.run(t, "ledger", "show", "R1").must(t))
	contains(t, account, "acknowledged", "CONTRL 1: accepted, for delivery "+first, "CONTRL 1: accepted, for delivery "+duplicate)
	contains(t, squeeze(s.run(t, "ledger", "show", "R4").must(t)), "acknowledgement stuck", "CONTRL 4\nthe last attempt failed: ",
		"acknowledgement resent CONTRL 4\nsent again by pat: they are back")
	contains(t, squeeze(s.run(t, "partner", "show", "acme").must(t)), "acknowledgements go to nowhere for what comes by AS2: as2.url is not agreed\n")
	contains(t, squeeze(s.run(t, "partner", "show", "globex").must(t)), "acknowledged by CONTRL, TA1 when requested\nacknowledgements go to http://127.0.0.1:9/as2\n", "our messages go to http://127.0.0.1:9/as2\n")
}
