package partners_test

import (
	"strings"
	"testing"

	"firstcopy/mdn/functional"
	"firstcopy/partners"
)

// What is composed and can never be sent is warned of, for each channel by itself; the default is no agreement.
func TestAcknowledgementsWithoutAnAddress(t *testing.T) {
	t.Parallel()
	const byAS2, bySFTP = "as2.url is not", "sftp.folders.acknowledgement is not"
	url := func(file string) string {
		return strings.Replace(file, "station: HUB", "station: HUB\n      url: https://acme.example/as2", 1)
	}
	drop := func(file string) string {
		return strings.Replace(file, "folders: {", "folders: {acknowledgement: /acks, ", 1)
	}
	agree := func(file, terms string) string {
		return strings.Replace(file, "    sink:", "    acknowledge: "+terms+"\n    sink:", 1)
	}
	for name, tc := range map[string]struct{ file, want string }{
		"the default":     {least, ""},
		"none":            {agree(least, "{edifact: none, x12: [none]}"), ""},
		"CONTRL":          {agree(least, "{edifact: contrl}"), byAS2},
		"TA1":             {agree(least, "{x12: [ta1]}"), byAS2},
		"drift rejected":  {agree(least, "{on_drift: reject}"), byAS2},
		"with an address": {agree(url(least), "{edifact: contrl}"), ""},
		"SFTP":            {agree(leastSFTP, "{x12: [997]}"), bySFTP},
		"with a folder":   {agree(drop(leastSFTP), "{x12: [997]}"), ""},
	} {
		_, warnings, err := partners.ParseFile(folder(t), []byte(tc.file))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if tc.want == "" && len(warnings) > 0 || tc.want != "" && (len(warnings) != 1 || !strings.Contains(warnings[0].Text, tc.want)) {
			t.Errorf("%s: warnings %v, want %q", name, warnings, tc.want)
		}
	}
}

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
