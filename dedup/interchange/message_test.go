package interchange_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

// TestEDIFACTEnvelope reads all that an acknowledgement and lineage ask of an
// EDIFACT interchange.
func TestEDIFACTEnvelope(t *testing.T) {
	t.Parallel()
	const header = "UNB+UNOC:3+4012345000009:14+4098765000002:14+260301:0930+R1++++2"
	ic := one(t, header+"'UNG+INVOIC+A:14+B+260301:0930+G7+UN+D:96A:EAN008'"+
		"UNH+M1+INVOIC:D:96A:UN:EAN008'BGM+380:::x+RE?+7:2+5'DTM+35:20260215:102'DTM+137:20260301:102'RFF+ON:4711'RFF+IV:RE6'RFF+ACW:RE5'"+
		"LIN+1'RFF+IV:RE4'DTM+137:20250101:102'UNS+S'UNT+12+M1'"+
		"UNH+M1+ORDERS:D:96A:UN'UNT+9+M2'UNE+2+G7'UNG+ORDERS+A+B+260301:0930+G7'UNZ+2+R1'")
	if string(ic.Header) != header || !ic.ReceiptOnly || !ic.AckRequested || ic.Acknowledges || ic.Faults != 0 {
		t.Errorf("header %q, receipt only %t, acknowledgement %t, is one %t, faults %b", ic.Header, ic.ReceiptOnly, ic.AckRequested, ic.Acknowledges, ic.Faults)
	}
	if want := (interchange.Separators{Component: ':', Element: '+', Release: '?', Terminator: '\''}); ic.Separators != want {
		t.Errorf("separators %+v", ic.Separators)
	}
	groups := []interchange.Group{
		{Type: "INVOIC", Sender: "A:14", Recipient: "B", Control: "G7", Version: "D:96A:EAN008", Messages: 2, Declared: 2},
		{Type: "ORDERS", Sender: "A", Recipient: "B", Control: "G7", Declared: -1,
			Faults: interchange.FaultDuplicate | interchange.FaultTrailer | interchange.FaultEmpty},
	}
	if !slices.Equal(ic.Groups, groups) {
		t.Errorf("groups %+v", ic.Groups)
	}
	messages := []interchange.Message{
		{Group: 0, Type: "INVOIC", Control: "M1", Version: "D:96A:UN:EAN008", Number: "RE+7", Revision: "2", Date: "20260301", Function: "5",
			Effect: interchange.Supersede, Predecessors: []string{"RE6", "RE5"}, Segments: 12, Declared: 12},
		{Group: 0, Type: "ORDERS", Control: "M1", Version: "D:96A:UN", Segments: 2, Declared: 9,
			Faults: interchange.FaultControl | interchange.FaultCount | interchange.FaultDuplicate | interchange.FaultType},
	}
	compareMessages(t, ic, messages)
}

// TestGroupsOfMixedTypes: from syntax version 4 on, messages of several types may
// share a group.
func TestGroupsOfMixedTypes(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]interchange.Faults{"3": interchange.FaultType, "4": 0} {
		ic := one(t, envelope("UNOA:"+version+"+A+B+260301:0930+R1",
			"UNG+INVOIC+A+B+260301:0930+G1+UN+D:96A'"+edifactBody+"UNH+2+ORDERS:D'UNT+2+2'UNE+2+G1'", "1+R1"))
		if got := ic.Messages[1].Faults; got != want || ic.Messages[0].Faults != 0 {
			t.Errorf("version %s: faults %b, want %b", version, got, want)
		}
	}
}

// compareMessages compares all but the digests, which must be there.
func compareMessages(t *testing.T, ic interchange.Interchange, want []interchange.Message) {
	t.Helper()
	got := slices.Clone(ic.Messages)
	for i := range got {
		if got[i].Digest == [32]byte{} {
			t.Errorf("message %d has no digest", i)
		}
		got[i].Digest = [32]byte{}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("messages %+v\nwant     %+v", got, want)
	}
}

func TestX12Envelope(t *testing.T) {
	t.Parallel()
	set := func(kind, control, body string) string {
		return "ST*" + kind + "*" + control + "~" + body + "SE*3*" + control + "~"
	}
	ic := one(t, isa+"GS*PC*BUYER*SELLER*20260301*0930*5*X*004010~"+
		set("860", "0001", "BCH*04*SA*4711**2*20260302~")+set("810", "0002", "BIG*20260303*R9*20260301*4711***DI*00~")+
		set("204", "0002", "B2**SCAC**S77~")+"GE*3*5~IEA*1*77~")
	if string(ic.Header) != isa[:105] || !ic.AckRequested || ic.Acknowledges || ic.Faults != 0 {
		t.Errorf("header %q, acknowledgement %t, is one %t, faults %b", ic.Header, ic.AckRequested, ic.Acknowledges, ic.Faults)
	}
	if want := (interchange.Separators{Component: ':', Element: '*', Terminator: '~'}); ic.Separators != want {
		t.Errorf("separators %+v", ic.Separators)
	}
	if want := []interchange.Group{{Type: "PC", Sender: "BUYER", Recipient: "SELLER", Control: "5", Version: "004010", Messages: 3, Declared: 3}}; !slices.Equal(ic.Groups, want) {
		t.Errorf("groups %+v", ic.Groups)
	}
	compareMessages(t, ic, []interchange.Message{
		{Type: "860", Control: "0001", Number: "4711", Revision: "2", Date: "20260302", Function: "04", Effect: interchange.Delta, Segments: 3, Declared: 3},
		{Type: "810", Control: "0002", Number: "R9", Date: "20260303", Function: "00", Effect: interchange.New, Segments: 3, Declared: 3},
		{Type: "204", Control: "0002", Number: "S77", Segments: 3, Declared: 3, Faults: interchange.FaultDuplicate},
	})
}

// TestX12Claims: the frequency of the claims is what an 837 is sent for.
func TestX12Claims(t *testing.T) {
	t.Parallel()
	claim := func(frequency string) string {
		return "CLM*A1*100***11:B:" + frequency + "*Y~REF*F8*P-" + frequency + "~"
	}
	for body, want := range map[string]interchange.Message{
		claim("1"):              {Function: "00", Effect: interchange.New, Predecessors: []string{"P-1"}},
		claim("7"):              {Function: "7", Effect: interchange.Supersede, Predecessors: []string{"P-7"}},
		claim("8"):              {Function: "8", Effect: interchange.Cancel, Predecessors: []string{"P-8"}},
		claim("7") + claim("1"): {Predecessors: []string{"P-7", "P-1"}},
	} {
		ic := one(t, isa+"GS*HC*A*B*20260301*0930*5*X*005010X222A1~ST*837*0001*005010X222A1~BHT*0019*00*B77*20260301*0930*CH~HL*1**20*1~"+body+"SE*4*0001~GE*1*5~"+iea)
		got := ic.Messages[0]
		if got.Function != want.Function || got.Effect != want.Effect || !slices.Equal(got.Predecessors, want.Predecessors) ||
			got.Number != "B77" || got.Version != "005010X222A1" {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

// TestAcknowledgements: what must never be acknowledged itself.
func TestAcknowledgements(t *testing.T) {
	t.Parallel()
	contrl := "UNH+1+CONTRL:D:3:UN'UCI+R1+A+B+8'UNT+3+1'"
	group := func(sets string) string { return isa + "GS*FA*A*B*20260301*0930*5*X*004010~" + sets + "GE*1*5~" + iea }
	for payload, want := range map[string]bool{
		envelope("UNOA:3+A+B+260301:0930+R1", contrl, "1+R1"):             true,
		envelope("UNOA:3+A+B+260301:0930+R1", contrl+edifactBody, "2+R1"): false,
		envelope("UNOA:3+A+B+260301:0930+R1", "", "0+R1"):                 false,
		edifactMessage: false,
		isa + "TA1*000000050*260301*1200*A*000~" + iea:           true,
		isa + "TA1*000000050*260301*1200*A*000~" + x12Body + iea: false,
		group("ST*997*1~AK1*PO*5~SE*3*1~"):                       true,
		group("ST*999*1~AK1*PO*5~SE*3*1~"):                       true,
		group("ST*997*1~AK1*PO*5~SE*3*1~ST*850*2~SE*2*2~"):       false,
		group("ST*824*1~SE*2*1~"):                                false,
	} {
		if got := one(t, payload).Acknowledges; got != want {
			t.Errorf("%s: %t", payload, got)
		}
	}
}

// TestInterchangeFaults: what a CONTRL or TA1 can complain of.
func TestInterchangeFaults(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]interchange.Faults{
		edifactMessage: 0,
		x12Message:     0,
		envelope("UNOA:3+A+B+260301:0930+R1", edifactBody, "1+R2"):                                                          interchange.FaultControl,
		envelope("UNOA:3+A+B+260301:0930+R1", edifactBody, "2+R1"):                                                          interchange.FaultCount,
		envelope("UNOA:3+A+B+260301:0930+R1", "", "0+R1"):                                                                   interchange.FaultEmpty,
		envelope("UNOA:3+A+B++R1", edifactBody, "1+R1"):                                                                     interchange.FaultMissing,
		envelope("UNOA:3+A++260301:0930+R1", edifactBody, "1+R1"):                                                           interchange.FaultMissing,
		envelope("UNOA:3+A+B+260301:0930+R1++++++t", edifactBody, "1+R1"):                                                   interchange.FaultInvalid,
		envelope("UNOA:3+A+B+260301:0930+R1", "UNG+INVOIC+A+B+260301:0930+G1'"+edifactBody+"UNE+1+G1'"+edifactBody, "1+R1"): interchange.FaultMixed,
		strings.TrimSuffix(edifactMessage, "UNZ+1+2603010001'"):                                                             interchange.FaultTrailer,
		isa + x12Body + "IEA*2*78~":                                                                                         interchange.FaultCount | interchange.FaultControl,
		strings.Replace(x12Message, "*P*", "*X*", 1):                                                                        interchange.FaultInvalid,
	} {
		if got := one(t, payload).Faults; got != want {
			t.Errorf("%s: %b, want %b", payload, got, want)
		}
	}
}

// TestMessageDigest: the same document in another interchange, under other
// references, has the same digest.
func TestMessageDigest(t *testing.T) {
	t.Parallel()
	a := one(t, edifactMessage)
	b := one(t, "UNA*|.! ~UNB|UNOA*1|X|Y|270101*1200|R2~UNH|9!*|ORDERS*D*96A*UN~BGM|220|B-17|9||~DTM|137*20260301*102~\r\nLIN|1||4000862141404*EN~"+
		"QTY|21*48~UNS|S~UNT|7|9!*~UNZ|1|R2~")
	if a.Messages[0].Digest != b.Messages[0].Digest || a.Content == b.Content {
		t.Error("EDIFACT: the document has another digest, or the interchange the same")
	}
	c := one(t, strings.NewReplacer("*000000077", "*000000099", "*5", "*6", "0001", "1234", "BUYER ", "OTHER ").Replace(x12Message))
	if d := one(t, x12Message); c.Messages[0].Digest != d.Messages[0].Digest || c.Content == d.Content {
		t.Error("X12: the document has another digest, or the interchange the same")
	}
}

func TestEffectOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		standard interchange.Standard
		code     string
		want     interchange.Effect
	}{
		{interchange.EDIFACT, "9", interchange.New}, {interchange.EDIFACT, "5", interchange.Supersede}, {interchange.EDIFACT, "4", interchange.Delta},
		{interchange.EDIFACT, "1", interchange.Cancel}, {interchange.EDIFACT, "7", interchange.NoEffect}, {interchange.EDIFACT, "31", interchange.NoEffect},
		{interchange.EDIFACT, "29", interchange.Response}, {interchange.EDIFACT, "53", interchange.Trial}, {interchange.EDIFACT, "13", interchange.NoStatement},
		{interchange.X12, "00", interchange.New}, {interchange.X12, "05", interchange.Supersede}, {interchange.X12, "04", interchange.Delta},
		{interchange.X12, "01", interchange.Cancel}, {interchange.X12, "22", interchange.NoEffect}, {interchange.X12, "06", interchange.Response},
		{interchange.X12, "77", interchange.Trial}, {interchange.X12, "15", interchange.NoStatement}, {interchange.X12, "9", interchange.NoStatement},
		{interchange.Content, "9", interchange.NoStatement}, {interchange.EDIFACT, "", interchange.NoStatement},
	} {
		if got := interchange.EffectOf(c.standard, c.code); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.standard, c.code, got, c.want)
		}
	}
}
