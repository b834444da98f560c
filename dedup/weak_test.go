package dedup_test

import (
	"fmt"
	"testing"
	"time"

	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/internal/pgtest"
)

func TestWeakReferences(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	// Partner 1 uses one reference for everything; partner 2 has made one mistake; partner 3 amends a document again and again.
	for i := range 5 {
		register(t, pool, 1, entry(reference("1"), fmt.Sprint(i), fmt.Sprint(i), fortnight))
		register(t, pool, 1, entry(reference(fmt.Sprint("OTHER", i)), "a", "a", fortnight))
		register(t, pool, 2, entry(reference("1"), fmt.Sprint(i/3), fmt.Sprint(i/3), fortnight))
		effect := interchange.Supersede
		if i == 0 {
			effect = interchange.New
		}
		register(t, pool, 3, (&paper{ref: "1", number: "A1", effect: effect, content: fmt.Sprint(i), date: fmt.Sprint(20261201 + i)}).entry(i))
	}
	found, err := dedup.Weak(t.Context(), pool, 0)
	if err != nil || len(found) != 1 {
		t.Fatalf("%+v, %v; want partner 1 alone", found, err)
	}
	if w := found[0]; w.Partner != 1 || w.References != 1 || w.Contents != 4 || w.Daily {
		t.Errorf("%+v", w)
	}
	if found, err := dedup.Weak(t.Context(), pool, 2); err != nil || len(found) != 0 {
		t.Errorf("partner 2: %+v, %v", found, err)
	}
}

// A counter that begins anew every day brings one content a day.
func TestDailyReferences(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for i := range 4 {
		register(t, pool, 1, entry(reference("1"), fmt.Sprint(i), fmt.Sprint(i), fortnight))
	}
	// The account cannot be changed, so here it forgets how, and learns of other days.
	key := column[string](t, pool, `SELECT key_id::text FROM dedup_key`)[0]
	exec(t, pool, `DROP TRIGGER ledger_event_append_only ON ledger_event`)
	exec(t, pool, `DELETE FROM ledger_event WHERE kind = 'drift'`)
	now := time.Now()
	for day := range 4 {
		at := now.Add(-time.Duration(day) * 24 * time.Hour)
		if at.UTC().Month() != now.UTC().Month() {
			exec(t, pool, fmt.Sprintf(`CREATE TABLE IF NOT EXISTS ledger_event_%s PARTITION OF ledger_event FOR VALUES FROM ('%s') TO ('%s')`,
				at.UTC().Format("200601"), at.UTC().Format("2006-01")+"-01 00:00:00+00", now.UTC().Format("2006-01")+"-01 00:00:00+00"))
		}
		exec(t, pool, `INSERT INTO ledger_event (at, event_id, partner_id, kind, key_id, epoch, node) VALUES ($1, gen_random_uuid(), 1, 'drift', $2::uuid, 1, 'n')`, at, key)
	}
	found, err := dedup.Weak(t.Context(), pool, 1)
	if err != nil || len(found) != 1 || !found[0].Daily || found[0].Contents != 4 {
		t.Errorf("%+v, %v; want daily ones", found, err)
	}
}
