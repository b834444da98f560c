package interchange_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"firstcopy/dedup/interchange"
)

// A failer is *testing.T or *rapid.T.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// scan scans a payload and checks what holds for every payload.
func scan(tb failer, payload string) []interchange.Interchange {
	tb.Helper()
	found, err := interchange.Scan(strings.NewReader(payload))
	if err != nil {
		tb.Fatalf("Scan: %v", err)
	}
	checkExtents(tb, payload, found)
	return found
}

func checkExtents(tb failer, payload string, found []interchange.Interchange) {
	tb.Helper()
	var at int64
	for i, ic := range found {
		if ic.Start != at || ic.End < ic.Start {
			tb.Fatalf("interchange %d: extent [%d,%d), want it to start at %d", i, ic.Start, ic.End, at)
		}
		at = ic.End
		if at > int64(len(payload)) {
			break
		}
		if raw := sha256.Sum256([]byte(payload[ic.Start:ic.End])); ic.Raw != raw {
			tb.Fatalf("interchange %d: wrong raw digest", i)
		}
		if ic.Standard == interchange.Content && (ic.Content != ic.Raw || ic.Control != "sha256:"+hex.EncodeToString(ic.Raw[:])) {
			tb.Fatalf("interchange %d: content is not known by its raw digest", i)
		}
	}
	if at != int64(len(payload)) || len(found) == 0 {
		tb.Fatalf("%d interchanges end at %d of %d octets", len(found), at, len(payload))
	}
}

// one scans a payload that holds a single interchange.
func one(tb failer, payload string) interchange.Interchange {
	tb.Helper()
	found := scan(tb, payload)
	if len(found) != 1 {
		tb.Fatalf("%d interchanges, want 1", len(found))
	}
	return found[0]
}

func irregular(tb failer, ic interchange.Interchange, want ...string) {
	tb.Helper()
	if !slices.Equal(ic.Irregular, want) {
		tb.Errorf("irregular %q, want %q", ic.Irregular, want)
	}
}

func TestScanUnknown(t *testing.T) {
	t.Parallel()
	const utf16, ebcdic, noHeader = "text in UTF-16, which has no identity", "text in EBCDIC, which has no identity", "messages without an interchange header"
	for name, c := range map[string]struct{ payload, irregular string }{
		"empty":                         {"", ""},
		"blank":                         {" \r\n\x00", ""},
		"text":                          {"Dear Sirs,\nplease find enclosed our order.\n", ""},
		"UNA in words":                  {"UNABLE TO DELIVER YOUR MESSAGE", ""},
		"UNB damaged":                   {"NB+UNOA:1+SENDER+RECIPIENT+260301:0930+1'UNH+1+ORDERS:D:96A:UN'", ""},
		"no envelope":                   {"UNH+1+ORDERS:D:96A:UN'BGM+220+1+9'UNT+3+1'", noHeader},
		"X12 group only":                {"GS*PO*A*B*20260301*0930*1*X*004010~ST*850*0001~SE*2*0001~GE*1*1~", noHeader},
		"ISA in words":                  {"ISA Newton*was here*", ""},
		"ISA with one element too many": {strings.Replace(strings.ReplaceAll(isa, "          ", ""), "*:~", "**:~", 1) + x12Body, ""},
		"TRADACOMS with a plus sign":    {"STX+ANA:1+5000000000000+5010000000000+260301:093000+000007'", ""},
		"UTF-16 with byte order mark":   {"\xFF\xFEU\x00N\x00B\x00+\x00", utf16},
		"UTF-16, the other way round":   {"\xFE\xFF\x00U\x00N\x00B\x00+", utf16},
		"UTF-16 without a mark":         {"U\x00N\x00B\x00+\x00", utf16},
		"EBCDIC X12":                    {"\xC9\xE2\xC1\x5C\xF0\xF0", ebcdic},
		"EBCDIC EDIFACT":                {"\xE4\xD5\xC2\x4E\xE4\xD5", ebcdic},
		"header after junk":             {strings.Repeat("junk ", 20) + edifactMessage, ""},
		"PDF":                           {"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n", ""},
		"gzip":                          {"\x1F\x8B\x08\x00\x00\x00\x00\x00\x02\x03\xCB\x48", ""},
		"every octet":                   {everyOctet(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ic := one(t, c.payload)
			if ic.Standard != interchange.Content || ic.MessageTypes != nil {
				t.Errorf("got %+v", ic.Reference)
			}
			if c.irregular == "" {
				irregular(t, ic)
				return
			}
			irregular(t, ic, c.irregular)
		})
	}
}

func everyOctet() string {
	var b [512]byte
	for i := range b {
		b[i] = byte(250 - i)
	}
	return string(b[:])
}

func TestScanSeveral(t *testing.T) {
	t.Parallel()
	other := strings.NewReplacer("+", "|", ":", "^", "'", "~", "0001", "0002").Replace(edifactMessage)
	for name, c := range map[string]struct {
		payload string
		want    []string // standard and control reference
		starts  []int64
	}{
		"two standards, own service characters": {
			edifactMessage + "\r\n" + "UNA^|.? ~" + other + x12Message + strings.NewReplacer("*", "|", "~", "\n", ":", ">", "000000077", "000000078").Replace(x12Message),
			[]string{"edifact 2603010001", "edifact 2603010002", "x12 000000077", "x12 000000078"},
			nil,
		},
		"byte order mark and end-of-file mark between": {
			"\xEF\xBB\xBF" + edifactMessage + "\x1A\xEF\xBB\xBF" + edifactMessage,
			[]string{"edifact 2603010001", "edifact 2603010001"},
			[]int64{0, int64(len(edifactMessage)) + 3 + 4},
		},
		"short junk belongs to the one before": {
			edifactMessage + "\n-- end of file 1 --\n" + edifactMessage,
			[]string{"edifact 2603010001", "edifact 2603010001"},
			[]int64{0, int64(len(edifactMessage)) + 21},
		},
		"long junk is content of its own": {
			edifactMessage + "\r\n" + strings.Repeat("junk ", 20) + edifactMessage,
			[]string{"edifact 2603010001", "content"},
			[]int64{0, int64(len(edifactMessage)) + 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			var starts []int64
			for _, ic := range scan(t, c.payload) {
				starts = append(starts, ic.Start)
				if ic.Standard == interchange.Content {
					got = append(got, "content")
					continue
				}
				got = append(got, string(ic.Standard)+" "+ic.Control)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if c.starts != nil && !slices.Equal(starts, c.starts) {
				t.Errorf("starts %d, want %d", starts, c.starts)
			}
		})
	}
}

func TestScanJunk(t *testing.T) {
	t.Parallel()
	plain := one(t, edifactMessage)
	ic := one(t, "HDR 0001 VIA NET\r\n'"+edifactMessage+"\r\n.\r\n")
	irregular(t, ic, "unknown octets before the header", "unknown octets after the trailer")
	if ic.Content != plain.Content || ic.Raw == plain.Raw {
		t.Error("junk around an interchange must show in the raw digest only")
	}
	irregular(t, one(t, "\xEF\xBB\xBF\r\n "+edifactMessage+strings.Repeat(" ", 100000)))
}

func TestScanTruncated(t *testing.T) {
	t.Parallel()
	header := edifactMessage[:strings.IndexByte(edifactMessage, '\'')+1]
	found := scan(t, header+"\r\nUNA:+.? '"+edifactMessage)
	if len(found) != 2 || found[0].Standard != interchange.Content || found[0].AsWritten.Control != "2603010001" ||
		found[1].Standard != interchange.EDIFACT || found[1].Start != int64(len(header))+2 {
		t.Fatalf("got %+v", found)
	}
	irregular(t, found[0], "next header before the trailer", "no trailer")

	found = scan(t, x12Message[:120]+"~"+x12Message)
	if len(found) != 2 || found[0].Standard != interchange.Content || !found[1].Complete {
		t.Fatalf("got %+v", found)
	}

	ic := one(t, edifactMessage[:strings.Index(edifactMessage, "'UNS")])
	if ic.Complete || ic.Control != "2603010001" {
		t.Errorf("got %+v", ic)
	}
	irregular(t, ic, "no trailer", "last segment is not terminated", "message without trailer")
}

func TestScanTooMany(t *testing.T) {
	t.Parallel()
	const tiny = "UNB+UNOA:1+A+B+260301:0930+1'UNZ+0+1'"
	found := scan(t, strings.Repeat(tiny, interchange.MaxInterchanges+50))
	if len(found) != interchange.MaxInterchanges+1 {
		t.Fatalf("%d interchanges", len(found))
	}
	last := found[interchange.MaxInterchanges]
	if last.Standard != interchange.Content || last.End-last.Start != 50*int64(len(tiny)) {
		t.Errorf("rest is %+v", last)
	}
	irregular(t, last, "too many interchanges, the rest is not told apart")
	irregular(t, found[interchange.MaxInterchanges-1])
	if n := len(scan(t, strings.Repeat(tiny, interchange.MaxInterchanges)+"\n")); n != interchange.MaxInterchanges {
		t.Errorf("%d interchanges at the limit", n)
	}
}

func TestScanManyMessages(t *testing.T) {
	t.Parallel()
	ic := one(t, "UNB+UNOA:1+A+B+260301:0930+1'"+strings.Repeat("UNH+1+ORDERS:D:96A:UN'BGM+220+1+9'UNT+3+1'", interchange.MaxMessages+1)+"UNZ+10001+1'")
	if len(ic.Messages) != interchange.MaxMessages || len(ic.MessageTypes) != 1 {
		t.Errorf("%d messages, %d types", len(ic.Messages), len(ic.MessageTypes))
	}
	irregular(t, ic, "too many messages, not all are listed")
}

// TestScanErrors: a reader's error is reported, and nothing else beside it.
func TestScanErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	found, err := interchange.Scan(io.MultiReader(strings.NewReader(edifactMessage), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || found != nil {
		t.Errorf("got %v, %v", found, err)
	}
	if _, err = interchange.Scan(idle{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestScanChunks(t *testing.T) {
	t.Parallel()
	payload := "junk\n" + edifactMessage + string(invoice(200<<10, true)) + x12Message + string(order(150<<10))
	want := scan(t, payload)
	if len(want) != 4 {
		t.Fatalf("%d interchanges", len(want))
	}
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"one octet": iotest.OneByteReader, "half": iotest.HalfReader, "data with EOF": iotest.DataErrReader,
	} {
		got, err := interchange.Scan(wrap(strings.NewReader(payload)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: other result (%v)", name, err)
		}
	}
}

// TestScanLongSegment: a segment longer than the window is one segment.
func TestScanLongSegment(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("data?'?\r\n'", 30000)
	ic := one(t, envelope("UNOA:3+A+B+260301:0930+R1", "UNH+1+INVOIC:D'FTX+"+long+"'BGM+1+1+5'UNT+4+1'", "1+R1"))
	irregular(t, ic)
	wrapped := one(t, envelope("UNOA:3+A+B+260301:0930+R1", "UNH+1+INVOIC:D'FTX+"+strings.ReplaceAll(long, "\r\n", "")+"++'BGM+1+1+5'UNT+4+1'", "1+R1"))
	if !ic.Complete || !slices.Equal(ic.Functions(), []string{"5"}) || wrapped.Content != ic.Content {
		t.Errorf("got %+v", ic)
	}
}

// repeated is an endless payload.
type repeated struct {
	pattern []byte
	at      int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.pattern[r.at:])
	r.at = (r.at + n) % len(r.pattern)
	return n, nil
}

// TestScanMemory is not parallel: it reads the allocation count of the process.
func TestScanMemory(t *testing.T) {
	const size = 12 << 20
	for name, c := range map[string]struct {
		head, pattern string
		most          uint64 // MiB
	}{
		"one line":           {"UNB+UNOA:1+A+B+260301:0930+1'FTX+", "data without end ", 2},
		"released":           {"UNB+UNOA:1+A+B+260301:0930+1'FTX+", "?'", 2},
		"segments":           {"UNB+UNOA:1+A+B+260301:0930+1'", "LIN+1++4000862:SRS'", 2},
		"messages":           {"UNB+UNOA:1+A+B+260301:0930+1'", "UNH+1+ORDERS:D:96A:UN'UNT+2+1'", 24}, // a list of MaxMessages grows
		"header without end": {"UNB+UNOA:1+A+B+260301:0930+", "reference", 2},
		"binary":             {x12Message[:106] + "BIN*99999999999*", "~IEA*1~\n", 2},
		"blanks":             {edifactMessage, "\r\n", 2},
		"unknown":            {"", "0123456789", 2},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			found, err := interchange.Scan(io.LimitReader(io.MultiReader(strings.NewReader(c.head),
				&repeated{pattern: bytes.Repeat([]byte(c.pattern), 500)}), size))
			runtime.ReadMemStats(&after)
			if err != nil || len(found) != 1 || found[0].End != size {
				t.Fatalf("%d interchanges, %v", len(found), err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > c.most<<20 {
				t.Errorf("%d octets allocated", used)
			}
		})
	}
}
