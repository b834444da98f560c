package interchange_test

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

// samples are one interchange of every standard, the last octets being its
// trailer; HL7 as a batch, since a message has none.
func samples() map[interchange.Standard]string {
	return map[interchange.Standard]string{
		interchange.EDIFACT:   "UNA:+.? '\r\n" + edifactMessage,
		interchange.X12:       x12Message,
		interchange.TRADACOMS: tradacomsFile,
		interchange.HL7:       `BHS|^~\&|WARD|NORTH|LAB|SOUTH|20260301||||B-1` + "\r" + hl7Head + hl7Body + "BTS|1\r",
		interchange.VDA:       vdaFile("\r\n"),
	}
}

// TestTruncatedAnywhere: however much of an interchange is missing, what is left
// is one extent, and is not complete before its trailer is.
func TestTruncatedAnywhere(t *testing.T) {
	t.Parallel()
	trailers := map[interchange.Standard]string{
		interchange.EDIFACT: "UNZ", interchange.X12: "IEA", interchange.TRADACOMS: "END", interchange.HL7: "BTS", interchange.VDA: "519",
	}
	for standard, payload := range samples() {
		trailer := strings.LastIndex(payload, trailers[standard])
		for n := range len(payload) {
			ic := one(t, payload[:n])
			if ic.Complete && n < trailer+3 {
				t.Fatalf("%s: complete with %d of %d octets", standard, n, len(payload))
			}
		}
		if ic := one(t, payload); ic.Standard != standard || !ic.Complete || ic.Faults != 0 {
			t.Errorf("%s: %+v", standard, ic)
		}
	}
}

// TestDamagedAnywhere: any octet may be another one.
func TestDamagedAnywhere(t *testing.T) {
	t.Parallel()
	for standard, payload := range samples() {
		plain := one(t, payload)
		for i := range len(payload) {
			for _, c := range []byte{0, '\n', ' ', '\'', '~', '?', 0x1B, 'X', 0xFF} {
				damaged := []byte(payload)
				damaged[i] = c
				for _, ic := range scan(t, string(damaged)) {
					if ic.Raw == plain.Raw && damaged[i] != payload[i] {
						t.Fatalf("%s: octet %d is not in the raw digest", standard, i)
					}
				}
			}
		}
	}
}

// TestGigabyteOnOneLine is not parallel: it reads the allocation count of the
// process.
func TestGigabyteOnOneLine(t *testing.T) {
	const size = 1 << 30
	head := "UNB+UNOA:1+A+B+260301:0930+R1'UNH+1+ORDERS:D:96A:UN'BGM+220+7+9'FTX+AAI+++"
	tail := "'UNT+4+1'UNZ+1+R1'"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	found, err := interchange.Scan(io.MultiReader(strings.NewReader(head),
		io.LimitReader(&repeated{pattern: bytes.Repeat([]byte("free text: without end?' "), 2000)}, size), strings.NewReader(tail)))
	runtime.ReadMemStats(&after)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d interchanges, %v", len(found), err)
	}
	ic := found[0]
	if !ic.Complete || ic.Faults != 0 || ic.Messages[0].Faults != 0 || ic.Messages[0].Number != "7" || ic.End != int64(size+len(head)+len(tail)) {
		t.Errorf("got %+v", ic)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 2<<20 {
		t.Errorf("%d octets allocated", used)
	}
}

// TestMillionInterchanges: those beyond the bound cost no memory.
func TestMillionInterchanges(t *testing.T) {
	const tiny = "UNB+UNOA:1+A+B+260301:0930+1'UNH+1+ORDERS:D:96A:UN'UNT+2+1'UNZ+1+1'"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	found, err := interchange.Scan(io.LimitReader(&repeated{pattern: []byte(strings.Repeat(tiny, 100))}, int64(1e6*len(tiny))))
	runtime.ReadMemStats(&after)
	if err != nil || len(found) != interchange.MaxInterchanges+1 {
		t.Fatalf("%d interchanges, %v", len(found), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("%d octets allocated", used)
	}
}

// TestHugeHeaders: what is kept of headers is bounded in all.
func TestHugeHeaders(t *testing.T) {
	t.Parallel()
	huge := "UNB+UNOA:1+A+B+260301:0930+R1+" + strings.Repeat("x", 4000) + "'UNZ+0+R1'"
	found := scan(t, strings.Repeat(huge, 2000))
	kept := 0
	for _, ic := range found {
		kept += len(ic.Header)
	}
	if len(found) != 2000 || len(found[0].Header) == 0 || kept > 4<<20 {
		t.Errorf("%d interchanges, %d octets of headers", len(found), kept)
	}
}
