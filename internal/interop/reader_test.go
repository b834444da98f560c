//go:build interop

package interop_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"firstcopy/dedup/interchange"
	"firstcopy/internal/interop"
	"firstcopy/mdn/functional"
)

const (
	orders = "UNB+UNOC:3+4012345000009:14+5412345000013:14+261201:1015+ORD1++ORDERS++1'UNH+1+ORDERS:D:96A:UN'BGM+220+1+9'UNT+3+1'" +
		"UNH+2+ORDERS:D:96A:UN'BGM+220+2+9'UNT+3+2'UNZ+2+ORD1'"
	purchase = "ISA*00*          *00*          *ZZ*GLOBEX         *14*HUB            *261201*1015*U*00401*000004711*1*P*>~" +
		"GS*PO*GLOBEX*HUB*20261201*1015*4711*X*004010~ST*850*0001~BEG*00*SA*PO1**20261201~SE*3*0001~" +
		"ST*850*0002~BEG*00*SA*PO2**20261201~SE*3*0002~GE*2*4711~IEA*1*000004711~"
)

// TestReaders has foreign libraries read our acknowledgements.
func TestReaders(t *testing.T) {
	if *measure || *only != "" && *only != "readers" {
		return
	}
	claims := strings.NewReplacer("U*00401", "^*00501", "GS*PO", "GS*HC", "004010", "005010X222A1", "ST*850*0001", "ST*837*0001*005010X222A1",
		"ST*850*0002", "ST*837*0002*005010X222A1").Replace(purchase)
	cases := []struct {
		name, payload string
		kind          functional.Kind
		drift         bool
		want          string // a segment
	}{
		{"CONTRL, accepted", orders, functional.CONTRL, false, "UCI|ORD1|4012345000009:14|5412345000013:14|7"},
		{"CONTRL, receipt only", strings.Replace(orders, "ORDERS++1", "ORDERS++2", 1), functional.CONTRL, false, "UCI|ORD1|4012345000009:14|5412345000013:14|8"},
		{"CONTRL, drift rejected", orders, functional.CONTRL, true, "UCI|ORD1|4012345000009:14|5412345000013:14|4|26|UNB|6"},
		{"CONTRL, a message rejected", strings.Replace(orders, "UNT+3+2", "UNT+4+2", 1), functional.CONTRL, false, "UCM|2|ORDERS:D:96A:UN|4|29|UNT|2"},
		{"CONTRL for syntax version 4", strings.Replace(orders, "UNOC:3", "UNOC:4", 1), functional.CONTRL, false, "UCI|ORD1|4012345000009:14|5412345000013:14|7"},
		{"CONTRL, values that need a release", strings.Replace(orders, "4012345000009", "A?+B?:C?'D??", 1), functional.CONTRL, false, "UCI|ORD1|A+B:C'D?:14|5412345000013:14|7"},
		{"TA1, accepted", purchase, functional.TA1, false, "TA1|000004711|261201|1015|A|000"},
		{"TA1, drift rejected", purchase, functional.TA1, true, "TA1|000004711|261201|1015|R|025"},
		{"997, accepted", purchase, functional.FunctionalAcknowledgement, false, "AK9|A|2|2|2"},
		{"997, a set rejected", strings.Replace(purchase, "SE*3*0002", "SE*4*0002", 1), functional.FunctionalAcknowledgement, false, "AK5|R|4"},
		{"997, the group rejected", strings.Replace(purchase, "GE*2", "GE*3", 1), functional.FunctionalAcknowledgement, false, "AK9|R|3|2|0|5"},
		{"999, accepted", claims, functional.Implementation, false, "AK2|837|0002|005010X222A1"},
	}
	var samples []interop.Sample
	for _, c := range cases {
		a := compose(t, c.payload, c.kind, c.drift)
		standard := "x12"
		if c.kind == functional.CONTRL {
			standard = "edifact"
		}
		samples = append(samples, interop.Sample{Case: c.name, Standard: standard, Octets: string(a.Octets)})
	}
	readings, err := interop.Read(t.Context(), t.TempDir(), samples)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][2]string
	for i, c := range cases {
		verdict := verdictOf(t, readings[c.name], samples[i].Octets, c.want)
		if verdict != interop.Accepted {
			t.Errorf("%s: %s\n%s", c.name, verdict, samples[i].Octets)
		}
		rows = append(rows, [2]string{c.name, verdict})
	}
	current, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(document, []byte(interop.WithAcknowledgements(string(current), rows)), 0o644); err != nil {
		t.Error(err)
	}
}

func compose(t *testing.T, payload string, kind functional.Kind, drift bool) functional.Acknowledgement {
	t.Helper()
	found, err := interchange.Scan(strings.NewReader(payload))
	if err != nil {
		t.Fatal(err)
	}
	a, err := functional.Compose(&found[0], kind, functional.Options{Numbers: []int64{42}, At: time.Now(), Drift: drift})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// verdictOf compares a library's reading with our own.
func verdictOf(t *testing.T, r interop.Reading, octets, segment string) string {
	t.Helper()
	found, err := interchange.Scan(strings.NewReader(octets))
	if err != nil {
		t.Fatal(err)
	}
	x := &found[0]
	switch {
	case r.Case == "":
		return interop.Failed
	case r.Detail != "":
		return interop.Rejected + ": " + r.Detail
	case !strings.HasPrefix(r.Sender, x.Sender+":") || !strings.HasPrefix(r.Recipient, x.Recipient+":"):
		return interop.Rejected + ": from " + r.Sender + " to " + r.Recipient
	case r.Control != x.Control:
		return interop.Rejected + ": reference " + r.Control
	case !slices.Equal(r.Types, x.Types()):
		return interop.Rejected + ": types " + strings.Join(r.Types, ", ")
	case !slices.Contains(r.Segments, segment):
		return interop.Rejected + ": no " + segment + " among " + strings.Join(r.Segments, " ")
	}
	return interop.Accepted
}
