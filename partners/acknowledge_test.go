package partners_test

import (
	"testing"

	"firstcopy/mdn/functional"
	"firstcopy/partners"
)

func TestAcknowledgeTerms(t *testing.T) {
	t.Parallel()
	x12 := func(kinds ...partners.AcknowledgeX12) partners.Acknowledge { return partners.Acknowledge{X12: kinds} }
	for name, tc := range map[string]struct {
		agreed  partners.Acknowledge
		want    functional.Terms
		summary string
	}{
		"nothing agreed": {partners.Acknowledge{}, functional.Terms{CONTRL: "requested", TA1: "requested"}, "CONTRL when requested, TA1 when requested"},
		"always":         {partners.Acknowledge{EDIFACT: "contrl"}, functional.Terms{CONTRL: "always", TA1: "requested"}, "CONTRL, TA1 when requested"},
		"TA1 and 997":    {x12("ta1", "997"), functional.Terms{CONTRL: "requested", TA1: "always", Groups: "997"}, "CONTRL when requested, TA1, 997"},
		"only 999":       {x12("999"), functional.Terms{CONTRL: "requested", Groups: "999"}, "CONTRL when requested, 999"},
		"none": {partners.Acknowledge{EDIFACT: "none", X12: []partners.AcknowledgeX12{"none"}, OnDrift: "reject"},
			functional.Terms{RejectDrift: true}, "never"},
		"drift": {partners.Acknowledge{OnDrift: "reject"}, functional.Terms{CONTRL: "requested", TA1: "requested", RejectDrift: true},
			"CONTRL when requested, TA1 when requested, rejecting drift"},
	} {
		if got := tc.agreed.Terms(); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
		if got := tc.agreed.Summary(); got != tc.summary {
			t.Errorf("%s: %q, want %q", name, got, tc.summary)
		}
	}
}
