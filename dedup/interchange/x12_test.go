package interchange_test

import (
	"slices"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

const (
	isa        = "ISA*00*          *00*          *ZZ*BUYER          *12*SELLER         *260301*0930*U*00401*000000077*1*P*:~"
	x12Body    = "GS*PO*BUYER*SELLER*20260301*0930*5*X*004010~ST*850*0001~BEG*00*SA*4711**20260301~PO1*1*9*EA*2.5~SE*4*0001~GE*1*5~"
	iea        = "IEA*1*000000077~"
	x12Message = isa + x12Body + iea
)

func TestX12(t *testing.T) {
	t.Parallel()
	if len(isa) != 106 {
		t.Fatal("fixture is not 106 octets long")
	}
	ic := one(t, x12Message)
	if ic.Standard != interchange.X12 || ic.Sender != "BUYER" || ic.SenderQualifier != "ZZ" || ic.Recipient != "SELLER" ||
		ic.RecipientQualifier != "12" || ic.Control != "000000077" || ic.Test || !slices.Equal(ic.MessageTypes, []string{"850"}) {
		t.Errorf("reference %+v", ic.Reference)
	}
	want := interchange.Written{Sender: "BUYER          ", SenderQualifier: "ZZ", Recipient: "SELLER         ",
		RecipientQualifier: "12", Control: "000000077"}
	if ic.AsWritten != want {
		t.Errorf("as written %+v", ic.AsWritten)
	}
	if ic.Version != "00401" || ic.Date != "260301" || ic.Time != "0930" || !ic.AckRequested || !ic.Complete ||
		!slices.Equal(ic.Types(), []string{"850"}) || !slices.Equal(ic.Functions(), []string{"00"}) {
		t.Errorf("got %+v", ic)
	}
	irregular(t, ic)
}

func TestX12Layouts(t *testing.T) {
	t.Parallel()
	const odd = "ISA is not of fixed length"
	collapsed := strings.ReplaceAll(isa, "          ", "")
	for name, c := range map[string]struct {
		payload   string
		irregular []string
		same      bool // the content digest is that of the plain interchange
	}{
		"newline after terminators":  {strings.ReplaceAll(x12Message, "~", "~\r\n"), nil, true},
		"LF is the terminator":       {strings.ReplaceAll(x12Message, "~", "\n"), nil, true},
		"CR LF is the terminator":    {strings.ReplaceAll(x12Message, "~", "\r\n"), nil, true},
		"other separators":           {strings.NewReplacer("*", "|", ":", "\\", "~", "_").Replace(x12Message), nil, true},
		"control characters":         {strings.NewReplacer("*", "\x1D", ":", "\x1F", "~", "\x1C").Replace(x12Message), nil, true},
		"beyond ASCII":               {strings.NewReplacer("*", "\xA6", ":", "\xB7", "~", "\xA7").Replace(x12Message), nil, true},
		"tabs separate":              {strings.NewReplacer("*", "\t").Replace(x12Message), nil, true},
		"blank after terminators":    {strings.ReplaceAll(x12Message, "~", "~ \n"), nil, true},
		"indentation":                {strings.ReplaceAll(x12Message, "~", "~\n\t "), nil, true},
		"terminator in three octets": {strings.ReplaceAll(x12Message, "~", "\u2026\n"), []string{"segment terminator of several octets"}, true},
		"ISA11 in an old version":    {strings.Replace(x12Message, "*U*", "*^*", 1), nil, true},
		"blank before terminator":    {strings.Replace(x12Message, ":~", ": ~", 1), []string{"blank before the segment terminator"}, true},
		"padding collapsed":          {collapsed + x12Body + iea, []string{odd}, true},
		"the same, LF terminator":    {strings.ReplaceAll(collapsed+x12Body+iea, "~", "\n"), []string{odd}, true},
		"no-break spaces":            {strings.ReplaceAll(isa, "     *", "\u00A0\u00A0 \xA0 *") + x12Body + iea, []string{odd}, true},
		"newline inside ISA":         {isa[:70] + "\r\n" + isa[70:] + x12Body + iea, []string{odd}, true},
		"newline before terminator":  {isa[:105] + "\r\n~" + x12Body + iea, nil, true},
		"wrapped":                    {wrap(x12Message, 80), []string{odd}, true},
		"ISA16 missing":              {strings.Replace(x12Message, "*:~", "*~", 1), nil, true},
		"ISA16 missing, newlines":    {strings.ReplaceAll(strings.Replace(x12Message, "*:~", "*~", 1), "~", "~\n"), nil, true},
		"ISA15 ends ISA":             {strings.Replace(x12Message, "*P*:~", "*P~", 1), []string{odd}, true},
		"no last terminator":         {strings.TrimSuffix(x12Message, "~"), []string{"last segment is not terminated"}, true},
		"byte order mark":            {"\xEF\xBB\xBF" + x12Message, nil, true},
		"trailer without zeros":      {strings.Replace(x12Message, iea, "IEA*1*77~", 1), nil, false},
		"ISB, ISE, TA1":              {isa + "ISB*1~ISE*260301*0515*04~TA1*000000050*260301*1200*A*000~" + x12Body + "TA1*000000051*260301*1200*A*000~" + iea, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, ic := one(t, x12Message), one(t, c.payload)
			if ic.Standard != interchange.X12 || ic.Sender != "BUYER" || ic.Recipient != "SELLER" || ic.Control != "000000077" ||
				!ic.Complete || !slices.Equal(ic.Types(), want.Types()) || !slices.Equal(ic.Functions(), want.Functions()) {
				t.Errorf("got %+v", ic)
			}
			if (ic.Content == want.Content) != c.same {
				t.Errorf("content digest is the same: %t", !c.same)
			}
			irregular(t, ic, c.irregular...)
		})
	}
}

func wrap(s string, column int) string {
	var b strings.Builder
	for len(s) > column {
		b.WriteString(s[:column] + "\r\n")
		s = s[column:]
	}
	return b.String() + s
}

func TestX12Structure(t *testing.T) {
	t.Parallel()
	set := "ST*850*0001~SE*2*0001~"
	group := func(body string) string { return "GS*PO*A*B*20260301*0930*000005*X*004010~" + body + "GE*1*5~" }
	for name, c := range map[string]struct {
		body      string
		types     []string
		functions []string
		irregular []string
	}{
		"header in data":       {group("ST*850*0001~NM1*IL*1*ISAAC*ISA*IEA~SE*3*0001~"), []string{"850"}, nil, nil},
		"acknowledgement only": {"TA1*000000050*260301*1200*A*000~", []string{"TA1"}, nil, nil},
		"purposes": {group("ST*860*1~BCH*04*SA*1~SE*3*1~ST*810*2~BIG*20260301*1*20260301*1***DI*05~SE*3*2~ST*837*3~BHT*0019*18*1~SE*3*3~" +
			"ST*940*4~W05*N*538686~SE*3*4~ST*861*5~BRA*1*20260301*00*1~SE*3*5~"),
			[]string{"860", "810", "837", "940", "861"}, []string{"04", "05", "18", "00"}, []string{"count in a group trailer is wrong"}},
		"set trailer":   {group("ST*850*0001~SE*9*0002~"), []string{"850"}, nil, []string{"message reference differs in its trailer", "segment count of a message is wrong"}},
		"group trailer": {"GS*PO*A*B*20260301*0930*5*X*004010~" + set + "GE*2*6~", []string{"850"}, nil, []string{"group reference differs in its trailer", "count in a group trailer is wrong"}},
		"two groups":    {group(set) + group(set), []string{"850", "850"}, nil, []string{"count in the trailer is wrong"}},
		"no trailers":   {"GS*PO*A*B*20260301*0930*5*X*004010~ST*850*0001~", []string{"850"}, nil, []string{"group without trailer", "message without trailer"}},
		"stray":         {"SE*1*1~GE*1*1~", nil, nil, []string{"group trailer without group", "message trailer without message"}},
		"binary data":   {group("ST*841*1~BIN*9*~IEA*1*\n~~BDS*ASC*00012*~\r\n~~~~~~~~~~SE*4*1~"), []string{"841"}, nil, nil},
		"wrong length":  {group("ST*841*1~BIN*2*abcd~SE*3*1~"), []string{"841"}, nil, []string{"length of binary data is wrong"}},
		"no length":     {group("ST*841*1~BIN**abcd~BIN~BDS*1*x*y~SE*5*1~"), []string{"841"}, nil, []string{"length of binary data is wrong"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ic := one(t, isa+c.body+iea)
			if !ic.Complete || !slices.Equal(ic.Types(), c.types) || !slices.Equal(ic.Functions(), c.functions) {
				t.Errorf("complete %t, types %q, functions %q", ic.Complete, ic.Types(), ic.Functions())
			}
			irregular(t, ic, c.irregular...)
		})
	}
}

func TestX12Identity(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old, new  string
		standard  interchange.Standard
		test      bool
		irregular []string
	}{
		"test":                 {"*P*", "*T*", interchange.X12, true, nil},
		"information":          {"*P*", "*I*", interchange.X12, false, nil},
		"unknown usage":        {"*P*", "*X*", interchange.X12, false, []string{"test indicator is not in the code list"}},
		"test in a name":       {"SELLER    ", "TESTSELLER", interchange.X12, false, nil},
		"control not a number": {"000000077*1", "00000007A*1", interchange.Content, false, []string{"control number is not numeric", "control reference differs in the trailer"}},
		"no sender":            {"BUYER ", "      ", interchange.Content, false, []string{"no sender"}},
		"old version":          {"00401", "00200", interchange.X12, false, nil},
		"trailer differs":      {iea, "IEA*1*78~", interchange.X12, false, []string{"control reference differs in the trailer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ic := one(t, strings.Replace(x12Message, c.old, c.new, 1))
			if ic.Standard != c.standard || ic.Test != c.test {
				t.Errorf("got %+v", ic.Reference)
			}
			irregular(t, ic, c.irregular...)
		})
	}
}

// TestX12Repetition: ISA11 separates from 00402 on, unless it is a letter.
func TestX12Repetition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version, isa11 string
		separates      bool
	}{{"00501", "^", true}, {"00402", "^", true}, {"00401", "^", false}, {"00501", "U", false}} {
		message := strings.Replace(isa, "*U*00401", "*"+c.isa11+"*"+c.version, 1) + strings.ReplaceAll(x12Body, "4711", "CUR"+c.isa11+"b") + iea
		trailing := strings.Replace(message, "b**", "b"+c.isa11+"**", 1)
		if same := one(t, message).Content == one(t, trailing).Content; same != c.separates {
			t.Errorf("ISA11 %s in %s separates: %t", c.isa11, c.version, same)
		}
	}
}

// TestX12ManySegments: what is read eight octets at a time is read as what is
// read one by one, in any separators.
func TestX12ManySegments(t *testing.T) {
	t.Parallel()
	payload := string(order(20 << 10))
	plain := one(t, payload)
	for _, separators := range []string{"*:~", "|>~", "*:\r", "\xA6:~", "*\xB7~", "\xA6\xB7\xA7", "\x1D\x1F\x1C", "\t:~"} {
		ic := one(t, strings.NewReplacer("*", separators[:1], ":", separators[1:2], "~\n", separators[2:3]+"\n", "~", separators[2:3]).Replace(payload))
		if ic.Content != plain.Content || ic.Messages[0].Segments != plain.Messages[0].Segments || ic.Faults != 0 {
			t.Errorf("%q: %+v", separators, ic)
		}
	}
}
