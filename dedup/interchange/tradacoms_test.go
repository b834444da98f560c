package interchange_test

import (
	"slices"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

const tradacomsFile = "STX=ANA:1+5012345000009:HIGH STREET STORES+5098765000002:MILL LTD+260301:093000+000123+PASSW+ORDHDR+B'" +
	"MHD=1+ORDHDR:9'TYP=0430+NEW-ORDERS'FIL=77+2+260228'MTR=4'" +
	"MHD=2+ORDERS:9'CLO=5012345000016'ORD=B17::260228'OLD=1+5098765000101++:A?+B+12'MTR=5'" +
	"MHD=3+ORDTLR:9'OFT=1'MTR=3'END=3'"

func TestTRADACOMS(t *testing.T) {
	t.Parallel()
	ic := one(t, tradacomsFile)
	if ic.Standard != interchange.TRADACOMS || ic.Sender != "5012345000009" || ic.Recipient != "5098765000002" || ic.Control != "000123" ||
		ic.Version != "ANA:1" || ic.Date != "260301" || ic.Time != "093000" || !ic.Complete || ic.Faults != 0 || ic.AckRequested {
		t.Errorf("got %+v", ic)
	}
	if !slices.Equal(ic.MessageTypes, []string{"ORDERS", "ORDHDR", "ORDTLR"}) || !strings.HasPrefix(string(ic.Header), "STX=ANA:1+") {
		t.Errorf("types %q, header %q", ic.MessageTypes, ic.Header)
	}
	compareMessages(t, ic, []interchange.Message{
		{Group: -1, Type: "ORDHDR", Control: "1", Version: "9", Number: "77", Revision: "2", Date: "260228", Segments: 4, Declared: 4},
		{Group: -1, Type: "ORDERS", Control: "2", Version: "9", Segments: 5, Declared: 5},
		{Group: -1, Type: "ORDTLR", Control: "3", Version: "9", Segments: 3, Declared: 3},
	})
	irregular(t, ic)
}

func TestTRADACOMSVariants(t *testing.T) {
	t.Parallel()
	plain := one(t, tradacomsFile)
	for name, c := range map[string]struct {
		payload   string
		same      bool
		irregular []string
	}{
		"lines":           {strings.ReplaceAll(tradacomsFile, "'", "'\r\n"), true, nil},
		"indented":        {"\xEF\xBB\xBF" + strings.ReplaceAll(tradacomsFile, "'", "'\n\t  "), true, nil},
		"wrapped":         {wrap(tradacomsFile, 40), true, nil},
		"another time":    {strings.Replace(tradacomsFile, "260301:093000", "260302:1745", 1), true, nil},
		"trailing empty":  {strings.Replace(tradacomsFile, "OFT=1'", "OFT=1++:'", 1), true, nil},
		"other data":      {strings.Replace(tradacomsFile, "+12'", "+13'", 1), false, nil},
		"other case":      {strings.Replace(tradacomsFile, "A?+B", "a?+B", 1), false, nil},
		"another place":   {strings.Replace(tradacomsFile, "MHD=2", "MHD=4", 1), false, nil},
		"segment count":   {strings.Replace(tradacomsFile, "MTR=5", "MTR=6", 1), false, []string{"segment count of a message is wrong"}},
		"message count":   {strings.Replace(tradacomsFile, "END=3", "END=4", 1), false, []string{"count in the trailer is wrong"}},
		"no END":          {strings.TrimSuffix(tradacomsFile, "END=3'"), false, []string{"no trailer"}},
		"reconciliation":  {strings.Replace(strings.Replace(tradacomsFile, "ANA:1", "ANAA:1", 1), "END=", "RSG=000123+5098765000002'END=", 1), false, nil},
		"second MHD open": {strings.Replace(tradacomsFile, "MTR=4'", "", 1), false, []string{"message without trailer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ic := one(t, c.payload)
			if ic.Standard != interchange.TRADACOMS || ic.Control != "000123" || (ic.Content == plain.Content) != c.same {
				t.Errorf("same content %t, got %+v", ic.Content == plain.Content, ic)
			}
			irregular(t, ic, c.irregular...)
		})
	}
	names := one(t, strings.NewReplacer("5012345000009:HIGH", ":HIGH", "5098765000002:MILL", ":MILL").Replace(tradacomsFile))
	if names.Sender != ":HIGH STREET STORES" || names.Recipient != ":MILL LTD" {
		t.Errorf("parties by name: %+v", names.Reference)
	}
}
