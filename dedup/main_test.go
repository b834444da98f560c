package dedup_test

import (
	"context"
	"crypto/sha256"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const fortnight = 14 * 24 * time.Hour

// reference makes a reference that differs from others by its control reference alone.
func reference(control string) interchange.Reference {
	return interchange.Reference{Standard: interchange.EDIFACT, Sender: "4012345000009", Recipient: "5412345000013",
		Control: control, MessageTypes: []string{"INVOIC"}}
}

// entry is a copy with the given raw and canonical content.
func entry(r interchange.Reference, raw, content string, window time.Duration) dedup.Entry {
	return dedup.Entry{Reference: r, Raw: sha256.Sum256([]byte(raw)), Content: sha256.Sum256([]byte(content)),
		Document: uuid.Must(uuid.NewV7()), Window: window}
}

func registration(partner int64, entries ...dedup.Entry) *dedup.Registration {
	return &dedup.Registration{Partner: partner, Delivery: uuid.Must(uuid.NewV7()), Node: "test", Drift: dedup.Held, Entries: entries}
}

// register registers in a transaction of its own, which commits.
func register(tb testing.TB, pool *pgxpool.Pool, partner int64, entries ...dedup.Entry) []dedup.Decision {
	tb.Helper()
	decisions, err := tryRegister(context.Background(), pool, registration(partner, entries...), true)
	if err != nil {
		tb.Fatal(err)
	}
	return decisions
}

func tryRegister(ctx context.Context, pool *pgxpool.Pool, r *dedup.Registration, commit bool) ([]dedup.Decision, error) {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback(ctx)
	decisions, err := r.Register(ctx, tx)
	if err != nil || !commit {
		return decisions, err
	}
	return decisions, tx.Commit(ctx)
}

// pass makes time pass for every key: the rows move into the past instead of the clock into the future.
func pass(tb testing.TB, pool *pgxpool.Pool, d time.Duration) {
	tb.Helper()
	exec(tb, pool, `UPDATE dedup_key SET first_seen_at = first_seen_at - $1::interval, expires_at = expires_at - $1::interval`, d)
}

func exec(tb testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	tb.Helper()
	if _, err := pool.Exec(context.Background(), sql, args...); err != nil {
		tb.Fatal(err)
	}
}

func column[T any](tb testing.TB, pool *pgxpool.Pool, sql string, args ...any) []T {
	tb.Helper()
	rows, err := pool.Query(context.Background(), sql, args...)
	if err != nil {
		tb.Fatal(err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		tb.Fatal(err)
	}
	return values
}
