package interchange_test

import (
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"firstcopy/dedup/interchange"
)

// FuzzScan: no payload makes Scan fail, lose an octet, or depend on how it is
// read; what it returns of an interchange is bounded.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		"", edifactMessage, x12Message,
		"UNA:+.?*'\r\n" + edifactMessage + x12Message,
		strings.ReplaceAll(edifactMessage, "'", "\r\n"),
		strings.ReplaceAll(x12Message, "~", "\u2026\n"),
		wrap(edifactMessage, 35) + wrap(x12Message, 80),
		edifactMessage[:60] + edifactMessage,
		isa + "BIN*5*~~~~~~BDS*a*2*xx~" + iea,
		strings.Replace(x12Message, "*:~", "*~", 1),
		"UNB\x1DUNOB\x1F1\x1DA\x1DB\x1D260301\x1F0930\x1DR1\x1CUNZ\x1D0\x1DR1\x1C",
		"UNB+ANSI:1+A+B+260301+0930+R1'UNZ+0+R1'junk'UNA:+.? 'UNB+UNOD'",
	} {
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
			if ic.Standard != interchange.Content && (ic.Sender == "" || ic.Recipient == "" || ic.Control == "") {
				t.Fatalf("identified without an identity: %+v", ic.Reference)
			}
			if len(ic.Control) > 4*64+7 || len(ic.Sender) > 4*64 || len(ic.Messages) > interchange.MaxMessages || len(ic.MessageTypes) > 64 {
				t.Fatalf("out of bounds: %+v", ic)
			}
		}
	})
}
