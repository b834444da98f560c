package interchange_test

import (
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"firstcopy/dedup/interchange"
)

// fuzzScan: no payload makes Scan fail, lose an octet, or depend on how it is
// read; what it returns of an interchange is bounded and holds together.
func fuzzScan(f *testing.F, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, octets []byte) {
		payload := string(octets)
		want := scan(t, payload)
		got, err := interchange.Scan(iotest.OneByteReader(strings.NewReader(payload)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("octet by octet: %+v, %v\nwant %+v", got, err, want)
		}
		for _, ic := range want {
			delimited := !markup(ic.Standard)
			if ic.Standard != interchange.Content && (ic.Control == "" || delimited && (ic.Sender == "" || ic.Recipient == "")) {
				t.Fatalf("identified without an identity: %+v", ic.Reference)
			}
			longest := 64
			if !delimited {
				longest = 255
			}
			if len(ic.Control) > 4*longest+7 || len(ic.Sender) > 4*(longest+1) || len(ic.Messages) > interchange.MaxMessages ||
				len(ic.MessageTypes) > 64 || len(ic.Header) > 4<<10 {
				t.Fatalf("out of bounds: %+v", ic)
			}
			for _, m := range ic.Messages {
				if m.Group >= len(ic.Groups) || delimited && m.Effect != interchange.EffectOf(ic.Standard, m.Function) && ic.Standard != interchange.Content {
					t.Fatalf("message %+v of %d groups", m, len(ic.Groups))
				}
			}
		}
	})
}

// markup tells the standards whose references need no parties.
func markup(s interchange.Standard) bool {
	switch s {
	case interchange.UBL, interchange.CII, interchange.SBDH, interchange.AS4, interchange.EPCIS, interchange.GS1, interchange.CXML:
		return true
	}
	return false
}

func FuzzScan(f *testing.F) {
	fuzzScan(f, "", edifactMessage+x12Message, wrap(edifactMessage, 35)+wrap(x12Message, 80), tradacomsFile+edifactMessage,
		"\x0B"+hl7Head+hl7Body+"\x1C\r"+vdaFile("\n")+x12Message, "\xFF\xFEU\x00N\x00B\x00")
}

func FuzzEDIFACT(f *testing.F) {
	fuzzScan(f, edifactMessage, interactive,
		"UNA:+.?*'\r\n"+edifactMessage+x12Message,
		strings.ReplaceAll(edifactMessage, "'", "\r\n"),
		edifactMessage[:60]+edifactMessage,
		"UNB\x1DUNOB\x1F1\x1DA\x1DB\x1D260301\x1F0930\x1DR1\x1CUNZ\x1D0\x1DR1\x1C",
		"UNB+ANSI:1+A+B+260301+0930+R1'UNZ+0+R1'junk'UNA:+.? 'UNB+UNOD'",
		"UNB+UNOA:4+A+B+260301:0930+R1'UNG+O+A+B+260301:0930+G1'UNO+P1+X+Y+5:1'USA+1'U'UNPUNP+5+P1'UNE+1+G1'UNZ+1+R1'")
}

func FuzzX12(f *testing.F) {
	fuzzScan(f, x12Message,
		strings.ReplaceAll(x12Message, "~", "\u2026\n"),
		isa+"BIN*5*~~~~~~BDS*a*2*xx~"+iea,
		strings.Replace(x12Message, "*:~", "*~", 1),
		isa+"ISB*1~TA1*1*260301*0930*A*000~GS*HC*A*B*20260301*0930*5*X*005010~ST*837*1~BHT*0019*00*1~CLM*1*1***11:B:7~REF*F8*X~SE*5*1~GE*1*5~"+iea)
}

func FuzzTRADACOMS(f *testing.F) {
	fuzzScan(f, tradacomsFile, wrap(tradacomsFile, 40), "STX=ANA:1+:A+:B+260301+R'MHD=1+X:9'MHD=2+'MTR=2'END=9'STX=ANA'")
}

func FuzzHL7(f *testing.F) {
	fuzzScan(f, hl7Head+hl7Body, samples()[interchange.HL7], "FHS|^~\\&|A|B|C|D|||||1\rBHS|^~\\&\rMSH|^~\\&|\rBTS|1\rFTS|1\r\x1C")
}

func FuzzVDA(f *testing.F) { fuzzScan(f, vdaFile(""), vdaFile("\r\n"), vdaFile("")[:200]) }

func FuzzMarkup(f *testing.F) {
	fuzzScan(f, ublMinimal, sbdh(ublMinimal), ciiDocument("380", "", ""), gs1(sbdhHeader, gs1Order("ADD", "COPY")), zugferd1,
		cxml("p", "t", cxmlOrder("new", "")), as4(soap12, as4User("m")+as4Signal("n", "<eb:Receipt/>")), epcisDocument(event), "{"+event+"}",
		multipart("", "\r\n"+as4(soap11, as4User("m")), "\r\npart"), "<!-- -->"+ublMinimal+"<?p?>"+ublMinimal+edifactMessage)
}
