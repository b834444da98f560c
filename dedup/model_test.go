package dedup_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/internal/pgtest"
)

// model is what the ledger should be, in a dozen lines: per partner and reference the contents seen, and the window.
type model struct {
	now  time.Duration
	keys map[string]*modelKey
}

type modelKey struct {
	contents map[string]bool
	epoch    int
	expires  time.Duration
}

func (m *model) register(key, content string, window time.Duration) (dedup.Verdict, int, bool) {
	k, ok := m.keys[key]
	switch {
	case !ok:
		m.keys[key] = &modelKey{contents: map[string]bool{content: true}, epoch: 1, expires: m.now + window}
		return dedup.First, 1, false
	case k.contents[content]:
		return dedup.Duplicate, k.epoch, m.now >= k.expires
	case m.now >= k.expires:
		k.contents[content], k.epoch, k.expires = true, k.epoch+1, m.now+window
		return dedup.Reuse, k.epoch, false
	default:
		k.contents[content] = true
		return dedup.Drift, k.epoch, false
	}
}

// Random stories of copies, changed content, passing time and changing windows, over two tenants' partners, come out as
// in the model.
func TestLedgerFollowsItsModel(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	var partners atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		m := model{keys: map[string]*modelKey{}}
		base := partners.Add(2) // partners of their own, so that the stories do not meet
		window := fortnight
		step := func(rt *rapid.T) {
			n := rapid.IntRange(1, 4).Draw(rt, "interchanges")
			partner := base + rapid.Int64Range(0, 1).Draw(rt, "partner")
			var entries []dedup.Entry
			var want []string
			for range n {
				r := reference(rapid.SampledFrom([]string{"1", "2", "3"}).Draw(rt, "reference"))
				r.Test = rapid.Bool().Draw(rt, "test")
				r.Standard = rapid.SampledFrom([]interchange.Standard{interchange.EDIFACT, interchange.X12}).Draw(rt, "standard")
				content := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "content")
				wrapping := rapid.SampledFrom([]string{"", "\r\n"}).Draw(rt, "wrapping")
				e := entry(r, content+wrapping, content, window)
				e.Seen = rapid.Bool().Draw(rt, "guess") // right or wrong, it must not matter
				entries = append(entries, e)
				v, epoch, late := m.register(fmt.Sprint(partner, r), content, window)
				want = append(want, fmt.Sprint(v, " ", epoch, " ", late))
			}
			for i, d := range register(t, pool, partner, entries...) {
				if got := fmt.Sprint(d.Verdict, " ", d.Epoch, " ", d.Late); got != want[i] {
					rt.Fatalf("interchange %d: the ledger says %s, the model %s", i+1, got, want[i])
				}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"copies": step, "more copies": step,
			"rolled back": func(rt *rapid.T) {
				r := registration(base, entry(reference("1"), "z", "z", window))
				if _, err := tryRegister(context.Background(), pool, r, false); err != nil {
					rt.Fatal(err)
				}
			},
			"time": func(rt *rapid.T) {
				d := time.Duration(rapid.IntRange(1, 20).Draw(rt, "days")) * 24 * time.Hour
				m.now += d
				exec(t, pool, `UPDATE dedup_key SET first_seen_at = first_seen_at - $1::interval, expires_at = expires_at - $1::interval
					WHERE partner_id BETWEEN $2 AND $3`, d, base, base+1)
			},
			"window": func(rt *rapid.T) {
				window = time.Duration(rapid.IntRange(1, 30).Draw(rt, "window")) * 24 * time.Hour
			},
		})
	})
}
