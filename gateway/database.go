package gateway

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Transaction bounds the waits of an ingest. Running out of one means HTTP 503, never a guess.
type Transaction struct {
	LockTimeout      time.Duration // for a concurrent copy's commit
	StatementTimeout time.Duration
	IdleTimeout      time.Duration // inside a transaction; a stopped gateway must not hold a reference
	Deadline         time.Duration // for the whole ingest, kept by the client
}

// OpenPool connects for ingest: with the transaction's bounds, and with warnings noted.
func OpenPool(ctx context.Context, url string, connections int, t Transaction) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database address: %w", err)
	}
	config.MaxConns = int32(connections)
	config.ConnConfig.OnNotice = noteWarning
	params := config.ConnConfig.RuntimeParams
	params["application_name"] = "firstcopy"
	params["lock_timeout"] = milliseconds(t.LockTimeout)
	params["statement_timeout"] = milliseconds(t.StatementTimeout)
	params["idle_in_transaction_session_timeout"] = milliseconds(t.IdleTimeout)
	config.AfterConnect = insistOnDurability
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return pool, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// insistOnDurability overrides a server or role that answers COMMIT before the WAL is on disk: a positive receipt would
// then promise what a crash can take back. Stricter settings, such as remote_apply, stay.
func insistOnDurability(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`)
	return err
}
