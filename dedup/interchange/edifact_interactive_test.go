package interchange_test

import (
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

const interactive = "UIB+UNOA:4+D77:AGENT+++DIALOG+A:ZZ+B:ZZ+20260301:0930++1'" +
	"UIH+PRQ:1:0:::IA+M1'MSG+1'UIT+M1+3'UIZ+D77+1'"

// TestInteractive: an interactive interchange goes by its dialogue reference,
// and its trailers may keep silent.
func TestInteractive(t *testing.T) {
	t.Parallel()
	ic := one(t, interactive)
	if ic.Standard != interchange.EDIFACT || ic.Sender != "A" || ic.Recipient != "B" || ic.Control != "D77" || !ic.Test || ic.AckRequested ||
		ic.Date != "20260301" || ic.Time != "0930" || !ic.Complete || ic.Faults != 0 {
		t.Errorf("got %+v", ic)
	}
	compareMessages(t, ic, []interchange.Message{
		{Group: -1, Type: "PRQ", Control: "M1", Version: "1:0:::IA", Segments: 3, Declared: 3},
	})
	irregular(t, ic)
	for payload, c := range map[string]struct {
		same   bool
		faults interchange.Faults
	}{
		strings.Replace(interactive, "20260301:0930", "20260302:1745", 1):               {true, 0},
		"UNA:+.? '\r\n" + strings.ReplaceAll(interactive, "'", "'\r\n"):                 {true, 0},
		strings.Replace(interactive, "UIZ+D77+1", "UIZ", 1):                             {false, 0},
		strings.Replace(interactive, "UIT+M1+3", "UIT", 1):                              {false, 0},
		strings.Replace(interactive, "UIZ+D77+1", "UIZ+D78+2", 1):                       {false, interchange.FaultControl | interchange.FaultCount},
		strings.Replace(interactive, "UIZ+D77+1'", "", 1):                               {false, interchange.FaultTrailer},
		strings.NewReplacer("+", "\x1D", ":", "\x1F", "'", "\x1C").Replace(interactive): {true, 0},
	} {
		got := one(t, payload)
		if got.Control != "D77" || (got.Content == ic.Content) != c.same || got.Faults != c.faults {
			t.Errorf("%q: same content %t, faults %b, %+v", payload, got.Content == ic.Content, got.Faults, got.Reference)
		}
	}
}

// TestPackages: an object is passed over by its length, whatever it holds.
func TestPackages(t *testing.T) {
	t.Parallel()
	const object = "UNZ+1+R1'UNB+UNOA:1+\r\n?'\x00UNP+"
	payload := func(object, length, security string) string {
		return envelope("UNOA:4+A+B+260301:0930+R1", "UNO+P1+1:X+1:Y+"+length+"'"+security+object+"UNP+29+P1'"+edifactBody, "2+R1")
	}
	if len(object) != 29 {
		t.Fatalf("the object has %d octets", len(object))
	}
	plain := one(t, payload(object, "29", ""))
	if !plain.Complete || plain.Faults != 0 {
		t.Errorf("got %+v", plain)
	}
	compareMessages(t, plain, []interchange.Message{
		{Group: -1, Type: "UNO", Control: "P1", Segments: 2, Declared: -1},
		{Group: -1, Type: "INVOIC", Control: "1", Version: "D:96A:UN", Number: "R1", Function: "9", Effect: interchange.New, Segments: 3, Declared: 3},
	})
	irregular(t, plain)
	if again := one(t, "UNA:+.?*'\r\n"+payload(object, "29", "")); again.Content != plain.Content {
		t.Error("UNA is content")
	}
	if other := one(t, payload(strings.Replace(object, "\r\n", "\n\r", 1), "29", "")); other.Content == plain.Content {
		t.Error("line breaks of an object are not content")
	}
	if signed := one(t, payload(object, "29:2", "USA+1'USR+2'")); !signed.Complete || signed.Faults != 0 || len(signed.Messages) != 2 || signed.Messages[0].Segments != 4 {
		t.Errorf("segments before the object: %+v", signed)
	}
	for name, wrong := range map[string]string{
		"line break that is not counted": payload("\r\n"+object, "29", ""),
		"other length in UNP":            strings.Replace(payload(object, "29", ""), "UNP+29", "UNP+30", 1),
		"length is no number":            payload("", "x", ""),
	} {
		ic := one(t, wrong)
		if !ic.Complete || len(ic.Messages) != 2 || ic.Messages[0].Faults.Has(interchange.FaultTrailer) || ic.Messages[1].Faults != 0 {
			t.Errorf("%s: %+v", name, ic)
		}
	}
	if long := one(t, payload(object, "99999999999", "")); long.Complete || !long.Messages[0].Faults.Has(interchange.FaultCount) {
		t.Errorf("length beyond the end: %+v", long)
	}
}
