package dedup_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/internal/pgtest"
)

// Each case is a history of one reference; want is the verdict of its last copy.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	type copyOf struct {
		after        time.Duration // time that passes before it
		raw, content string
		partner      int64
		change       func(*interchange.Reference)
	}
	test := func(r *interchange.Reference) { r.Test = true }
	orders := func(r *interchange.Reference) { r.MessageTypes = []string{"ORDERS"} }
	mixed := func(r *interchange.Reference) { r.MessageTypes = []string{"INVOIC", "ORDERS"} }
	qualified := func(r *interchange.Reference) { r.SenderQualifier = "ZZ" }
	cases := []struct {
		name  string
		story []copyOf
		want  dedup.Verdict
		epoch int
		late  bool
	}{
		{"unknown reference", []copyOf{{raw: "a", content: "a"}}, dedup.First, 1, false},
		{"same octets", []copyOf{{raw: "a", content: "a"}, {raw: "a", content: "a"}}, dedup.Duplicate, 1, false},
		{"re-wrapped, same canonical form", []copyOf{{raw: "a", content: "c"}, {raw: "b", content: "c"}}, dedup.Duplicate, 1, false},
		{"same octets under another canonical version", []copyOf{{raw: "a", content: "c1"}, {raw: "a", content: "c2"}}, dedup.Duplicate, 1, false},
		{"other content", []copyOf{{raw: "a", content: "a"}, {raw: "b", content: "b"}}, dedup.Drift, 1, false},
		{"second copy of held content", []copyOf{{raw: "a", content: "a"}, {raw: "b", content: "b"}, {raw: "b", content: "b"}}, dedup.Duplicate, 1, false},
		{"the original after drift", []copyOf{{raw: "a", content: "a"}, {raw: "b", content: "b"}, {raw: "a", content: "a"}}, dedup.Duplicate, 1, false},
		{"late duplicate, J+15", []copyOf{{raw: "a", content: "a"}, {after: fortnight + time.Hour, raw: "a", content: "a"}}, dedup.Duplicate, 1, true},
		{"just inside the window", []copyOf{{raw: "a", content: "a"}, {after: fortnight - time.Minute, raw: "b", content: "b"}}, dedup.Drift, 1, false},
		{"counter wrapped", []copyOf{{raw: "a", content: "a"}, {after: fortnight + time.Hour, raw: "b", content: "b"}}, dedup.Reuse, 2, false},
		{"wrapped twice", []copyOf{{raw: "a", content: "a"}, {after: fortnight, raw: "b", content: "b"}, {after: fortnight, raw: "c", content: "c"}}, dedup.Reuse, 3, false},
		{"duplicate in the new epoch", []copyOf{{raw: "a", content: "a"}, {after: fortnight, raw: "b", content: "b"}, {raw: "b", content: "b"}}, dedup.Duplicate, 2, false},
		{"replay from an old epoch", []copyOf{{raw: "a", content: "a"}, {after: fortnight, raw: "b", content: "b"}, {raw: "a", content: "a"}}, dedup.Duplicate, 2, false},
		{"drift in the new epoch", []copyOf{{raw: "a", content: "a"}, {after: fortnight, raw: "b", content: "b"}, {raw: "c", content: "c"}}, dedup.Drift, 2, false},
		{"another partner", []copyOf{{raw: "a", content: "a"}, {partner: 2, raw: "a", content: "a"}}, dedup.First, 1, false},
		{"test flag", []copyOf{{raw: "a", content: "a"}, {change: test, raw: "b", content: "b"}}, dedup.First, 1, false},
		{"other message type", []copyOf{{raw: "a", content: "a"}, {change: orders, raw: "b", content: "b"}}, dedup.First, 1, false},
		{"more message types", []copyOf{{raw: "a", content: "a"}, {change: mixed, raw: "b", content: "b"}}, dedup.First, 1, false},
		{"qualifier in the key", []copyOf{{raw: "a", content: "a"}, {change: qualified, raw: "a", content: "a"}}, dedup.First, 1, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			var last dedup.Decision
			for _, s := range c.story {
				pass(t, pool, s.after)
				r := reference("REF1")
				if s.change != nil {
					s.change(&r)
				}
				last = register(t, pool, max(1, s.partner), entry(r, s.raw, s.content, fortnight))[0]
			}
			if last.Verdict != c.want || last.Epoch != c.epoch || last.Late != c.late {
				t.Errorf("got %s, epoch %d, late %v; want %s, %d, %v", last.Verdict, last.Epoch, last.Late, c.want, c.epoch, c.late)
			}
		})
	}
}

func TestDuplicateNamesTheDocumentThatHoldsItsContent(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	first := register(t, pool, 1, entry(reference("R"), "a", "a", fortnight))[0]
	held := register(t, pool, 1, entry(reference("R"), "b", "b", fortnight))[0]
	if got := register(t, pool, 1, entry(reference("R"), "a", "a", fortnight))[0].Document; got != first.Document {
		t.Errorf("the original's replay names %s, want %s", got, first.Document)
	}
	if got := register(t, pool, 1, entry(reference("R"), "b", "b", fortnight))[0].Document; got != held.Document {
		t.Errorf("the held content's replay names %s, want %s", got, held.Document)
	}
}

func TestForeverNeverWraps(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	register(t, pool, 1, entry(reference("R"), "a", "a", dedup.Forever))
	pass(t, pool, 50*365*24*time.Hour)
	if got := register(t, pool, 1, entry(reference("R"), "b", "b", fortnight))[0]; got.Verdict != dedup.Drift {
		t.Errorf("got %s, want drift", got.Verdict)
	}
}

// A changed window counts for references armed from then on.
func TestWindowIsKeptAsArmed(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	register(t, pool, 1, entry(reference("R"), "a", "a", fortnight))
	register(t, pool, 1, entry(reference("R"), "a", "a", time.Hour))
	pass(t, pool, 24*time.Hour)
	if got := register(t, pool, 1, entry(reference("R"), "b", "b", time.Hour))[0]; got.Verdict != dedup.Drift {
		t.Errorf("got %s after the window was shortened, want drift", got.Verdict)
	}
}

// One statement cannot decide a row twice, so a payload that repeats a reference takes several.
func TestOnePayloadRepeatsAReference(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	decisions := register(t, pool, 1,
		entry(reference("B"), "b", "b", fortnight), entry(reference("A"), "a", "a", fortnight),
		entry(reference("B"), "b", "b", fortnight), entry(reference("B"), "b2", "b2", fortnight), entry(reference("A"), "a", "a", fortnight))
	want := []dedup.Verdict{dedup.First, dedup.First, dedup.Duplicate, dedup.Drift, dedup.Duplicate}
	for i, d := range decisions {
		if d.Verdict != want[i] {
			t.Errorf("interchange %d: got %s, want %s", i+1, d.Verdict, want[i])
		}
	}
}

func TestThousandsInOnePayload(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	var entries []dedup.Entry
	for i := range 5000 {
		entries = append(entries, entry(reference(string(rune('A'+i%26))+time.Duration(i).String()), "x", "x", fortnight))
	}
	for _, want := range []dedup.Verdict{dedup.First, dedup.Duplicate} {
		for i, d := range register(t, pool, 1, entries...) {
			if d.Verdict != want {
				t.Fatalf("interchange %d: got %s, want %s", i+1, d.Verdict, want)
			}
		}
	}
}

func TestRolledBackCopyOwnsNothing(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	r := registration(1, entry(reference("R"), "a", "a", fortnight))
	if _, err := tryRegister(context.Background(), pool, r, false); err != nil {
		t.Fatal(err)
	}
	if got := register(t, pool, 1, entry(reference("R"), "a", "a", fortnight))[0]; got.Verdict != dedup.First {
		t.Errorf("got %s after a rollback, want first", got.Verdict)
	}
	if n := column[int64](t, pool, `SELECT count(*) FROM ledger_event`)[0]; n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

// A duplicate neither writes nor locks the row it is a duplicate of: xmax would show either.
func TestDuplicatesLeaveTheHotRowAlone(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	register(t, pool, 1, entry(reference("R"), "a", "a", fortnight))
	before := column[string](t, pool, `SELECT ctid::text || xmin || ' ' || xmax FROM dedup_key`)
	for range 20 {
		register(t, pool, 1, entry(reference("R"), "a", "a", fortnight))
	}
	if after := column[string](t, pool, `SELECT ctid::text || xmin || ' ' || xmax FROM dedup_key`); !slices.Equal(before, after) {
		t.Errorf("the row was touched: %v, then %v", before, after)
	}
}

func TestEveryVerdictIsAnEvent(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for _, content := range []string{"a", "a", "b", "a"} {
		r := registration(1, entry(reference("R"), content, content, fortnight))
		r.Detail = dedup.Detail(map[string]any{"transport_id": "<1\x00\xff@x>"})
		if _, err := tryRegister(context.Background(), pool, r, true); err != nil {
			t.Fatal(err)
		}
	}
	got := column[string](t, pool, `SELECT kind FROM ledger_event ORDER BY at`)
	if want := []string{"first", "duplicate", "drift", "duplicate"}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	if ids := column[string](t, pool, `SELECT DISTINCT detail->>'transport_id' FROM ledger_event`); len(ids) != 1 || ids[0] != `<1\x00\xFF@x>` {
		t.Errorf("details %q", ids)
	}
}

func TestAccountIsAppendOnly(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	register(t, pool, 1, entry(reference("R"), "a", "a", fortnight))
	for _, sql := range []string{`UPDATE ledger_event SET kind = 'x'`, `DELETE FROM ledger_event`, `TRUNCATE ledger_event`, `TRUNCATE ` + column[string](t, pool, `SELECT min(tableoid::regclass::text) FROM ledger_event`)[0]} {
		if _, err := pool.Exec(context.Background(), sql); err == nil {
			t.Errorf("%s was allowed", sql)
		}
	}
}

func TestReferenceFieldsNeverRunTogether(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	a, b := reference("R"), reference("R")
	a.Sender, a.Recipient = "AB", "C"
	b.Sender, b.Recipient = "A", "BC"
	register(t, pool, 1, entry(a, "x", "x", fortnight))
	if got := register(t, pool, 1, entry(b, "x", "x", fortnight))[0]; got.Verdict != dedup.First {
		t.Errorf("got %s, want first", got.Verdict)
	}
}
