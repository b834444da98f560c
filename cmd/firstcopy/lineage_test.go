package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"firstcopy/dedup"
	"firstcopy/dedup/interchange/difference"
)

// numbered is an invoice under a reference of its own.
func numbered(reference, number, function, date, amount string) string {
	s := invoice(reference, amount)
	return strings.Replace(s, "BGM+380+"+reference+"+9'", "BGM+380+"+number+"+"+function+"'DTM+137:"+date+":102'", 1)
}

func TestDriftShow(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id, first := document(s.drift), document(s.first)
	page := s.run(t, "drift", "show", id).must(t)
	contains(t, page, "Document "+id+" of partner acme, reference R1, is held as drift since ", "Document "+first+", reference R1, arrived 20", " as first, is now forwarded\n",
		"--- accepted "+first+"\n+++ held "+id+"\n@@ segment 1 @@\n",
		"  UNH+1+INVOIC:D:96A:UN\n  BGM+380+R1+9\n- MOA+77:100.00\n+ MOA+77:999.00\n  UNT+4+1\n  UNZ+1+R1\n")
	out := decode[driftOutput](t, s.run(t, "drift", "show", id, "--json").must(t))
	if out.Unit != "segment" || out.Equal || out.Cut || len(out.Changes) != 1 || out.Accepted == nil || out.Accepted.ID.String() != first {
		t.Errorf("%+v", out)
	}
	var changed []difference.Edit
	for _, e := range out.Changes[0] {
		if e.Op != difference.Keep {
			changed = append(changed, e)
		}
	}
	if len(changed) != 2 || changed[0] != (difference.Edit{Op: difference.Delete, At: 4, Text: "MOA+77:100.00"}) || changed[1].Op != difference.Insert {
		t.Errorf("changed %+v", changed)
	}
	contains(t, s.run(t, "drift", "show", first).must(t), "Nothing was accepted in its place")
	if r := s.run(t, "drift", "show", "0195ed6e-29f2-7dbc-a4a8-9a6b52b7a8a1"); r.code != exitFailed {
		t.Errorf("exit code %d", r.code)
	}
}

// An original, its replacement under another reference, and a replacement that comes too late, on every page.
func TestLineageOnPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply(t, s.agreement("acme", ""))
	h := s.history(t)
	first := h.receive("ACME", "<1@acme>", numbered("L1", "RE-7", "9", "20261201", "100.00"))
	second := h.receive("ACME", "<2@acme>", numbered("L2", "RE-7", "5", "20261205", "120.00"))
	late := h.receive("ACME", "<3@acme>", numbered("L3", "RE-7", "5", "20261203", "110.00"))
	if v := []dedup.Verdict{second.Decisions[0].Verdict, late.Decisions[0].Verdict}; v[0] != dedup.Amendment || v[1] != dedup.Stale {
		t.Fatalf("verdicts %v", v)
	}
	page := squeeze(s.run(t, "ledger", "show", "L2").must(t))
	contains(t, page, "It arrived 1 time; nothing has been forwarded yet.",
		"DOCUMENT NUMBER SEEN REFERENCE FUNCTION VERSION DATE RELATION STANDING DOCUMENT\n",
		" +02:00 L1 9 - 20261201 original forwarded "+document(first)+"\n", " +02:00 L2 5 - 20261205 supersedes newest "+document(second)+"\n",
		" +02:00 L3 5 - 20261203 stale held "+document(late)+"\n",
		" amendment message <2@acme>", "supersedes RE-7: becomes document "+document(second)+"\n",
		"supersedes RE-7, document "+document(first)+"\n")
	if !regexp.MustCompile(`\nINVOIC RE-7 20\S+ [0-9:]{8}\.\d{3} \+02:00 L1 `).MatchString(page) {
		t.Errorf("the time has no milliseconds:\n%s", page)
	}
	contains(t, squeeze(s.run(t, "ledger", "show", "L3").must(t)), "older than what has been forwarded: becomes document "+
		document(late)+", held for a decision\n", "stale RE-7\n")
	contains(t, squeeze(s.run(t, "document", "show", document(second)).must(t)), "verdict amendment\n", "supersedes RE-7, document "+document(first)+"\n")
	contains(t, squeeze(s.run(t, "drift", "list").must(t)), document(late)+" stale 20")
	contains(t, s.run(t, "drift", "show", document(late)).must(t), "is held as stale since ", "--- accepted "+document(second)+"\n",
		"  BGM+380+RE-7+5\n- DTM+137:20261205:102\n- MOA+77:120.00\n+ DTM+137:20261203:102\n+ MOA+77:110.00\n")
	found := decode[[]keyOutput](t, s.run(t, "ledger", "search", "--document", "RE-7", "--json").must(t))
	if len(found) != 3 {
		t.Errorf("%d references have the document number, want 3", len(found))
	}
	if found := decode[[]keyOutput](t, s.run(t, "ledger", "search", "--document", "RE-8", "--json").must(t)); len(found) != 0 {
		t.Errorf("found %+v", found)
	}
	account := decode[[]accountOutput](t, s.run(t, "ledger", "show", "L3", "--json").must(t))
	if l := account[0].Lineage; len(l) != 3 || l[1].Relation != "supersedes" || !l[1].Newest || l[2].Forwarded {
		t.Errorf("lineage %+v", l)
	}
	s.run(t, "drift", "release", document(late), "--reason", "it is right", "--as", "gina").must(t)
	contains(t, squeeze(s.run(t, "ledger", "show", "L3").must(t)), " stale newest "+document(late)+"\n", "by gina: it is right, node ")
}

// A document that is about another's number is named beside it, and one that was dropped is told apart from one that waits.
func TestLineageTable(t *testing.T) {
	t.Parallel()
	use := func(by, relation, state string, forwarded bool) useOutput {
		return useOutput{dedup.Use{Number: "A1", By: by, Family: "ORDERS", Relation: relation, Reference: "R", State: state, Forwarded: forwarded}}
	}
	var b strings.Builder
	if err := writeLineage(&b, []useOutput{use("A1", "original", "forwarded", true), use("C9", "changes", "pending", true),
		use("A1", "stale", "discarded", false), use("A1", "stale", "", false)}); err != nil {
		t.Fatal(err)
	}
	contains(t, squeeze(b.String()), "SEEN REFERENCE BY FUNCTION", " R - - - - original forwarded ", " R C9 - - - changes forwarded ", " R - - - - stale discarded ",
		" R - - - - stale not forwarded ")
}

// A cancel says so, in its event and on its page.
func TestCancelOnPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply(t, s.agreement("acme", ""))
	h := s.history(t)
	first := h.receive("ACME", "<1@acme>", numbered("L1", "RE-1", "9", "20261201", "100.00"))
	cancel := h.receive("ACME", "<2@acme>", numbered("L2", "RE-1", "1", "20261202", "100.00"))
	page := squeeze(s.run(t, "ledger", "show", "L2").must(t))
	contains(t, page, "cancels RE-1: becomes document "+document(cancel)+"\n", "cancels RE-1, document "+document(first)+"\n")
	contains(t, squeeze(s.run(t, "document", "show", document(cancel)).must(t)), "cancels RE-1, document "+document(first)+"\n")
	if strings.Contains(page, "supersedes") {
		t.Errorf("%s", page)
	}
}

func TestAmends(t *testing.T) {
	t.Parallel()
	many := &dedup.Lineage{}
	for i := range 7 {
		many.Supersedes = append(many.Supersedes, dedup.Superseded{Number: fmt.Sprint("N", i)})
	}
	changed, cancelled := dedup.Superseded{Number: "A"}, dedup.Superseded{Number: "B"}
	for want, l := range map[string]*dedup.Lineage{
		"replaces, changes or cancels what is known": nil,
		"supersedes N0, N1, N2, N3, N4, 2 more":      many,
		"changes A, cancels B": {Supersedes: []dedup.Superseded{cancelled, changed}, Documents: []dedup.Relation{
			{Relation: "cancels", Supersedes: []dedup.Superseded{cancelled}}, {Relation: "changes", Supersedes: []dedup.Superseded{changed}}}},
	} {
		if got := amends(l); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestReferenceSender(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]referenceOutput{
		"0088:1 (year 2026)":  {Standard: "ubl", Sender: "0088:1", SenderQualifier: "2026"},
		"0088:1":              {Standard: "cii", Sender: "0088:1"},
		"1234 (qualifier 01)": {Standard: "x12", Sender: "1234", SenderQualifier: "01"},
	} {
		if got := r.sender(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPartnerShowsWeakReferences(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply(t, s.agreement("acme", ""))
	h := s.history(t)
	for i := range 4 {
		h.receive("ACME", fmt.Sprintf("<%d@acme>", i), numbered("1", fmt.Sprint("RE-", i), "9", "20261201", "1.00"))
	}
	contains(t, squeeze(s.run(t, "partner", "show", "acme").must(t)), "keys the reference\n", "drift hold\n", "stale documents hold\n", "the same document again forward\n",
		`! references are too weak to be keys: reference "1" came with 3 other contents in the last 7 days; agree on key: {by: hash}`)
}
