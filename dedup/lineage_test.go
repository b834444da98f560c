package dedup_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/internal/pgtest"
)

// paper is one interchange with one document, as far as lineage is concerned.
type paper struct {
	ref         string // control reference; a new one for each paper if empty
	kind        string // message type, INVOIC if empty
	number      string
	effect      interchange.Effect
	function    string
	content     string
	date        string
	revision    string
	sent        string // date and time of the interchange, YYMMDD HHMM
	about       []string
	sender      string
	test        bool
	partner     int64
	alsoPlain   bool // a message without a number stands beside it
	alsoMessage *paper
}

func (p *paper) message() interchange.Message {
	kind := p.kind
	if kind == "" {
		kind = "INVOIC"
	}
	return interchange.Message{Type: kind, Number: p.number, Revision: p.revision, Date: p.date, Function: p.function, Effect: p.effect,
		Predecessors: p.about, Digest: sha256.Sum256([]byte(p.content))}
}

// entry makes the entry; n makes references and contents of the envelope unique.
func (p *paper) entry(n int) dedup.Entry {
	control := p.ref
	if control == "" {
		control = fmt.Sprint("R", n)
	}
	r := reference(control)
	r.Test = p.test
	if p.sender != "" {
		r.Sender = p.sender
	}
	content := control + p.content + fmt.Sprint(p.effect)
	e := entry(r, content, content, fortnight)
	e.Messages = []interchange.Message{p.message()}
	if p.alsoMessage != nil {
		e.Messages = append(e.Messages, p.alsoMessage.message())
	}
	if p.alsoPlain {
		e.Messages = append(e.Messages, interchange.Message{Type: "APERAK"})
	}
	e.Date, e.Time, _ = strings.Cut(p.sent, " ")
	return e
}

// outcome is a decision in brief: "amendment of A1; flags; stale numbers".
func outcome(d dedup.Decision) string {
	var b strings.Builder
	b.WriteString(string(d.Verdict))
	if l := d.Lineage; l != nil {
		for _, s := range l.Supersedes {
			b.WriteString(" of " + s.Number)
		}
		for _, f := range l.Flags {
			b.WriteString(" +" + string(f))
		}
		for _, n := range l.Stale {
			b.WriteString(" -" + n)
		}
	}
	return b.String()
}

// Each case is a story of papers; want is the outcome of its last one.
func TestLineage(t *testing.T) {
	t.Parallel()
	const (
		original, replace = interchange.New, interchange.Supersede
		change, cancel    = interchange.Delta, interchange.Cancel
	)
	first := paper{number: "A1", effect: original, content: "a", date: "20261201"}
	cases := []struct {
		name  string
		story []paper
		want  string
	}{
		{"an original", []paper{first}, "first"},
		{"another number", []paper{first, {number: "A2", effect: original, content: "b"}}, "first"},
		{"no number", []paper{{content: "a"}, {content: "a"}}, "first"},
		{"replaced under a new reference", []paper{first, {number: "A1", effect: replace, content: "b", date: "20261201"}}, "amendment of A1"},
		{"replaced under the same reference", []paper{{ref: "S", number: "A1", effect: original, content: "a"}, {ref: "S", number: "A1", effect: replace, content: "b"}}, "amendment of A1"},
		{"replaced twice", []paper{first, {number: "A1", effect: replace, content: "b", date: "20261202"}, {number: "A1", effect: replace, content: "c", date: "20261203"}}, "amendment of A1"},
		{"same reference, other content, nothing said", []paper{{ref: "S", number: "A1", effect: original, content: "a"}, {ref: "S", number: "A1", effect: original, content: "b"}}, "drift +number_reused"},
		{"same reference, says that it replaces what the ledger does not know", []paper{{ref: "S", content: "a"}, {ref: "S", number: "A1", effect: replace, content: "b"}}, "amendment of A1 +target_unknown"},
		{"a replacement with a number of its own", []paper{first, {number: "B", effect: replace, content: "b", about: []string{"A1"}}}, "amendment of A1"},
		{"a chain of them", []paper{first, {number: "B", effect: replace, content: "b", about: []string{"A1"}}, {number: "C", effect: replace, content: "c", about: []string{"B"}}}, "amendment of B"},
		{"a chain that names its first", []paper{first, {number: "B", effect: replace, content: "b", about: []string{"A1"}}, {number: "C", effect: replace, content: "c", about: []string{"A1"}}}, "amendment of B"},
		{"behind the end of a chain", []paper{first, {number: "B", effect: replace, content: "b", about: []string{"A1"}, date: "20261202"},
			{number: "C", effect: replace, content: "c", about: []string{"B"}, date: "20261205"},
			{number: "D", effect: replace, content: "d", about: []string{"A1"}, date: "20261203"}}, "stale -D"},
		{"an order and its change", []paper{{kind: "ORDERS", number: "PO", effect: original, content: "a"}, {kind: "ORDCHG", number: "PC", effect: change, content: "b", about: []string{"PO"}}}, "amendment of PO"},
		{"an invoice names its order", []paper{{kind: "ORDERS", number: "PO", effect: original, content: "a"}, {number: "A1", effect: original, content: "b", about: []string{"PO"}}}, "first"},
		{"an invoice and an order of one number", []paper{{kind: "ORDERS", number: "A1", effect: original, content: "a"}, {number: "A1", effect: original, content: "b"}}, "first"},
		{"a late original", []paper{{number: "A1", effect: replace, content: "b", date: "20261202"}, first}, "stale -A1"},
		{"a late original of the same day", []paper{{number: "A1", effect: replace, content: "b", date: "20261201"}, first}, "stale -A1"},
		{"a late original, its replacement bears another number", []paper{{number: "B", effect: replace, content: "b", about: []string{"A1"}, date: "20261202"}, first}, "stale -A1"},
		{"a late original after its cancel", []paper{{number: "A1", effect: cancel, content: "b"}, {number: "A1", effect: original, content: "a"}}, "stale -A1"},
		{"a cancel before its original", []paper{{number: "A1", effect: cancel, content: "b"}}, "first +target_unknown"},
		{"a cancel", []paper{first, {number: "A1", effect: cancel, content: "b"}}, "amendment of A1"},
		{"made again after a cancel", []paper{first, {number: "A1", effect: cancel, content: "b", date: "20261202"}, {number: "A1", effect: original, content: "c", date: "20261205"}}, "first +number_reused"},
		{"replaced after a cancel", []paper{first, {number: "A1", effect: cancel, content: "b", date: "20261202"}, {number: "A1", effect: replace, content: "c", date: "20261205"}}, "amendment of A1 +after_cancel"},
		{"an older replacement", []paper{first, {number: "A1", effect: replace, content: "c", date: "20261205"}, {number: "A1", effect: replace, content: "b", date: "20261203"}}, "stale -A1"},
		{"an older interchange of the same day", []paper{first, {number: "A1", effect: replace, content: "c", date: "20261205", sent: "261205 1200"},
			{number: "A1", effect: replace, content: "b", date: "20261205", sent: "261205 1100"}}, "stale -A1"},
		{"less precise dates do not tell", []paper{first, {number: "A1", effect: replace, content: "c", date: "202612051200"}, {number: "A1", effect: replace, content: "b", date: "20261205"}}, "amendment of A1"},
		{"versions before dates", []paper{first, {number: "A1", effect: replace, content: "c", date: "20261203", revision: "10"}, {number: "A1", effect: replace, content: "b", date: "20261205", revision: "9"}}, "stale -A1"},
		{"versions that are words", []paper{first, {number: "A1", effect: replace, content: "c", date: "20261203", revision: "B"}, {number: "A1", effect: replace, content: "b", date: "20261205", revision: "A"}}, "amendment of A1"},
		{"versions of other numbers", []paper{{number: "A1", effect: original, content: "a", revision: "3"}, {number: "B", effect: replace, content: "b", revision: "1", about: []string{"A1"}}}, "amendment of A1"},
		{"a change before its original", []paper{{number: "A1", effect: change, content: "b", date: "20261202"}, first}, "first +out_of_order"},
		{"changes out of order", []paper{first, {number: "A1", effect: change, content: "c", date: "20261203"}, {number: "A1", effect: change, content: "b", date: "20261202"}}, "amendment of A1 +out_of_order"},
		{"equal changes are two", []paper{first, {number: "A1", effect: change, content: "b", date: "20261203"}, {number: "A1", effect: change, content: "b", date: "20261203"}}, "amendment of A1"},
		{"a change from before the replacement", []paper{first, {number: "A1", effect: replace, content: "c", date: "20261203"}, {number: "A1", effect: change, content: "b", date: "20261202"}}, "stale -A1"},
		{"the same document again", []paper{first, first}, "first +same_document"},
		{"the same document after its replacement", []paper{first, {number: "A1", effect: replace, content: "b", date: "20261202"}, first}, "stale -A1"},
		{"the same replacement again", []paper{first, {number: "A1", effect: replace, content: "b"}, {number: "A1", effect: replace, content: "b"}}, "first +same_document"},
		{"an earlier replacement again", []paper{first, {number: "A1", effect: replace, content: "b"}, {number: "A1", effect: replace, content: "c"}, {number: "A1", effect: replace, content: "b"}}, "stale -A1"},
		{"the original's interchange after its amendment", []paper{{ref: "S", number: "A1", effect: original, content: "a"}, {number: "A1", effect: replace, content: "b"}, {ref: "S", number: "A1", effect: original, content: "a"}}, "duplicate"},
		{"a copy of what is known", []paper{first, {number: "A1", effect: interchange.NoEffect, content: "b", date: "20261201"}}, "duplicate +copy"},
		{"a copy of what was replaced", []paper{first, {number: "A1", effect: replace, content: "c", date: "20261205"}, {number: "A1", effect: interchange.NoEffect, content: "b", date: "20261201"}}, "duplicate +copy"},
		{"a copy of the same content without dates", []paper{{number: "A1", effect: original, content: "a"}, {number: "A1", effect: interchange.NoEffect, content: "a"}}, "duplicate +copy"},
		{"a copy under a number that began anew", []paper{first, {number: "A1", effect: interchange.NoEffect, content: "b", date: "20280105"}}, "first +copy_of_unknown"},
		{"a copy from before the number began anew", []paper{first, {number: "A1", effect: interchange.NoEffect, content: "b", date: "20250105"}}, "first +copy_of_unknown"},
		{"a copy of other content without dates", []paper{{number: "A1", effect: original, content: "a"}, {number: "A1", effect: interchange.NoEffect, content: "b"}}, "first +copy_of_unknown"},
		{"a copy without a date of what has one", []paper{first, {number: "A1", effect: interchange.NoEffect, content: "b"}}, "first +copy_of_unknown"},
		{"a copy of what never came but cancelled", []paper{{number: "A1", effect: cancel, content: "a", date: "20261201"}, {number: "A1", effect: interchange.NoEffect, content: "b", date: "20261201"}}, "stale -A1"},
		{"a copy of what never came", []paper{{number: "A1", effect: interchange.NoEffect, content: "b"}}, "first +copy_of_unknown"},
		{"an unknown function", []paper{first, {number: "A1", function: "77", content: "b"}}, "first +unknown_function"},
		{"an unknown function after a cancel", []paper{first, {number: "A1", effect: cancel, content: "c"}, {number: "A1", function: "77", content: "b"}}, "first +unknown_function"},
		{"a test", []paper{first, {number: "A1", effect: interchange.Trial, content: "b"}}, "first +trial"},
		{"an unknown function without a number", []paper{{function: "77", content: "b"}}, "first +unknown_function"},
		{"two answers", []paper{{number: "A1", effect: interchange.Response, content: "a"}, {number: "A1", effect: interchange.Response, content: "b"}}, "first"},
		{"a number used again", []paper{first, {number: "A1", effect: original, content: "b", date: "20270105"}}, "first +number_reused"},
		{"another sender's number", []paper{first, {number: "A1", effect: original, content: "b", sender: "OTHER"}}, "first"},
		{"another partner's number", []paper{first, {number: "A1", effect: original, content: "b", partner: 2}}, "first"},
		{"the number in a test", []paper{first, {number: "A1", effect: original, content: "b", test: true}}, "first"},
		{"stale beside what is new", []paper{first, {number: "A1", effect: replace, content: "c", date: "20261203"}, {number: "A1", effect: replace, content: "b", date: "20261202",
			alsoMessage: &paper{number: "A9", effect: original, content: "x"}}}, "first -A1"},
		{"stale beside what has no number", []paper{first, {number: "A1", effect: replace, content: "c", date: "20261203"}, {number: "A1", effect: replace, content: "b", date: "20261202", alsoPlain: true}}, "first -A1"},
		{"stale beside a stale one", []paper{{number: "A1", effect: cancel, content: "a"}, {number: "A2", effect: cancel, content: "b"},
			{number: "A1", effect: original, content: "c", alsoMessage: &paper{number: "A2", effect: original, content: "d"}}}, "stale -A1 -A2"},
		{"an original and its cancel in one", []paper{{number: "A1", effect: original, content: "a", alsoMessage: &paper{number: "A1", effect: cancel, content: "b"}}}, "first"},
		{"one number twice in one", []paper{{number: "A1", effect: original, content: "a", alsoMessage: &paper{number: "A1", effect: original, content: "b"}}}, "first +number_reused"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			var got string
			for n, p := range c.story {
				got = outcome(register(t, pool, max(1, p.partner), p.entry(n))[0])
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The stories of one payload are decided as those of several: what is locked beforehand changes nothing.
func TestLineageWithinOnePayload(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	story := []paper{
		{ref: "1", number: "A1", effect: interchange.New, content: "a", date: "20261201"},
		{ref: "2", number: "A1", effect: interchange.Supersede, content: "b", date: "20261202"},
		{ref: "3", number: "A1", effect: interchange.New, content: "a", date: "20261201"},
		{ref: "4", number: "B", effect: interchange.Supersede, content: "c", date: "20261203", about: []string{"A1"}},
		{ref: "5", content: "no number"},
	}
	var entries []dedup.Entry
	for n, p := range story {
		entries = append(entries, p.entry(n))
	}
	want := []string{"first", "amendment of A1", "stale -A1", "amendment of A1", "first"}
	for i, d := range register(t, pool, 1, entries...) {
		if got := outcome(d); got != want[i] {
			t.Errorf("interchange %d: got %q, want %q", i+1, got, want[i])
		}
	}
	for i := range entries {
		entries[i] = story[i].entry(i)
	}
	for i, d := range register(t, pool, 1, entries...) {
		if d.Verdict != dedup.Duplicate || d.Fresh() {
			t.Errorf("interchange %d again: got %s", i+1, d.Verdict)
		}
	}
}

// Plain originals in one payload are written at once: nothing is weighed, and there is nothing to tell of them.
func TestPlainOriginalsOfOnePayloadAreNotWeighed(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	exec(t, pool, `DROP FUNCTION lineage_weigh`) // called all the same, it fails
	var entries []dedup.Entry
	for n := range 50 {
		p := paper{number: fmt.Sprint("A", n), effect: interchange.New, content: "a"}
		if n%10 == 0 {
			p.alsoMessage = &paper{number: fmt.Sprint("B", n), effect: interchange.New, content: "b"}
		}
		entries = append(entries, p.entry(n))
	}
	for i, d := range register(t, pool, 1, entries...) {
		if d.Verdict != dedup.First || d.Lineage != nil {
			t.Errorf("interchange %d: %s, lineage %+v", i+1, d.Verdict, d.Lineage)
		}
	}
	if n := column[int64](t, pool, `SELECT count(*) FROM document_lineage WHERE relation = 'original' AND rank = 1 AND seq = 1`)[0]; n != 55 {
		t.Errorf("%d numbers are known, want 55", n)
	}
}

// Originals that are weighed are not told of either, unless there is something to tell.
func TestOriginalsAreNotTold(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	first := paper{number: "A1", effect: interchange.New, content: "a", date: "20261201"}
	register(t, pool, 1, first.entry(1))
	again := paper{number: "A1", effect: interchange.New, content: "b", date: "20261202"}
	d := register(t, pool, 1, again.entry(2))[0]
	if d.Lineage == nil || !d.Lineage.Has(dedup.NumberReused) || len(d.Lineage.Documents) != 0 {
		t.Errorf("got %+v", d.Lineage)
	}
	response := paper{number: "A2", effect: interchange.Response, content: "a"}
	register(t, pool, 1, response.entry(3))
	response.content = "b"
	if d := register(t, pool, 1, response.entry(4))[0]; d.Lineage != nil {
		t.Errorf("got %+v", d.Lineage)
	}
}

// What was written beforehand is taken back if its interchange turns out to be a duplicate.
func TestReservedOriginalsOfADuplicateLeaveNothing(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	one, two := paper{ref: "S", number: "A1", effect: interchange.New, content: "a"}, paper{number: "A2", effect: interchange.New, content: "b"}
	// The other transaction commits between the reservation and the decision.
	register(t, pool, 1, one.entry(1))
	exec(t, pool, `DELETE FROM document_lineage`)
	exec(t, pool, `CREATE TABLE aside AS SELECT * FROM dedup_key`)
	exec(t, pool, `DELETE FROM dedup_key`)
	exec(t, pool, `CREATE FUNCTION restore() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO dedup_key SELECT * FROM aside ON CONFLICT DO NOTHING; RETURN NULL; END $$`)
	exec(t, pool, `CREATE TRIGGER restore AFTER INSERT ON document_lineage FOR EACH STATEMENT EXECUTE FUNCTION restore()`)
	decisions := register(t, pool, 1, one.entry(1), two.entry(2))
	if decisions[0].Verdict != dedup.Duplicate || decisions[1].Verdict != dedup.First {
		t.Errorf("got %s and %s", decisions[0].Verdict, decisions[1].Verdict)
	}
	if got := column[string](t, pool, `SELECT number FROM document_lineage WHERE relation <> 'reserved'`); !slices.Equal(got, []string{"A2"}) {
		t.Errorf("known are %v, want A2", got)
	}
}

// An amendment names the very document that it supersedes, and a held one supersedes nothing until it is released.
func TestSupersededIsWhatWasForwarded(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	send := func(n int, p paper) dedup.Decision { return register(t, pool, 1, p.entry(n))[0] }
	first := send(1, paper{ref: "S", number: "A1", effect: interchange.New, content: "a", date: "20261201"})
	held := send(2, paper{ref: "S", number: "A1", effect: interchange.New, content: "b", date: "20261210"})
	if held.Verdict != dedup.Drift || held.State != dedup.Held {
		t.Fatalf("got %s, %s", held.Verdict, held.State)
	}
	second := send(3, paper{number: "A1", effect: interchange.Supersede, content: "c", date: "20261202"})
	if want := []dedup.Superseded{{Document: first.Document, Number: "A1"}}; !slices.Equal(second.Lineage.Supersedes, want) {
		t.Errorf("the amendment supersedes %v, want %v", second.Lineage.Supersedes, want)
	}
	exec(t, pool, `SELECT lineage_accept($1)`, [16]byte(held.Document))
	stale := send(4, paper{number: "A1", effect: interchange.Supersede, content: "d", date: "20261203"})
	if stale.Verdict != dedup.Stale {
		t.Errorf("got %s, older than what has been released", stale.Verdict)
	}
	third := send(5, paper{number: "A1", effect: interchange.Supersede, content: "e", date: "20261211"})
	if third.Lineage == nil || len(third.Lineage.Supersedes) != 1 || third.Lineage.Supersedes[0].Document != held.Document {
		t.Errorf("the next amendment supersedes %+v, want the released document", third.Lineage)
	}
}

func TestStalePolicies(t *testing.T) {
	t.Parallel()
	for _, policy := range []dedup.VersionState{dedup.Held, dedup.Accepted, dedup.Discarded} {
		pool := pgtest.New(t)
		register(t, pool, 1, (&paper{number: "A1", effect: interchange.Cancel, content: "a", date: "20261202"}).entry(1))
		r := registration(1, (&paper{number: "A1", effect: interchange.New, content: "b", date: "20261201"}).entry(2))
		r.Stale = policy
		decisions, err := tryRegister(t.Context(), pool, r, true)
		if err != nil {
			t.Fatal(err)
		}
		if d := decisions[0]; d.Verdict != dedup.Stale || d.State != policy || !d.Fresh() {
			t.Errorf("policy %s: %s, %s", policy, d.Verdict, d.State)
		}
		// Forwarded or not, it is no newer than the cancel.
		if d := register(t, pool, 1, (&paper{number: "A1", effect: interchange.New, content: "c", date: "20261201"}).entry(3))[0]; d.Verdict != dedup.Stale {
			t.Errorf("policy %s: then %s", policy, d.Verdict)
		}
	}
}

func TestSameDocumentPolicies(t *testing.T) {
	t.Parallel()
	for policy, want := range map[dedup.VersionState]dedup.Verdict{dedup.Accepted: dedup.First, dedup.Held: dedup.Duplicate, dedup.Discarded: dedup.Duplicate} {
		pool := pgtest.New(t)
		register(t, pool, 1, (&paper{number: "A1", effect: interchange.New, content: "a"}).entry(1))
		r := registration(1, (&paper{number: "A1", effect: interchange.New, content: "a"}).entry(2))
		r.SameDocument = policy
		decisions, err := tryRegister(t.Context(), pool, r, true)
		if err != nil {
			t.Fatal(err)
		}
		if d := decisions[0]; d.Verdict != want || d.State != policy || !d.Fresh() || !d.Lineage.Has(dedup.SameDocument) {
			t.Errorf("policy %s: %s, %s, %+v", policy, d.Verdict, d.State, d.Lineage)
		}
	}
}

// Lineage outlives the window of the references that brought it.
func TestLineageOutlivesTheWindow(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	register(t, pool, 1, (&paper{number: "A1", effect: interchange.New, content: "a", date: "20261201"}).entry(1))
	register(t, pool, 1, (&paper{number: "A1", effect: interchange.Supersede, content: "b", date: "20261203"}).entry(2))
	pass(t, pool, 100*24*time.Hour)
	exec(t, pool, `DELETE FROM dedup_key`)
	if got := outcome(register(t, pool, 1, (&paper{number: "A1", effect: interchange.New, content: "a", date: "20261201"}).entry(1))[0]); got != "stale -A1" {
		t.Errorf("an old replay: %s", got)
	}
}

// An event tells the chain.
func TestEventsTellTheChain(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	first := register(t, pool, 1, (&paper{number: "A1", effect: interchange.New, content: "a"}).entry(1))[0]
	register(t, pool, 1, (&paper{number: "A1", effect: interchange.Supersede, function: "5", content: "b"}).entry(2))
	got := column[string](t, pool, `SELECT kind || ' ' || coalesce(detail#>>'{lineage,documents,0,relation}', '-') || ' '
		|| coalesce(detail#>>'{lineage,supersedes,0,document_id}', '-') FROM ledger_event ORDER BY at`)
	if want := []string{"first - -", "amendment supersedes " + first.Document.String()}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}

// A duplicate's documents are neither written nor locked again.
func TestDuplicatesLeaveTheLineageAlone(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	rows := `SELECT ctid::text || xmin || ' ' || xmax FROM document_lineage`
	a, b := paper{ref: "1", number: "A1", effect: interchange.New, content: "a"}, paper{ref: "2", number: "A2", effect: interchange.New, content: "b"}
	register(t, pool, 1, a.entry(1))
	register(t, pool, 1, b.entry(2))
	before := column[string](t, pool, rows)
	for _, guess := range []bool{true, false} {
		one, two := a.entry(1), b.entry(2)
		one.Seen, two.Seen = guess, guess
		register(t, pool, 1, one)
		register(t, pool, 1, one, two)
	}
	if after := column[string](t, pool, rows); !slices.Equal(before, after) {
		t.Errorf("rows were touched: %v, then %v", before, after)
	}
}

// What is compared of one interchange is bounded; the rest is forwarded, and said so.
func TestManyDocumentsAreComparedInPart(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	many := func(n int, effect interchange.Effect) dedup.Entry {
		e := entry(reference(fmt.Sprint("R", n)), fmt.Sprint(n), fmt.Sprint(n), fortnight)
		for i := range 1200 {
			p := paper{number: fmt.Sprint("N", i), effect: effect, content: fmt.Sprint(n, i)}
			e.Messages = append(e.Messages, p.message())
		}
		return e
	}
	if got := outcome(register(t, pool, 1, many(1, interchange.New))[0]); got != "first" {
		t.Errorf("originals: %s", got)
	}
	cancelled := register(t, pool, 1, many(2, interchange.Cancel))[0]
	if cancelled.Verdict != dedup.Amendment || !cancelled.Lineage.Has(dedup.NotCompared) || len(cancelled.Lineage.Documents) > 100 {
		t.Errorf("%s, flags %v, %d documents told", cancelled.Verdict, cancelled.Lineage.Flags, len(cancelled.Lineage.Documents))
	}
	late := register(t, pool, 1, many(3, interchange.New))[0]
	if late.Verdict != dedup.First || len(late.Lineage.Stale) != 1000 {
		t.Errorf("%s with %d stale, want it forwarded, for 200 of them were not compared", late.Verdict, len(late.Lineage.Stale))
	}
}
