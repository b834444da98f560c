package dedup_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/internal/pgtest"
)

// archive is what the lineage should be, without a database: the uses of each number, and the contents of each reference.
type archive struct {
	uses map[string][]*use
	seen map[string][]string // by reference: contents, the first copy's first
	docs int                 // forwarded or not
}

type use struct {
	paper     paper
	by        string
	order     int // n-th newest; 0: never the newest
	forwarded bool
	document  int
}

// newest is the use that is the newest of its number, among those that count.
func (a *archive) newest(number string, counts func(*use) bool) *use {
	var best *use
	for _, u := range a.uses[number] {
		if u.forwarded && counts(u) && (best == nil || u.order >= best.order) {
			best = u
		}
	}
	return best
}

func anyUse(*use) bool { return true }

func whole(u *use) bool {
	return u.paper.effect == interchange.Supersede || u.paper.effect == interchange.Cancel
}

// compare orders two papers; versions count within one number only.
func compare(p paper, u *use, times bool) int {
	if a, err := strconv.Atoi(p.revision); err == nil && u.by == p.number {
		if b, err := strconv.Atoi(u.paper.revision); err == nil && a != b {
			return sign(a - b)
		}
	}
	for _, pair := range [][2]string{{p.date, u.paper.date}, {p.sent, u.paper.sent}} {
		n := min(len(pair[0]), len(pair[1]))
		if order := strings.Compare(pair[0][:n], pair[1][:n]); order != 0 {
			return order
		}
		if !times {
			break
		}
	}
	return 0
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// about lists the numbers that a paper is about: its own, those it names, and those that their papers have named.
func (a *archive) about(p paper) []string {
	numbers := []string{p.number}
	if p.effect != interchange.Supersede && p.effect != interchange.Delta && p.effect != interchange.Cancel {
		return numbers
	}
	for _, n := range p.about {
		if !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	for _, named := range slices.Clone(numbers) {
		for number, uses := range a.uses {
			if slices.ContainsFunc(uses, func(u *use) bool { return u.by == named && number != named }) && !slices.Contains(numbers, number) {
				numbers = append(numbers, number)
			}
		}
	}
	return numbers
}

// relation judges a paper: what it is, whether it becomes the newest, and whether it amends what is known.
func (a *archive) relation(p paper) (relation string, leads, amends bool) {
	head := a.newest(p.number, anyUse)
	before := slices.ContainsFunc(a.uses[p.number], func(u *use) bool { return u.forwarded && u.by == p.number && u.paper.content == p.content })
	switch p.effect {
	case interchange.Supersede, interchange.Cancel:
		if head != nil && head.paper.content == p.content {
			return "same", false, false
		}
		if before {
			return "stale", false, false
		}
		for _, n := range a.about(p) {
			if u := a.newest(n, anyUse); u != nil {
				if compare(p, u, true) < 0 {
					return "stale", false, false
				}
				amends = true
			}
		}
		return "amends", true, amends
	case interchange.Delta:
		leads = true
		for _, n := range a.about(p) {
			u := a.newest(n, whole)
			if u == nil {
				if u = a.newest(n, anyUse); u == nil {
					continue
				}
				leads = leads && compare(p, u, true) >= 0
			} else if compare(p, u, true) < 0 {
				return "stale", false, false
			}
			amends = true
		}
		return "amends", leads, amends
	case interchange.NoEffect:
		return a.copyOf(p, head, before), head == nil || a.copyOf(p, head, before) == "original" && compare(p, head, false) > 0, false
	}
	switch {
	case head == nil:
		return "original", true, false
	case head.paper.content == p.content:
		return "same", false, false
	case before, a.newest(p.number, whole) != nil && compare(p, head, false) <= 0:
		return "stale", false, false
	case !slices.ContainsFunc(a.uses[p.number], func(u *use) bool { return u.forwarded && u.paper.effect != interchange.Delta }):
		return "original", false, false
	}
	return "original", compare(p, head, false) >= 0, false
}

// copyOf judges a paper that says it is a copy: of which content or date something has come, or it is not to be lost.
func (a *archive) copyOf(p paper, head *use, before bool) string {
	dated := func(u *use) bool {
		return u.forwarded && u.by == p.number && u.paper.effect != interchange.Cancel && p.date != "" && u.paper.date != "" && compare(p, u, false) == 0
	}
	switch {
	case head == nil:
		return "original"
	case before || slices.ContainsFunc(a.uses[p.number], dated):
		return "copy"
	case a.newest(p.number, whole) != nil && compare(p, head, false) <= 0:
		return "stale"
	}
	return "original"
}

func (a *archive) take(p paper) dedup.Verdict {
	content := p.content + string(p.effect)
	known := a.seen[p.ref]
	if slices.Contains(known, content) {
		return dedup.Duplicate
	}
	a.seen[p.ref] = append(known, content)
	relation, leads, amends := a.relation(p)
	verdict, forwarded := dedup.First, true
	switch {
	case relation == "stale":
		verdict, forwarded = dedup.Stale, false
	case relation == "copy":
		verdict, forwarded = dedup.Duplicate, false
	case amends, relation == "amends" && len(known) > 0:
		verdict = dedup.Amendment
	case len(known) > 0:
		verdict, forwarded = dedup.Drift, false
	}
	a.docs++
	for _, n := range a.about(p) {
		u := &use{paper: p, by: p.number, forwarded: forwarded, document: a.docs}
		if leads {
			u.order = 1
			if top := a.newest(n, anyUse); top != nil {
				u.order = top.order + 1
			}
		}
		a.uses[n] = append(a.uses[n], u)
	}
	return verdict
}

// check registers papers in one payload and holds the verdicts against the model's.
func check(t *testing.T, rt *rapid.T, pool *pgxpool.Pool, partner int64, model *archive, papers []paper) {
	t.Helper()
	var entries []dedup.Entry
	var want []dedup.Verdict
	for n, p := range papers {
		e := p.entry(n)
		e.Seen = rapid.Bool().Draw(rt, "guess") // right or wrong, it must not matter
		entries = append(entries, e)
		want = append(want, model.take(p))
	}
	for i, d := range register(t, pool, partner, entries...) {
		if d.Verdict != want[i] {
			rt.Fatalf("%d of %+v: the ledger says %s, the model %s", i+1, papers, outcome(d), want[i])
		}
	}
}

var effects = []interchange.Effect{interchange.New, interchange.New, interchange.Supersede, interchange.Supersede, interchange.Delta,
	interchange.Cancel, interchange.NoEffect, interchange.NoStatement}

// drawPaper is any paper over a few numbers, references, dates and versions, so that they meet.
func drawPaper(rt *rapid.T) paper {
	number := rapid.SampledFrom([]string{"A", "B", "C"})
	p := paper{
		ref:      fmt.Sprint("R", rapid.IntRange(1, 12).Draw(rt, "reference")),
		number:   number.Draw(rt, "number"),
		effect:   rapid.SampledFrom(effects).Draw(rt, "effect"),
		content:  fmt.Sprint(rapid.IntRange(1, 6).Draw(rt, "content")),
		date:     rapid.SampledFrom([]string{"", "20261201", "20261202", "20261203", "202612021200"}).Draw(rt, "date"),
		sent:     rapid.SampledFrom([]string{"20261204", "20261205"}).Draw(rt, "sent"),
		revision: rapid.SampledFrom([]string{"", "", "1", "2", "x"}).Draw(rt, "revision"),
	}
	if rapid.Bool().Draw(rt, "names") {
		p.about = []string{number.Draw(rt, "named")}
	}
	return p
}

// Random stories of originals, replacements, changes, cancels, copies and replays in any order come out as in the model, one by
// one and several in a payload.
func TestLineageFollowsItsModel(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	var partners atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		model := archive{uses: map[string][]*use{}, seen: map[string][]string{}}
		partner := partners.Add(1)
		var past []paper
		rt.Repeat(map[string]func(*rapid.T){
			"papers": func(rt *rapid.T) {
				batch := []paper{drawPaper(rt)}
				if rapid.Bool().Draw(rt, "two") {
					batch = append(batch, drawPaper(rt))
				}
				check(t, rt, pool, partner, &model, batch)
				past = append(past, batch...)
			},
			"replay": func(rt *rapid.T) {
				if len(past) == 0 {
					return
				}
				p := rapid.SampledFrom(past).Draw(rt, "past")
				if rapid.Bool().Draw(rt, "anew") {
					p.ref = fmt.Sprint("R", rapid.IntRange(1, 12).Draw(rt, "reference"))
				}
				check(t, rt, pool, partner, &model, []paper{p})
			},
		})
	})
}
