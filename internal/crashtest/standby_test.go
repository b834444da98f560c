package crashtest_test

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/internal/localpg"
	"firstcopy/internal/pgtest"
)

// With a synchronous standby, a COMMIT whose wait for it is cut short is reported as a success with a warning. What the
// standby may not have must not be acknowledged: neither a first copy, nor a repeat or a duplicate of one, since the first
// copy itself may be what the standby lacks.
func TestLostStandby(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t, localpg.Options{})
	database := server.URL("postgres")
	w := newWorld(t, program(t, ""), database)
	pool, err := pgxpool.New(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	g := w.start("gw")
	late := w.sender
	late.Receipt.AsyncURL = w.receipts.URL()
	known, async := as2test.Prepare(t, w.sender, as2test.Invoice("R1", "1"), as2client.Options{}), as2test.Prepare(t, late, as2test.Invoice("R2", "1"), as2client.Options{})
	before := post(t, g, known)
	if !before.Positive() || post(t, g, async).Status != http.StatusOK {
		t.Fatalf("the first copies were not taken: %v", before.Problems)
	}
	as2test.Eventually(t, "the outbox to drain", func() bool {
		return count(t, pool, `SELECT count(*) FROM river_job WHERE kind <> 'upkeep' AND state <> 'completed'`) == 0
	})

	requireStandby(t, pool)
	for name, m := range map[string]as2client.Prepared{
		"a first copy":            as2test.Prepare(t, w.sender, as2test.Invoice("R3", "1"), as2client.Options{}),
		"a duplicate":             as2test.Prepare(t, w.sender, as2test.Invoice("R1", "1"), as2client.Options{}),
		"a repeat":                known,
		"a repeat, answered late": async,
	} {
		answer := make(chan as2client.Answer, 1)
		go func() { answer <- post(t, g, m) }()
		as2test.Eventually(t, name+" to wait for the standby", func() bool {
			return count(t, pool, `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
				WHERE wait_event = 'SyncRep' AND application_name = 'firstcopy'`) > 0
		})
		if a := <-answer; a.Status != http.StatusServiceUnavailable || a.HasReceipt {
			t.Errorf("%s was answered with HTTP %d, receipt %v", name, a.Status, a.HasReceipt)
		}
	}

	configure(t, pool, "RESET")
	as2test.Eventually(t, "the message to be settled", func() bool { return post(t, g, known).Positive() })
	if after := post(t, g, known); !bytes.Equal(before.Entity(), after.Entity()) {
		t.Errorf("the repeat was answered with another receipt")
	}
}

// post posts from any goroutine; the zero Answer stands for an exchange that failed.
func post(tb testing.TB, g *gateway, m as2client.Prepared) as2client.Answer {
	m.URL = g.url
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a, err := as2client.Client{}.Post(ctx, m)
	if err != nil {
		tb.Error(err)
	}
	return a
}

// requireStandby has every COMMIT wait for a standby that does not exist, and returns when that is so.
func requireStandby(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	configure(tb, pool, "SET")
	as2test.Eventually(tb, "commits to wait for a standby", func() bool {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = pool.Exec(ctx, `SET application_name = 'probe'; CREATE TABLE probe (); DROP TABLE probe`)
		}()
		for waiting := false; !waiting; {
			select {
			case <-done: // without waiting: not yet
				return false
			default:
			}
			waiting = count(tb, pool, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'probe'`) > 0
		}
		return true
	})
}

// configure sets or resets the name of the standby.
func configure(tb testing.TB, pool *pgxpool.Pool, how string) {
	tb.Helper()
	sql := `ALTER SYSTEM RESET synchronous_standby_names`
	if how == "SET" {
		sql = `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`
	}
	for _, statement := range []string{sql, `SELECT pg_reload_conf()`} {
		if _, err := pool.Exec(context.Background(), statement); err != nil {
			tb.Fatal(err)
		}
	}
}
