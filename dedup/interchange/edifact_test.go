package interchange_test

import (
	"slices"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

const edifactMessage = "UNB+UNOC:3+4012345000009:14+4098765000002:14+260301:0930+2603010001++ORDERS++1'" +
	"UNH+7+ORDERS:D:96A:UN'BGM+220+B-17+9'DTM+137:20260301:102'LIN+1++4000862141404:EN'QTY+21:48'UNS+S'UNT+7+7'UNZ+1+2603010001'"

func TestEDIFACT(t *testing.T) {
	t.Parallel()
	ic := one(t, edifactMessage)
	if ic.Standard != interchange.EDIFACT || ic.Sender != "4012345000009" || ic.Recipient != "4098765000002" ||
		ic.SenderQualifier != "" || ic.RecipientQualifier != "" || ic.Control != "2603010001" || ic.Test {
		t.Errorf("reference %+v", ic.Reference)
	}
	want := interchange.Written{Sender: "4012345000009", SenderQualifier: "14", Recipient: "4098765000002",
		RecipientQualifier: "14", Control: "2603010001"}
	if ic.AsWritten != want {
		t.Errorf("as written %+v", ic.AsWritten)
	}
	if ic.Version != "UNOC:3" || ic.Date != "260301" || ic.Time != "0930" || !ic.AckRequested || !ic.Complete {
		t.Errorf("got %+v", ic)
	}
	if !slices.Equal(ic.Types(), []string{"ORDERS"}) || !slices.Equal(ic.Functions(), []string{"9"}) {
		t.Errorf("types %q, functions %q", ic.Types(), ic.Functions())
	}
	irregular(t, ic)
}

// header is UNB with the elements given and a trailer that agrees.
func envelope(header, body, trailer string) string {
	return "UNB+" + header + "'" + body + "UNZ+" + trailer + "'"
}

const edifactBody = "UNH+1+INVOIC:D:96A:UN'BGM+380+R1+9'UNT+3+1'"

func TestEDIFACTIdentity(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payload, sender, recipient, control string // control "" is Standard Content
		irregular                           []string
	}{
		"8-digit date":               {envelope("UNOA:2+A+B+20260301:0930+R1", edifactBody, "1+R1"), "A", "B", "R1", nil},
		"impossible date":            {envelope("UNOA:2+A+B+999818:999+R1", edifactBody, "1+R1"), "A", "B", "R1", nil},
		"leading zeros, case":        {envelope("UNOA:2+A+B+260301:0930+00aB", edifactBody, "1+00aB"), "A", "B", "00aB", nil},
		"unknown syntax identifier":  {envelope("XXXX:1+A+B+260301:0930+R1", edifactBody, "1+R1"), "A", "B", "R1", nil},
		"released in the header":     {envelope("UNOA:2+A?+A:ZZ+B??+260301:0930+AB?'CD", edifactBody, "1+AB?'CD"), "A+A", "B?", "AB'CD", nil},
		"tags as references":         {envelope("UNOA:2+UNA+UNB+260301:0930+UNA1234", edifactBody, "1+UNA1234"), "UNA", "UNB", "UNA1234", nil},
		"octets beyond ASCII":        {envelope("UNOC:3+M\xFCller+M\u00fcller+260301:0930+R\x001", edifactBody, "1+R\x001"), `M\xFCller`, "M\u00fcller", `R\x001`, nil},
		"newline inside 0020":        {envelope("UNOA:2+A+B+260301:0930+R\r\n1", edifactBody, "1+\nR1"), "A", "B", "R1", nil},
		"last terminator missing":    {strings.TrimSuffix(envelope("UNOA:2+A+B+260301:0930+R1", edifactBody, "1+R1"), "'"), "A", "B", "R1", []string{"last segment is not terminated"}},
		"UNA":                        {"UNA*@.? #\r\n \nUNB@UNOA*3@A@B@260301*0930@R1#UNH@1@INVOIC*D#UNT@2@1#UNZ@1@R1#", "A", "B", "R1", nil},
		"UNA without release":        {"UNA:+.  'UNB+UNOA:3+A?+B+260301:0930+R1'UNZ+0+R1'", "A?", "B", "R1", nil},
		"UNA with newline":           {"UNA:+.? \nUNB+UNOA:3+A+B+260301:0930+R1\nUNH+1+INVOIC:D\r\nUNT+2+1\nUNZ+1+R1\n", "A", "B", "R1", nil},
		"UNA with unusable chars":    {"UNA:+.?  UNB+UNOA:3+A+B+260301:0930+R1'UNZ+0+R1'", "A", "B", "R1", []string{"unusable service characters in UNA"}},
		"level B separators":         {"UNB\x1DUNOB\x1F1\x1DA\x1DB\x1D260301\x1F0930\x1DR1\x1CUNZ\x1D0\x1DR1\x1C", "A", "B", "R1", nil},
		"newlines as terminators":    {strings.ReplaceAll(envelope("UNOA:2+A+B+260301:0930+R1", edifactBody, "1+R1"), "'", "\r\n"), "A", "B", "R1", []string{"line break in place of the segment terminator"}},
		"the same, apostrophe later": {strings.ReplaceAll(envelope("UNOA:2+A+O`B+260301:0930+R1", edifactBody, "1+R1"), "'", "\r") + "NAD+O'B", "A", "O`B", "R1", []string{"unknown octets after the trailer", "line break in place of the segment terminator"}},
		"date and time apart":        {envelope("ANSI:1+A+B+260301+0930+R1", edifactBody, "1+R1"), "A", "B", "R1", []string{"date and time are two elements of UNB"}},
		"the same, no trailer":       {"UNB+ANSI:1+A+B+260301+0930+R1'", "A", "B", "R1", []string{"date and time are two elements of UNB", "no trailer"}},
		"date only, then reference":  {envelope("UNOA:1+A+B+260301+0930+PASS", edifactBody, "1+0930"), "A", "B", "0930", nil},
		"no reference":               {envelope("UNOA:1+A+B+260301:0930", edifactBody, "1+R1"), "", "", "", []string{"no control reference"}},
		"no parties":                 {envelope("UNOD", edifactBody, "1"), "", "", "", []string{"no sender", "no recipient", "no control reference"}},
		"blank sender":               {envelope("UNOA:1+  +B+260301:0930+R1", edifactBody, "1+R1"), "", "", "", []string{"no sender"}},
		"long reference":             {envelope("UNOA:1+A+B+260301:0930+123456789012345", edifactBody, "1+123456789012345"), "A", "B", "123456789012345", []string{"identity element longer than the standard allows"}},
		"reference without end":      {envelope("UNOA:1+A+B+260301:0930+"+strings.Repeat("1", 65), edifactBody, "1+1"), "", "", "", []string{"identity element too long to be used", "control reference differs in the trailer"}},
		"header without end":         {envelope("UNOA:1+A+B+260301:0930+1+"+strings.Repeat("1", 5000), edifactBody, "1+1"), "", "", "", []string{"header too long"}},
		"other reference in UNZ":     {envelope("UNOA:1+A+B+260301:0930+R1", edifactBody, "1+R2"), "A", "B", "R1", []string{"control reference differs in the trailer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ic := one(t, c.payload)
			if c.control == "" {
				if ic.Standard != interchange.Content {
					t.Errorf("identified as %+v", ic.Reference)
				}
			} else if ic.Standard != interchange.EDIFACT || ic.Sender != c.sender || ic.Recipient != c.recipient || ic.Control != c.control {
				t.Errorf("got %+v", ic.Reference)
			}
			irregular(t, ic, c.irregular...)
		})
	}
}

// TestEDIFACTIndicators counts plus signs: 0031, 0032 and 0035 are the ninth,
// tenth and eleventh element.
func TestEDIFACTIndicators(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]struct{ test, ack bool }{
		"":                   {false, false},
		"++++1":              {false, true},
		"++++2":              {false, true},
		"+++++1":             {false, false},
		"++++++1":            {true, false},
		"+PW+ORDERS+A+1++1":  {true, true},
		"++++++0":            {false, false},
		"++++++2":            {true, false},
		"++++++t":            {false, false},
		"++++++1+2":          {true, false},
		"++TEST++0+TEST+":    {false, false},
		"+++++SHIPPINGLINE1": {false, false},
	} {
		ic := one(t, envelope("UNOA:3+TEST+B+260301:0930+R1"+header, edifactBody, "1+R1"))
		if ic.Test != want.test || ic.AckRequested != want.ack {
			t.Errorf("%q: test %t, acknowledgement %t", header, ic.Test, ic.AckRequested)
		}
	}
}

func TestEDIFACTMessages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body, count      string
		types, functions []string
		irregular        []string
	}{
		"newlines, indentation": {"\r\nUNH+1+INVOIC:D:96A:UN'\r\n\tBGM+380+R1+9'\r\n  RFF+ON:1'UNT+4+1'\r\n", "1", []string{"INVOIC"}, []string{"9"}, nil},
		"newline in tags":       {"U\r\nNH+1+INVOIC:D:96A:UN'B\nGM+380+R1+9'UN\nT+3+1'\n", "1", []string{"INVOIC"}, []string{"9"}, nil},
		"release by parity":     {"UNH+1+INVOIC:D'FTX+AAI+++what???'BGM+1+1+5'FTX+AAI+++what??'BGM+1+1+4'UNT+5+1'", "1", []string{"INVOIC"}, []string{"4"}, nil},
		"release over a newline": {"UNH+1+INVOIC:D'FTX+AAI+++what?\r\n'BGM+1+1+5'BGM+1+1+4'UNT+4+1'", "1",
			[]string{"INVOIC"}, []string{"4"}, nil},
		"needless release":        {"UNH+1+INVOIC:D'COM+a?@b:EM'UNT+3+1'", "1", []string{"INVOIC"}, nil, nil},
		"tag only":                {"UNH+1+INVOIC:D'ODI'UNT+3+1'", "1", []string{"INVOIC"}, nil, nil},
		"empty segments":          {"UNH+1+INVOIC:D'''\r\n'UNT+2+1'", "1", []string{"INVOIC"}, nil, nil},
		"headers as data":         {"UNH+1+INVOIC:D'NAD+SU+::SERVICES CORP.+UNA:+UNB+UNZ'FTX+UNA?'UNB+X'UNT+4+1'", "1", []string{"INVOIC"}, nil, nil},
		"user segments":           {"UNH+1+CUSTOM:D'END+2'IEA+1+1'GE+1'ISA+1'UNT+6+1'", "1", []string{"CUSTOM"}, nil, nil},
		"zero padded count":       {"UNH+1+INVOIC:D'UNT+000002+1'", "0001", []string{"INVOIC"}, nil, nil},
		"function is a date":      {"UNH+1+DESADV:D'BGM+351+Y1+700101'UNT+3+1'", "1", []string{"DESADV"}, nil, nil},
		"no document name":        {"UNH+1+BAPLIE:D'BGM++M1+5++++'UNT+3+1'", "1", []string{"BAPLIE"}, []string{"5"}, nil},
		"document name is code":   {"UNH+1+MEDDIS:D'BGM+EPI++9+NA'UNT+3+1'", "1", []string{"MEDDIS"}, []string{"9"}, nil},
		"composites":              {"UNH+1+INVOIC:D'BGM+380::9:Invoice+R1:1:A+31:x'UNT+3+1'", "1", []string{"INVOIC"}, []string{"31"}, nil},
		"two messages":            {edifactBody + "UNH+2+ORDERS:D'BGM+220+1'UNT+3+2'" + edifactBody, "3", []string{"INVOIC", "ORDERS", "INVOIC"}, []string{"9", "9"}, nil},
		"groups count":            {"UNG+INVOIC+A+B+260301:0930+G1+UN+D:96A'" + edifactBody + edifactBody + "UNE+2+G1'", "1", []string{"INVOIC", "INVOIC"}, []string{"9", "9"}, nil},
		"group trailer":           {"UNG+INVOIC+A+B+260301:0930+G1+UN+D:96A'" + edifactBody + "UNE+3+G2'", "1", []string{"INVOIC"}, []string{"9"}, []string{"group reference differs in its trailer", "count in a group trailer is wrong"}},
		"no group trailer":        {"UNG+INVOIC+A+B+260301:0930+G1+UN+D:96A'" + edifactBody, "1", []string{"INVOIC"}, []string{"9"}, []string{"group without trailer"}},
		"groups and messages":     {"UNG+INVOIC+A+B+260301:0930+G1'" + edifactBody + "UNE+1+G1'" + edifactBody, "1", []string{"INVOIC", "INVOIC"}, []string{"9", "9"}, []string{"messages inside and outside of groups"}},
		"message without trailer": {"UNH+1+INVOIC:D'" + edifactBody, "2", []string{"INVOIC", "INVOIC"}, []string{"9"}, []string{"message without trailer"}},
		"message trailer":         {"UNH+1+INVOIC:D'UNT+9+2'", "1", []string{"INVOIC"}, nil, []string{"message reference differs in its trailer", "segment count of a message is wrong"}},
		"stray trailers":          {"UNT+1+1'UNE+1+1'", "0", nil, nil, []string{"group trailer without group", "message trailer without message"}},
		"no message type":         {"UNH'UNT+2'", "1", nil, nil, []string{"message without a usable type"}},
		"count of segments":       {edifactBody, "17", []string{"INVOIC"}, []string{"9"}, []string{"count in the trailer is wrong"}},
		"count is no number":      {edifactBody, "one", []string{"INVOIC"}, []string{"9"}, []string{"count in the trailer is wrong"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ic := one(t, envelope("UNOA:3+A+B+260301:0930+R1", c.body, c.count+"+R1"))
			if !ic.Complete || !slices.Equal(ic.Types(), c.types) || !slices.Equal(ic.Functions(), c.functions) {
				t.Errorf("complete %t, types %q, functions %q", ic.Complete, ic.Types(), ic.Functions())
			}
			irregular(t, ic, c.irregular...)
		})
	}
	ic := one(t, envelope("UNOA:3+A+B+260301:0930+R1", "UNH+1+ORDERS:D'UNT+2+1'UNH+1+INVOIC:D'UNT+2+1'UNH+1+ORDERS:D'UNT+2+1'", "3+R1"))
	if !slices.Equal(ic.MessageTypes, []string{"INVOIC", "ORDERS"}) {
		t.Errorf("message types %q", ic.MessageTypes)
	}
}

// TestEDIFACTRepetition: a star separates only from version 4 on, and only if
// UNA says so or is missing.
func TestEDIFACTRepetition(t *testing.T) {
	t.Parallel()
	body := func(star string) string { return "UNH+1+PNRGOV:D'ABI+1A/E" + star + "x'UNT+3+1'" }
	for una, separates := range map[string]struct{ v3, v4 bool }{
		"":          {false, true},
		"UNA:+.?*'": {false, true},
		"UNA:+.? '": {false, false},
	} {
		for version, want := range map[string]bool{"3": separates.v3, "4": separates.v4} {
			header := func(v string) string { return "UNOA:" + v + "+A+B+260301:0930+R1" }
			// A trailing star is dropped only where it separates.
			with := one(t, una+envelope(header(version), body("*"), "1+R1"))
			trailing := one(t, una+envelope(header(version), strings.Replace(body("*"), "x'", "x*'", 1), "1+R1"))
			if (with.Content == trailing.Content) != want {
				t.Errorf("%s version %s: separates %t", una, version, !want)
			}
		}
	}
}

// TestEDIFACTContentPairs names pairs that the canonical form must tell apart or
// not. Both are ordinary segments well before the end, read the fast way.
func TestEDIFACTContentPairs(t *testing.T) {
	t.Parallel()
	digest := func(segment, time string) [32]byte {
		filling := strings.Repeat("LIN+1++4000862141404:EN'", 20)
		return one(t, envelope("UNOA:4+A+B+260301"+time+"+R1", "UNH+1+ORDERS:D'"+segment+filling+"UNT+23+1'", "1+R1")).Content
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"FTX+A:*B'", "FTX+A*B'", true},
		{"FTX+A**+B'", "FTX+A+B'", true},
		{"FTX+A::+B::'", "FTX+A+B'", true},
		{"FTX+A+B+++'", "FTX+A+B'", true},
		{"FTX+A+B'''", "FTX+A+B'", true},
		{"FTX+A+B'+++'", "FTX+A+B'", true},
		{"FTX+A+?B?.'", "FTX+A+B.'", true},
		{"FTX+A++B'", "FTX+A+B'", false},
		{"FTX+A+:B'", "FTX+A+B'", false},
		{"FTX+A:B'", "FTX+A*B'", false},
		{"FTX+A:B'", "FTX+A+B'", false},
		{"FTX+A?+B'", "FTX+A+B'", false},
		{"FTX+A\x1DB'", "FTX+A+B'", false},
		{"FTX+A\x1B\x1DB'", "FTX+A\x1DB'", false},
		{"FTX+A'", "FTX+a'", false},
		{"FTX+A  B'", "FTX+A B'", false},
		{"FTX+A'FTX+B'", "FTX+B'FTX+A'", false},
	} {
		if same := digest(c.a, ":0930") == digest(c.b, ":0930"); same != c.same {
			t.Errorf("%q and %q: same content %t", c.a, c.b, same)
		}
	}
	if digest("", "+0930") != digest("", "+1745") {
		t.Error("a time of its own element counts as content")
	}
}
