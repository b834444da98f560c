package interchange_test

import (
	"reflect"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"

	"pgregory.net/rapid"
)

var stamp = rapid.StringMatching(`[0-9]{6}`)

// TestEDIFACTContent: the content digest is the same however an interchange is
// written and dated, and another one for any other content.
func TestEDIFACTContent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := edifactModel.Draw(t, "interchange")
		usual := script{component: ":", element: "+", release: "?", terminator: "'"}
		want := one(t, usual.edifact(m))
		if want.Standard != interchange.EDIFACT || len(want.Irregular) > 0 {
			t.Fatalf("got %+v", want)
		}

		again := m.clone()
		again[0][4] = []string{stamp.Draw(t, "date"), stamp.Draw(t, "time")[:4]}
		again[1][4] = []string{stamp.Draw(t, "group date")}
		other := edifactScript.Draw(t, "script")
		payload := other.edifact(again)
		got := one(t, payload)
		if got.Content != want.Content || !reflect.DeepEqual(got.Reference, want.Reference) || len(got.Irregular) > 0 {
			t.Fatalf("%q\nis another one: %+v\nwant %+v", payload, got, want)
		}

		s, e, c := drawDatum(t, m)
		if s <= 1 && e == 4 {
			return // the dates just varied
		}
		again[s][e][c] += datum.Draw(t, "more")
		if payload = other.edifact(again); one(t, payload).Content == want.Content {
			t.Fatalf("%q\nhas the content of %q", payload, usual.edifact(m))
		}
	})
}

func drawDatum(t *rapid.T, m message) (s, e, c int) {
	s = rapid.IntRange(0, len(m)-1).Draw(t, "segment")
	e = rapid.IntRange(1, len(m[s])-1).Draw(t, "element")
	c = rapid.IntRange(0, len(m[s][e])-1).Draw(t, "component")
	return s, e, c
}

// TestX12Content is TestEDIFACTContent for X12.
func TestX12Content(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := x12Model.Draw(t, "interchange")
		usual := script{component: ":", element: "*", terminator: "~"}
		want := one(t, usual.x12(m, "260301", "0930"))
		if want.Standard != interchange.X12 || len(want.Irregular) > 0 {
			t.Fatalf("got %+v", want)
		}

		again := m.clone()
		again[0][4], again[0][5] = []string{stamp.Draw(t, "group date")}, []string{stamp.Draw(t, "group time")}
		other := x12Script.Draw(t, "script")
		date, time := stamp.Draw(t, "date"), stamp.Draw(t, "time")[:4]
		payload := other.x12(again, date, time)
		got := one(t, payload)
		if got.Content != want.Content || !reflect.DeepEqual(got.Reference, want.Reference) {
			t.Fatalf("%q\nis another one: %+v\nwant %+v", payload, got, want)
		}

		s, e, c := drawDatum(t, m)
		if s == 0 && (e == 4 || e == 5) {
			return
		}
		again[s][e][c] += plainDatum.Draw(t, "more")
		if payload = other.x12(again, date, time); one(t, payload).Content == want.Content {
			t.Fatalf("%q\nhas the content of %q", payload, usual.x12(m, "260301", "0930"))
		}
	})
}

// A choppy reader returns as many octets as it is told to.
type choppy struct {
	*strings.Reader
	sizes []int
	turn  int
}

func (c *choppy) Read(p []byte) (int, error) {
	c.turn++
	return c.Reader.Read(p[:min(len(p), c.sizes[c.turn%len(c.sizes)])])
}

// TestScanAny: for any payload of several interchanges with anything between
// them, the extents partition it, the way it is read does not matter, and an
// extent scanned by itself is the same interchange.
func TestScanAny(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 4).Draw(t, "interchanges") {
			switch standard := rapid.SampledFrom([]interchange.Standard{interchange.EDIFACT, interchange.X12, interchange.TRADACOMS,
				interchange.HL7, interchange.VDA}).Draw(t, "standard"); standard {
			case interchange.EDIFACT:
				b.WriteString(edifactScript.Draw(t, "script").edifact(edifactModel.Draw(t, "interchange")))
			case interchange.X12:
				b.WriteString(x12Script.Draw(t, "script").x12(x12Model.Draw(t, "interchange"), "260301", "0930"))
			default:
				b.WriteString(samples()[standard])
			}
			b.WriteString(rapid.SampledFrom([]string{"", "\r\n", "\x00\x00", " \x1a", "\n-- junk --\n"}).Draw(t, "between"))
			b.WriteString(strings.Repeat("\n", rapid.SampledFrom([]int{0, 9000, 70000}).Draw(t, "lines")))
		}
		payload := b.String()
		want := scan(t, payload)
		sizes := rapid.SliceOfN(rapid.IntRange(1, 5000), 1, 5).Draw(t, "sizes")
		got, err := interchange.Scan(&choppy{Reader: strings.NewReader(payload), sizes: sizes})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("read in pieces: %+v, %v\nwant %+v", got, err, want)
		}
		for _, ic := range want {
			alone := one(t, payload[ic.Start:ic.End])
			if !reflect.DeepEqual(alone.Reference, ic.Reference) || alone.Content != ic.Content || alone.Raw != ic.Raw {
				t.Fatalf("alone: %+v\nwant %+v", alone, ic)
			}
		}
	})
}
