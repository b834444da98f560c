package crashtest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/internal/pgtest"
	"firstcopy/mdn"
)

const (
	identical = 30 // posts of one and the same message
	renewed   = 10 // posts of its content under new Message-IDs
)

// Copies of a message that reach two gateways at the same moment: one is forwarded, all are acknowledged.
func TestConcurrentCopies(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	w := newWorld(t, program(t, ""), database)
	pool, err := pgxpool.New(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	nodes := []*gateway{w.start("gw1"), w.start("gw2")}

	var forwarded []string
	for _, references := range [][]string{{"R1"}, {"R2"}, {"R3"}, {"A", "B", "C", "D"}, {"E", "F"}, many("G"), many("H"), many("I")} {
		messages := copiesOf(t, w.sender, references)
		checkReceipts(t, messages, postAtOnce(t, pool, nodes, messages))
		for _, r := range references {
			interchange := as2test.Orders(r)
			forwarded = append(forwarded, interchange)
			checkEvents(t, pool, interchange, len(messages))
		}
	}
	as2test.Eventually(t, "the outbox to drain", func() bool {
		return count(t, pool, `SELECT count(*) FROM document WHERE state <> 'forwarded'`) == 0
	})
	slices.Sort(forwarded)
	if got := as2test.Inbox(t, w.inbox); !slices.Equal(got, forwarded) {
		t.Errorf("%d documents were forwarded, not each of the %d interchanges once", len(got), len(forwarded))
	}
	for _, g := range nodes {
		if err := g.stop(); err != nil {
			t.Error(err)
		}
	}
	// A backend has reported its deadlocks for certain when it has ended.
	if n := count(t, pool, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
}

// many makes references for one payload: so many that transactions which took them in different orders would meet.
func many(prefix string) []string {
	references := make([]string, 40)
	for i := range references {
		references[i] = fmt.Sprintf("%s%02d", prefix, i)
	}
	return references
}

// copiesOf prepares one and the same message many times, and messages with the same interchanges in other orders.
func copiesOf(tb testing.TB, sender as2client.Partner, references []string) []as2client.Prepared {
	tb.Helper()
	one := as2test.Prepare(tb, sender, as2test.Orders(references...), as2client.Options{})
	var messages []as2client.Prepared
	turned := slices.Clone(references)
	for range renewed {
		slices.Reverse(turned)
		turned = append(turned[1:], turned[0])
		messages = append(messages, as2test.Prepare(tb, sender, as2test.Orders(turned...), as2client.Options{}))
	}
	return append(messages, slices.Repeat([]as2client.Prepared{one}, identical)...)
}

// postAtOnce posts all messages, in turn to one gateway and the other, and returns the answers in order. The gateways come
// together in the database: without that, the first message is long decided when a slow machine has opened the second.
func postAtOnce(tb testing.TB, pool *pgxpool.Pool, nodes []*gateway, messages []as2client.Prepared) []as2client.Answer {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	client := as2client.Client{HTTP: as2client.NewHTTP(len(messages))}
	defer client.HTTP.CloseIdleConnections()
	answers, errs := make([]as2client.Answer, len(messages)), make([]error, len(messages))
	release := holdClaims(tb, pool)
	var done sync.WaitGroup
	for i, m := range messages {
		m.URL = nodes[i%len(nodes)].url
		done.Go(func() { answers[i], errs[i] = client.Post(ctx, m) })
	}
	as2test.Eventually(tb, "all messages to reach the database", func() bool {
		return count(tb, pool, `SELECT count(*) FROM pg_locks WHERE relation = 'delivery'::regclass AND NOT granted`) == len(messages)
	})
	release()
	done.Wait()
	for _, err := range errs {
		if err != nil {
			tb.Fatal(err)
		}
	}
	return answers
}

// holdClaims lets no gateway claim a delivery until release is called.
func holdClaims(tb testing.TB, pool *pgxpool.Pool) (release func()) {
	tb.Helper()
	tx, err := pool.Begin(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := tx.Exec(tb.Context(), `LOCK TABLE delivery IN SHARE MODE`); err != nil {
		tb.Fatal(err)
	}
	release = func() {
		if err := tx.Rollback(context.Background()); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			tb.Error(err)
		}
	}
	tb.Cleanup(release)
	return release
}

// checkReceipts wants good receipts throughout, and the same octets for the same message.
func checkReceipts(tb testing.TB, messages []as2client.Prepared, answers []as2client.Answer) {
	tb.Helper()
	receipts := map[string][]byte{}
	for i, a := range answers {
		if !a.Positive() || a.Receipt.Disposition != mdn.Processed || !a.SignatureOK || !a.MICOK {
			tb.Errorf("answer %d: HTTP %d, %v, %v", i, a.Status, a.Receipt.Disposition, a.Problems)
			continue
		}
		id := messages[i].MessageID
		if former, ok := receipts[id]; ok && !bytes.Equal(former, a.Entity()) {
			tb.Errorf("answer %d differs from an earlier one to the same message:\n%s\nand\n%s", i, former, a.Entity())
		}
		receipts[id] = a.Entity()
	}
	own := map[string]bool{}
	for _, entity := range receipts {
		own[string(entity)] = true
	}
	if len(own) != 1+renewed {
		tb.Errorf("%d different receipts for %d Message-IDs", len(own), 1+renewed)
	}
}

// checkEvents wants one first copy of the interchange, and an event for every other one.
func checkEvents(tb testing.TB, pool *pgxpool.Pool, interchange string, copies int) {
	tb.Helper()
	sum := sha256.Sum256([]byte(interchange))
	if n := count(tb, pool, `SELECT count(*) FROM ledger_event WHERE raw_hash = $1 AND kind = 'first'`, sum[:]); n != 1 {
		tb.Errorf("%d first copies of %q", n, interchange)
	}
	n := count(tb, pool, `SELECT count(*) FROM ledger_event WHERE raw_hash = $1 AND kind IN ('first', 'duplicate', 'repeat')`, sum[:])
	if n != copies {
		tb.Errorf("%d events for %d copies of %q", n, copies, interchange)
	}
}

// count runs a query that yields one number.
func count(tb testing.TB, pool *pgxpool.Pool, sql string, args ...any) (n int) {
	tb.Helper()
	if err := pool.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		tb.Fatal(err)
	}
	return n
}
