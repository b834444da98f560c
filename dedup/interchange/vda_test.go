package interchange_test

import (
	"fmt"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

// vdaFile is a delivery forecast; end follows every record.
func vdaFile(end string) string {
	var b strings.Builder
	for _, record := range []string{
		"51102" + "CUST1    " + "SUPPL22  " + "00041" + "00042" + "260301" + "261231",
		"51201" + "100 4711  260301",
		"51301" + "260228 17",
		"51901" + "0000001000000100000010000001",
	} {
		fmt.Fprintf(&b, "%-128s%s", record, end)
	}
	return b.String()
}

func TestVDA(t *testing.T) {
	t.Parallel()
	ic := one(t, vdaFile(""))
	if ic.Standard != interchange.VDA || ic.Sender != "CUST1" || ic.Recipient != "SUPPL22" || ic.Control != "00042" || ic.Version != "4905/02" ||
		ic.Date != "260301" || !ic.Complete || ic.Faults != 0 {
		t.Errorf("got %+v", ic)
	}
	compareMessages(t, ic, []interchange.Message{{Group: -1, Type: "4905", Control: "00042", Version: "02", Date: "260301", Segments: 4, Declared: -1}})
	irregular(t, ic)

	// A despatch advice goes the other way.
	if ic = one(t, strings.ReplaceAll(vdaFile(""), "51", "71")); ic.Sender != "SUPPL22" || ic.Recipient != "CUST1" || ic.Types()[0] != "4913" {
		t.Errorf("4913: %+v", ic)
	}
}

func TestVDAVariants(t *testing.T) {
	t.Parallel()
	plain := one(t, vdaFile(""))
	var trimmed strings.Builder
	for line := range strings.Lines(vdaFile("\r\n")) {
		trimmed.WriteString(strings.TrimRight(line, " \r\n") + "\r\n")
	}
	for name, c := range map[string]struct {
		payload  string
		same     bool
		standard interchange.Standard
		complete bool
	}{
		"lines":           {vdaFile("\n"), true, interchange.VDA, true},
		"CR LF":           {vdaFile("\r\n"), true, interchange.VDA, true},
		"blanks cut":      {trimmed.String(), true, interchange.VDA, true},
		"another date":    {strings.Replace(vdaFile(""), "260301261231", "260302261231", 1), true, interchange.VDA, true},
		"another reset":   {strings.Replace(vdaFile(""), "260301261231", "260301271231", 1), false, interchange.VDA, true},
		"other data":      {strings.Replace(vdaFile(""), "4711", "4712", 1), false, interchange.VDA, true},
		"end of file":     {vdaFile("\r\n") + "\x1A", true, interchange.VDA, true},
		"no trailer":      {vdaFile("")[:3*128], false, interchange.VDA, false},
		"unknown kind":    {strings.ReplaceAll(vdaFile(""), "51", "91"), false, interchange.Content, false},
		"a number":        {"51102", false, interchange.Content, false},
		"no next record":  {vdaFile("")[:128], false, interchange.Content, false},
		"no transmission": {strings.Replace(vdaFile(""), "0004100042", "          ", 1), false, interchange.Content, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ic := one(t, c.payload)
			if ic.Standard != c.standard || (ic.Content == plain.Content) != c.same || ic.Complete != c.complete {
				t.Errorf("same content %t, got %+v", ic.Content == plain.Content, ic)
			}
		})
	}
	if found := scan(t, vdaFile("\r\n")+strings.Replace(vdaFile("\r\n"), "00042", "00043", 1)); len(found) != 2 || found[1].Control != "00043" {
		t.Errorf("two transmissions: %+v", found)
	}
}
