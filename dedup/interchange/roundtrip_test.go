package interchange_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"firstcopy/dedup/interchange"

	"pgregory.net/rapid"
)

// An outline is what an interchange holds, before it is written and after it is
// read: types of messages, by group; a nil group holds those outside of groups.
type outline struct {
	grouped bool
	groups  [][]string
}

var outlines = rapid.Custom(func(t *rapid.T) outline {
	o := outline{grouped: rapid.Bool().Draw(t, "grouped")}
	kinds := rapid.SliceOfN(rapid.StringMatching(`[A-Z]{6}`), 1, 5)
	o.groups = rapid.SliceOfN(kinds, 1, 4).Draw(t, "groups")
	if !o.grouped {
		o.groups = o.groups[:1]
	}
	return o
})

// check compares an interchange with what it was written from. Messages are
// numbered through their group, from 1.
func (o outline) check(t *rapid.T, ic interchange.Interchange, lengths []int) {
	var types, messageTypes []string
	at := 0
	for g, group := range o.groups {
		if o.grouped && (ic.Groups[g].Messages != len(group) || ic.Groups[g].Declared != len(group) || ic.Groups[g].Control != strconv.Itoa(g+1)) {
			t.Fatalf("group %d: %+v", g, ic.Groups[g])
		}
		for m, kind := range group {
			got := ic.Messages[at]
			if got.Type != kind || got.Control != fmt.Sprintf("%04d", m+1) || got.Segments != lengths[at] || got.Declared != lengths[at] ||
				o.grouped && got.Group != g || !o.grouped && got.Group != -1 || got.Faults != 0 {
				t.Fatalf("message %d: %+v", at, got)
			}
			types, messageTypes = append(types, kind), append(messageTypes, kind)
			at++
		}
	}
	slices.Sort(messageTypes)
	if ic.Faults != 0 || len(ic.Messages) != at || o.grouped && len(ic.Groups) != len(o.groups) || !slices.Equal(ic.Types(), types) ||
		!slices.Equal(ic.MessageTypes, slices.Compact(messageTypes)) {
		t.Fatalf("got %+v", ic)
	}
}

// TestEDIFACTRoundTrip: a valid envelope is read as it was written, in any
// service characters, and no fault is found in it.
func TestEDIFACTRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := outlines.Draw(t, "outline")
		ref := rapid.StringMatching(`[A-Z0-9+:' ?]{0,12}[A-Z0-9]`).Draw(t, "reference")
		number := rapid.StringMatching(`[A-Z0-9+:'?/]{1,20}`).Draw(t, "document")
		m := message{{{"UNB"}, {"UNOC", "3"}, {"A?B", "14"}, {"C+D"}, {"260301", "0930"}, {ref}}}
		var lengths []int
		for g, group := range o.groups {
			if o.grouped {
				m = append(m, [][]string{{"UNG"}, {""}, {"A"}, {"B"}, {"260301", "0930"}, {strconv.Itoa(g + 1)}, {"UN"}})
			}
			for i, kind := range group {
				body := segments(datum).Draw(t, "body")
				control := fmt.Sprintf("%04d", i+1)
				m = append(m, [][]string{{"UNH"}, {control}, {kind, "D", "96A"}}, [][]string{{"BGM"}, {"380"}, {number, "2"}, {"5"}})
				m = append(append(m, body...), [][]string{{"UNT"}, {strconv.Itoa(len(body) + 3)}, {control}})
				lengths = append(lengths, len(body)+3)
			}
			if o.grouped {
				m = append(m, [][]string{{"UNE"}, {strconv.Itoa(len(group))}, {strconv.Itoa(g + 1)}})
			}
		}
		count := len(o.groups)
		if !o.grouped {
			count = len(o.groups[0])
		}
		m = append(m, [][]string{{"UNZ"}, {strconv.Itoa(count)}, {ref}})
		ic := one(t, edifactScript.Draw(t, "script").edifact(m))
		if ic.Control != interchange.Text([]byte(ref)) || ic.Sender != "A?B" || ic.Recipient != "C+D" {
			t.Fatalf("got %+v", ic.Reference)
		}
		for _, got := range ic.Messages {
			if got.Number != interchange.Text([]byte(number)) || got.Revision != "2" || got.Effect != interchange.Supersede {
				t.Fatalf("got %+v", got)
			}
		}
		o.check(t, ic, lengths)
	})
}

// TestX12RoundTrip is TestEDIFACTRoundTrip for X12.
func TestX12RoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := outlines.Draw(t, "outline")
		o.grouped = true
		var m message
		var lengths []int
		for g, group := range o.groups {
			m = append(m, [][]string{{"GS"}, {"PO"}, {"A"}, {"B"}, {"20260301"}, {"0930"}, {strconv.Itoa(g + 1)}, {"X"}, {"005010"}})
			for i, kind := range group {
				body := segments(plainDatum).Draw(t, "body")
				control := fmt.Sprintf("%04d", i+1)
				m = append(m, [][]string{{"ST"}, {kind}, {control}}, [][]string{{"BCH"}, {"05"}, {"SA"}, {"4711"}, {""}, {"3"}, {"20260301"}})
				m = append(append(m, body...), [][]string{{"SE"}, {strconv.Itoa(len(body) + 3)}, {control}})
				lengths = append(lengths, len(body)+3)
			}
			m = append(m, [][]string{{"GE"}, {strconv.Itoa(len(group))}, {strconv.Itoa(g + 1)}})
		}
		m = append(m, [][]string{{"IEA"}, {strconv.Itoa(len(o.groups))}, {"000000077"}})
		ic := one(t, x12Script.Draw(t, "script").x12(m, "260301", "0930"))
		for _, got := range ic.Messages {
			if got.Number != "4711" || got.Revision != "3" || got.Date != "20260301" || got.Effect != interchange.Supersede {
				t.Fatalf("got %+v", got)
			}
		}
		o.check(t, ic, lengths)
	})
}

// TestMessageDigests: a message has the same digest wherever it is sent, and
// another one when any of its data change.
func TestMessageDigests(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := edifactModel.Draw(t, "interchange")
		usual := script{component: ":", element: "+", release: "?", terminator: "'"}
		want := one(t, usual.edifact(m))

		again := m.clone()
		again[0][2], again[0][5], again[len(again)-1][2] = []string{"X"}, []string{"R99"}, []string{"R99"}
		again[2][1], again[len(again)-3][2] = []string{"77"}, []string{"77"} // UNH, UNT
		script := edifactScript.Draw(t, "script")
		got := one(t, script.edifact(again))
		if got.Messages[0].Digest != want.Messages[0].Digest || got.Content == want.Content {
			t.Fatalf("same content %t, %+v\nwant %+v", got.Content == want.Content, got.Messages, want.Messages)
		}

		s := rapid.IntRange(3, len(again)-4).Draw(t, "segment")
		e := rapid.IntRange(1, len(again[s])-1).Draw(t, "element")
		again[s][e][0] += datum.Draw(t, "more")
		if one(t, script.edifact(again)).Messages[0].Digest == want.Messages[0].Digest {
			t.Fatalf("%q has the digest of %q", script.edifact(again), usual.edifact(m))
		}
	})
}
