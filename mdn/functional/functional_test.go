package functional_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"firstcopy/dedup/interchange"
	"firstcopy/mdn/functional"
)

var at = time.Date(2026, 12, 1, 14, 5, 0, 0, time.UTC)

// A tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// scanned is the only interchange of a payload.
func scanned(tb tester, payload string) *interchange.Interchange {
	tb.Helper()
	found, err := interchange.Scan(strings.NewReader(payload))
	if err != nil || len(found) != 1 {
		tb.Fatalf("%d interchanges, %v", len(found), err)
	}
	return &found[0]
}

func compose(tb tester, x *interchange.Interchange, kind functional.Kind, drift bool) functional.Acknowledgement {
	tb.Helper()
	numbers := make([]int64, functional.Numbers(x, kind))
	for i := range numbers {
		numbers[i] = int64(41 + i)
	}
	a, err := functional.Compose(x, kind, functional.Options{Numbers: numbers, At: at, Drift: drift})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

const (
	order = "UNB+UNOA:3+SENDER:ZZ:BACK+RECVR:14:OURS+261201:1015+REF12345++ORDERS+A+1'" +
		"UNH+1+ORDERS:D:96A:UN:EAN008'BGM+220+PO1+9'UNT+3+1'UNH+2+ORDERS:D:96A:UN'BGM+220+PO2+9'UNT+3+2'UNZ+2+REF12345'"
	contrl = "UNB+UNOA:3+RECVR:14:OURS+SENDER:ZZ:BACK+261201:1405+41'UNH+1+CONTRL:D:3:UN'UCI+REF12345+SENDER:ZZ:BACK+RECVR:14:OURS+"
)

func TestCONTRL(t *testing.T) {
	t.Parallel()
	replaced := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(order) }
	groups := "UNB+UNOA:3+S+R+261201:1015+G9+++++1'" +
		"UNG+ORDERS+A:1+B:1+261201:1015+10+UN+D:96A'UNH+1+ORDERS:D:96A:UN'BGM+220+1+9'UNT+3+1'UNE+1+10'" +
		"UNG+INVOIC+A:1+B:1+261201:1015+11+UN+D:96A'UNH+1+INVOIC:D:96A:UN'BGM+380+1+9'UNT+9+1'UNE+1+11'" +
		"UNG+INVOIC+A:1+B:1+261201:1015+12+UN+D:96A'UNH+1+INVOIC:D:96A:UN'BGM+380+1+9'UNT+9+1'UNE+3+12'UNZ+3+G9'"
	for name, tc := range map[string]struct {
		payload string
		drift   bool
		want    string
		outcome functional.Outcome
		code    string
	}{
		"accepted": {order, false, contrl + "7'UNT+3+1'UNZ+1+41'", functional.Accepted, ""},
		"received": {replaced("+A+1'", "+A+2'"), false, contrl + "8'UNT+3+1'UNZ+1+41'", functional.Received, ""},
		"test": {replaced("+A+1'", "+A+1++1'"), false,
			strings.Replace(contrl, "+41'", "+41++++++1'", 1) + "7'UNT+3+1'UNZ+1+41'", functional.Accepted, ""},
		"test without UNZ": {replaced("+A+1'", "+A+1++1'", "UNZ+2+REF12345'", ""), false,
			strings.Replace(contrl, "+41'", "+41++++++1'", 1) + "4+13+UNZ'UNT+3+1'UNZ+1+41'", functional.Rejected, "13"},
		"drift": {order, true, contrl + "4+26+UNB+6'UNT+3+1'UNZ+1+41'", functional.Rejected, "26"},
		"drift where a receipt is asked for": {replaced("+A+1'", "+A+2'"), true, contrl + "4+26+UNB+6'UNT+3+1'UNZ+1+41'",
			functional.Rejected, "26"},
		"other reference in UNZ": {replaced("UNZ+2+REF12345", "UNZ+2+REF1234"), false, contrl + "4+28+UNZ+3'UNT+3+1'UNZ+1+41'",
			functional.Rejected, "28"},
		"count in UNZ": {replaced("UNZ+2", "UNZ+3"), false, contrl + "4+29+UNZ+2'UNT+3+1'UNZ+1+41'", functional.Rejected, "29"},
		"no UNZ":       {replaced("UNZ+2+REF12345'", ""), false, contrl + "4+13+UNZ'UNT+3+1'UNZ+1+41'", functional.Rejected, "13"},
		"mixed": {replaced("UNH+2+", "UNG+ORDERS+A+B+261201:1015+10+UN+D:96A'UNH+2+", "UNT+3+2'", "UNT+3+2'UNE+1+10'"), false,
			contrl + "4+30'UNT+3+1'UNZ+1+41'", functional.Rejected, "30"},
		"count in UNT": {replaced("UNT+3+2", "UNT+4+2"), false,
			contrl + "7'UCM+2+ORDERS:D:96A:UN+4+29+UNT+2'UNT+4+1'UNZ+1+41'", functional.Partial, "29"},
		"two messages in error": {replaced("UNT+3+1", "UNT+3+X", "UNT+3+2", ""), false,
			contrl + "7'UCM+1+ORDERS:D:96A:UN:EAN008+4+28+UNT+3'UCM+2+ORDERS:D:96A:UN+4+13+UNT'UNT+5+1'UNZ+1+41'", functional.Partial, "28"},
		"the same reference twice": {replaced("UNH+2+", "UNH+1+", "UNT+3+2", "UNT+3+1"), false,
			contrl + "7'UCM+1+ORDERS:D:96A:UN+4+26+UNH+2'UNT+4+1'UNZ+1+41'", functional.Partial, "26"},
		"groups": {groups, false, "UNB+UNOA:3+R+S+261201:1405+41'UNH+1+CONTRL:D:3:UN'UCI+G9+S+R+7'" +
			"UCF+11+A:1+B:1+7'UCM+1+INVOIC:D:96A:UN+4+29+UNT+2'UCF+12+A:1+B:1+4+29+UNE+2'UNT+6+1'UNZ+1+41'", functional.Partial, "29"},
		"CONTRL beside data": {replaced("UNH+2+ORDERS:D:96A:UN'", "UNH+2+CONTRL:D:3:UN'", "UNT+3+2", "UNT+4+2"), false,
			contrl + "7'UNT+3+1'UNZ+1+41'", functional.Accepted, ""},
		"version 4": {replaced("UNOA:3", "UNOC:4", "261201:1015", "20261201:1015", "REF12345", "REF*?'?+"), false,
			"UNA:+.?*'UNB+UNOC:4+RECVR:14:OURS+SENDER:ZZ:BACK+20261201:1405+41'UNH+1+CONTRL:4:1:UN'" +
				"UCI+REF?*?'?++SENDER:ZZ:BACK+RECVR:14:OURS+7'UNT+3+1'UNZ+1+41'", functional.Accepted, ""},
		"other service characters": {"UNA;*,!@~UNB*UNOC;3*A?+:'B;14*C!;D;ZZ*261201;1015*R!~1!!*****1~UNH*1*ORDERS;D;96A;UN~BGM*220*1*9~UNT*3*1~UNZ*1*R!~1!!~",
			false, "UNA:+.? 'UNB+UNOC:3+C;D:ZZ+A???+?:?'B:14+261201:1405+41'UNH+1+CONTRL:D:3:UN'UCI+R~1!+A???+?:?'B:14+C;D:ZZ+7'UNT+3+1'UNZ+1+41'",
			functional.Accepted, ""},
		"octets of an unknown character set, wrapped": {replaced("UNOA", "UNOC", "SENDER", "SE\xD6\r\nNDER", "REF12345", "REF\r\n12345"), false,
			strings.NewReplacer("UNB+UNOA", "UNA:+.? 'UNB+UNOC", "SENDER", "SE\xD6NDER").Replace(contrl) + "7'UNT+3+1'UNZ+1+41'", functional.Accepted, ""},
		"date and time in two elements": {"UNB+ANSI:1+A+B+180312+1623+1+++++1'UNH+1+MEDRPT:1:901:UN'BGM+1+1+9'UNT+3+1'UNZ+1+1'", false,
			"UNA:+.? 'UNB+ANSI:1+B+A+261201:1405+41'UNH+1+CONTRL:D:3:UN'UCI+1+A+B+7'UNT+3+1'UNZ+1+41'", functional.Accepted, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := compose(t, scanned(t, tc.payload), functional.CONTRL, tc.drift)
			if string(a.Octets) != tc.want || a.Outcome != tc.outcome || a.Code != tc.code || a.Control != "41" {
				t.Errorf("%s %q of\n%s\nis\n%s\nwant %s %q\n%s", a.Outcome, a.Code, tc.payload, a.Octets, tc.outcome, tc.code, tc.want)
			}
			readBack(t, a, "CONTRL")
		})
	}
}

const (
	sets = "ISA*00*          *00*          *ZZ*GLOBEX         *14*HUB            *261201*1015*U*00401*000004711*1*P*>~" +
		"GS*PO*GLOBEX*HUB*20261201*1015*4711*X*004010VICS~ST*850*0001~BEG*00*SA*PO1**20261201~SE*3*0001~" +
		"ST*850*0002~BEG*00*SA*PO2**20261201~SE*3*0002~GE*2*4711~IEA*1*000004711~"
	isa = "ISA*00*          *00*          *14*HUB            *ZZ*GLOBEX         *261201*1405*U*00401*000000041*0*P*:~"
)

func TestTA1(t *testing.T) {
	t.Parallel()
	replaced := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(sets) }
	for name, tc := range map[string]struct {
		payload string
		drift   bool
		want    string
		code    string
	}{
		"accepted": {sets, false, isa + "TA1*000004711*261201*1015*A*000~IEA*0*000000041~", ""},
		"drift":    {sets, true, isa + "TA1*000004711*261201*1015*R*025~IEA*0*000000041~", "025"},
		"test": {replaced("*P*>", "*T*>"), false,
			strings.Replace(isa, "*P*:", "*T*:", 1) + "TA1*000004711*261201*1015*A*000~IEA*0*000000041~", ""},
		"test without IEA": {replaced("*P*>", "*T*>", "IEA*1*000004711~", ""), false,
			strings.Replace(isa, "*P*:", "*T*:", 1) + "TA1*000004711*261201*1015*R*023~IEA*0*000000041~", "023"},
		"other number in IEA": {replaced("IEA*1*000004711", "IEA*1*000004712"), false,
			isa + "TA1*000004711*261201*1015*R*001~IEA*0*000000041~", "001"},
		"count in IEA": {replaced("IEA*1", "IEA*2"), false, isa + "TA1*000004711*261201*1015*R*021~IEA*0*000000041~", "021"},
		"no IEA":       {replaced("IEA*1*000004711~", ""), false, isa + "TA1*000004711*261201*1015*R*023~IEA*0*000000041~", "023"},
		"sets in error": {replaced("SE*3*0002", "SE*4*0002"), false,
			isa + "TA1*000004711*261201*1015*A*000~IEA*0*000000041~", ""},
		"5010, and an asterisk in an identity": {strings.NewReplacer("*", "|", "HUB            *261201", "H*B            |261201", "U*00401", "^|00501").Replace(sets), false,
			strings.NewReplacer("*", "|", "HUB", "H*B", "U*00401", "^|00501").Replace(isa) + "TA1|000004711|261201|1015|A|000~IEA|0|000000041~", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := compose(t, scanned(t, tc.payload), functional.TA1, tc.drift)
			if string(a.Octets) != tc.want || a.Code != tc.code || (a.Outcome == functional.Accepted) != (tc.code == "") || a.Control != "000000041" {
				t.Errorf("%s %q\n%s\nwant %q\n%s", a.Outcome, a.Code, a.Octets, tc.code, tc.want)
			}
			if len(isa) != 106 || a.Octets[105] != a.Octets[len(a.Octets)-1] {
				t.Error("ISA has not 106 octets")
			}
			readBack(t, a, "TA1")
		})
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	replaced := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(sets) }
	gs := isa + "GS*FA*HUB*GLOBEX*20261201*1405*41*X*004010~"
	end := "GE*1*41~IEA*1*000000041~"
	hipaa := replaced("U*00401", "^*00501", "004010VICS", "005010X222A1", "ST*850*0001", "ST*850*0001*005010X222A1")
	hipaaISA := strings.Replace(isa, "U*00401", "^*00501", 1)
	for name, tc := range map[string]struct {
		kind    functional.Kind
		payload string
		want    string
		outcome functional.Outcome
		code    string
	}{
		"accepted": {functional.FunctionalAcknowledgement, sets, gs + "ST*997*0001~AK1*PO*4711~AK2*850*0001~AK5*A~AK2*850*0002~AK5*A~AK9*A*2*2*2~SE*8*0001~" + end, functional.Accepted, ""},
		"one rejected": {functional.FunctionalAcknowledgement, replaced("SE*3*0002", "SE*4*0003"),
			gs + "ST*997*0001~AK1*PO*4711~AK2*850*0001~AK5*A~AK2*850*0002~AK5*R*3*4~AK9*P*2*2*1~SE*8*0001~" + end, functional.Partial, "3"},
		"all rejected": {functional.FunctionalAcknowledgement, replaced("SE*3*0002", "SE*4*0002", "SE*3*0001~", ""),
			gs + "ST*997*0001~AK1*PO*4711~AK2*850*0001~AK5*R*2~AK2*850*0002~AK5*R*4~AK9*R*2*2*0~SE*8*0001~" + end, functional.Rejected, "2"},
		"number twice": {functional.FunctionalAcknowledgement, replaced("*850*0002", "*850*0001", "SE*3*0002", "SE*3*0001"),
			gs + "ST*997*0001~AK1*PO*4711~AK2*850*0001~AK5*A~AK2*850*0001~AK5*R*23~AK9*P*2*2*1~SE*8*0001~" + end, functional.Partial, "23"},
		"group trailer": {functional.FunctionalAcknowledgement, replaced("GE*2*4711", "GE*3*4712"),
			gs + "ST*997*0001~AK1*PO*4711~AK9*R*3*2*0*4*5~SE*4*0001~" + end, functional.Rejected, "4"},
		"no group trailer": {functional.FunctionalAcknowledgement, replaced("GE*2*4711~", ""),
			gs + "ST*997*0001~AK1*PO*4711~AK9*R*2*2*0*3~SE*4*0001~" + end, functional.Rejected, "3"},
		"999": {functional.Implementation, hipaa, hipaaISA + "GS*FA*HUB*GLOBEX*20261201*1405*41*X*005010X231A1~" +
			"ST*999*0001*005010X231A1~AK1*PO*4711*005010X222A1~AK2*850*0001*005010X222A1~IK5*A~AK2*850*0002~IK5*A~AK9*A*2*2*2~SE*8*0001~" + end, functional.Accepted, ""},
		"groups of several parties, one of acknowledgements": {functional.FunctionalAcknowledgement, replaced("IEA*1", "GS*FA*GLOBEX*HUB*20261201*1015*5*X*004010~ST*997*0001~AK1*PO*1~AK9*A*1*1*1~SE*4*0001~GE*1*5~"+
			"GS*IN*OTHER*HUB*20261201*1015*6*X*003040~ST*810*0001~BIG*20261201*1~SE*3*0001~GE*1*6~"+
			"GS*IN*GLOBEX*HUB*20261201*1015*7*X*004010~ST*810*0001~BIG*20261201*1~SE*3*0001~GE*1*7~IEA*4"),
			gs + "ST*997*0001~AK1*PO*4711~AK2*850*0001~AK5*A~AK2*850*0002~AK5*A~AK9*A*2*2*2~SE*8*0001~" +
				"ST*997*0002~AK1*IN*7~AK2*810*0001~AK5*A~AK9*A*1*1*1~SE*6*0002~GE*2*41~" +
				"GS*FA*HUB*OTHER*261201*1405*42*X*003040~ST*997*0001~AK1*IN*6~AK2*810*0001~AK5*A~AK9*A*1*1*1~SE*6*0001~GE*1*42~IEA*2*000000041~", functional.Accepted, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := compose(t, scanned(t, tc.payload), tc.kind, false)
			if string(a.Octets) != tc.want || a.Outcome != tc.outcome || a.Code != tc.code {
				t.Errorf("%s %q\n%s\nwant %s %q\n%s", a.Outcome, a.Code, a.Octets, tc.outcome, tc.code, tc.want)
			}
			readBack(t, a, string(tc.kind))
		})
	}
}

// readBack holds an acknowledgement against package interchange.
func readBack(tb tester, a functional.Acknowledgement, messageType string) {
	tb.Helper()
	x := scanned(tb, string(a.Octets))
	if !x.Acknowledges || x.AckRequested || !x.Complete || len(x.Irregular) > 0 || x.Faults != 0 ||
		len(x.MessageTypes) != 1 || x.MessageTypes[0] != messageType || x.Control != a.Control {
		tb.Errorf("%s\nis read as %+v", a.Octets, x)
	}
	if due := functional.Due(x, functional.Terms{CONTRL: functional.Always, TA1: functional.Always, Groups: "997", RejectDrift: true}, true); due != nil {
		tb.Errorf("%v would be sent for an acknowledgement", due)
	}
}

func TestDue(t *testing.T) {
	t.Parallel()
	unasked := strings.Replace(order, "+A+1'", "+A'", 1)
	quiet := strings.Replace(sets, "*1*P*", "*0*P*", 1)
	broken := strings.Replace(quiet, "IEA*1", "IEA*2", 1)
	asks := functional.Terms{CONTRL: functional.Requested, TA1: functional.Requested}
	always := functional.Terms{CONTRL: functional.Always, TA1: functional.Always, Groups: functional.FunctionalAcknowledgement}
	strict := asks
	strict.RejectDrift = true
	for name, tc := range map[string]struct {
		payload string
		terms   functional.Terms
		drift   bool
		want    string
	}{
		"requested":                  {order, asks, false, "contrl"},
		"not requested":              {unasked, asks, false, ""},
		"always":                     {unasked, always, false, "contrl"},
		"never":                      {order, functional.Terms{}, false, ""},
		"drift, accepted":            {unasked, asks, true, ""},
		"drift, rejected":            {unasked, strict, true, "contrl"},
		"drift, nothing agreed":      {order, functional.Terms{RejectDrift: true}, true, ""},
		"only a CONTRL":              {contrl + "7'UNT+3+1'UNZ+1+41'", always, false, ""},
		"ISA14":                      {sets, asks, false, "ta1"},
		"ISA14 is 0":                 {quiet, asks, false, ""},
		"997 is not requested":       {quiet, always, false, "997"},
		"both":                       {sets, always, false, "ta1 997"},
		"envelope in error":          {broken, always, false, "ta1"},
		"envelope in error, quiet":   {broken, asks, false, ""},
		"without TA1":                {broken, functional.Terms{Groups: functional.Implementation}, false, "999"},
		"X12 drift, rejected":        {quiet, strict, true, "ta1"},
		"X12 drift, 997 agreed":      {quiet, functional.Terms{TA1: functional.Always, Groups: "997", RejectDrift: true}, true, "ta1"},
		"X12 drift, accepted":        {sets, always, true, "ta1 997"},
		"only a TA1":                 {isa + "TA1*000004711*261201*1015*A*000~IEA*0*000000041~", always, false, ""},
		"neither EDIFACT nor X12":    {"<Invoice/>", always, true, ""},
		"an interchange cut off":     {strings.Replace(order, "UNZ+2+REF12345'", "", 1), asks, false, "contrl"},
		"an X12 interchange so, too": {strings.Replace(sets, "IEA*1*000004711~", "", 1), asks, false, "ta1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var due []string
			for _, kind := range functional.Due(scanned(t, tc.payload), tc.terms, tc.drift) {
				due = append(due, string(kind))
			}
			if got := strings.Join(due, " "); got != tc.want {
				t.Errorf("%q is due, want %q", got, tc.want)
			}
		})
	}
}

func TestUnanswerable(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("9", 36)
	for name, tc := range map[string]struct {
		kind    functional.Kind
		payload string
		why     string
	}{
		"no 0020":            {functional.CONTRL, strings.ReplaceAll(order, "REF12345", ""), "0020"},
		"0020 too long":      {functional.CONTRL, strings.ReplaceAll(order, "REF12345", long), "0020"},
		"no sender":          {functional.CONTRL, strings.Replace(order, "SENDER", "", 1), "S002"},
		"qualifier too long": {functional.CONTRL, strings.Replace(order, "RECVR:14", "RECVR:14141", 1), "S003"},
		"control character":  {functional.CONTRL, strings.Replace(order, "RECVR", "RE\x01VR", 1), "S003"},
		"UNB breaks off":     {functional.CONTRL, "UNB+UNOA:3+A'UNZ+1+1'", "0020"},
		"ISA13 is no number": {functional.TA1, strings.Replace(sets, "*000004711*1", "*00000471X*1", 1), "ISA13"},
		"no recipient":       {functional.TA1, strings.Replace(sets, "*14*HUB ", "*14*    ", 1), "ISA08"},
		"no date":            {functional.TA1, strings.Replace(sets, "*261201*1015*U", "*      *1015*U", 1), "ISA09"},
		"no group number":    {functional.FunctionalAcknowledgement, strings.Replace(sets, "*1015*4711*X", "*1015**X", 1), "GS06"},
		"CONTRL for X12":     {functional.CONTRL, sets, "contrl"},
		"997 for EDIFACT":    {functional.FunctionalAcknowledgement, order, "997"},
		"neither of the two": {functional.TA1, "<Invoice/>", "ta1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := functional.Compose(scanned(t, tc.payload), tc.kind, functional.Options{Numbers: []int64{1}, At: at})
			if !errors.Is(err, functional.ErrUnanswerable) || !strings.Contains(err.Error(), tc.why) {
				t.Errorf("%v, want something about %s", err, tc.why)
			}
		})
	}
}

// An interchange of which the header was not kept is on record as unanswered.
func TestHeaderIsGone(t *testing.T) {
	t.Parallel()
	for payload, kind := range map[string]functional.Kind{order: functional.CONTRL, sets: functional.TA1} {
		x := scanned(t, payload)
		x.Header = nil
		due := functional.Due(x, functional.Terms{CONTRL: functional.Requested, TA1: functional.Requested}, false)
		_, err := functional.Compose(x, kind, functional.Options{Numbers: []int64{1}, At: at})
		if len(due) != 1 || due[0] != kind || !errors.Is(err, functional.ErrUnanswerable) {
			t.Errorf("%v is due, %v", due, err)
		}
	}
}

// A control number that the element cannot hold, or one that is missing, is the
// caller's mistake.
func TestNumbers(t *testing.T) {
	t.Parallel()
	x := scanned(t, sets)
	for _, numbers := range [][]int64{nil, {0}, {-1}, {1_000_000_000}} {
		if _, err := functional.Compose(x, functional.TA1, functional.Options{Numbers: numbers, At: at}); err == nil || errors.Is(err, functional.ErrUnanswerable) {
			t.Errorf("%v: %v", numbers, err)
		}
	}
	if from, to := functional.Parties(x); from != "HUB:14" || to != "GLOBEX:ZZ" {
		t.Errorf("from %s to %s", from, to)
	}
}
