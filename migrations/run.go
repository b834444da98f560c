package migrations

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// The advisory lock that a run holds: "firstcop" in octets. Session level, so
// that it spans the transactions of a run and ends with its connection.
const lockKey = 0x6669727374636f70

const (
	setupSQL = `SELECT set_config(name, '0', false)
		FROM unnest(ARRAY['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']) AS name`

	tableSQL = `CREATE TABLE IF NOT EXISTS schema_migration (
		version    integer     NOT NULL CONSTRAINT schema_migration_pkey PRIMARY KEY,
		name       text        NOT NULL,
		checksum   bytea       NOT NULL,
		applied_at timestamptz NOT NULL DEFAULT now())`

	existsSQL = `SELECT to_regclass($1) IS NOT NULL`
	readSQL   = `SELECT version, name, checksum, applied_at FROM schema_migration ORDER BY version`
	recordSQL = `INSERT INTO schema_migration (version, name, checksum) VALUES ($1, $2, $3)`
	riverSQL  = `SELECT version, created_at FROM river_migration WHERE line = 'main' ORDER BY version`
	// River before its version 5 had no lines.
	riverOldSQL  = `SELECT version, created_at FROM river_migration ORDER BY version`
	riverLineSQL = `SELECT EXISTS (SELECT FROM pg_attribute
		WHERE attrelid = to_regclass('river_migration') AND attname = 'line' AND NOT attisdropped)`
)

// sequence is all that a database can be given: River's migrations and ours.
type sequence struct {
	files    []file
	migrator *rivermigrate.Migrator[pgx.Tx]
	river    []rivermigrate.Migration
}

// record is one applied migration of ours, as stored.
type record struct {
	version   int
	name      string
	checksum  []byte
	appliedAt time.Time
}

func embedded() (*sequence, error) { return newSequence(files) }

func newSequence(fsys fs.FS) (*sequence, error) {
	all, err := readFiles(fsys)
	if err != nil {
		return nil, err
	}
	// Without a pool: River is only ever handed our own transactions.
	migrator, err := rivermigrate.New(riverpgxv5.New(nil), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("preparing river's migrations: %w", err)
	}
	return &sequence{files: all, migrator: migrator, river: migrator.AllVersions()}, nil
}

func (s *sequence) riverVersion() int { return s.river[len(s.river)-1].Version }

// querier is a connection or a pool.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// up runs on one connection of its own. It is closed afterwards, not returned:
// its settings and, whatever happened, its lock end with it.
func (s *sequence) up(ctx context.Context, pool *pgxpool.Pool) error {
	pooled, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connecting to migrate: %w", err)
	}
	conn := pooled.Hijack()
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = conn.Close(closing) // nothing is lost: all work is committed or failed by now
	}()
	// The timeouts of ordinary traffic are too short to build an index or to
	// wait for another node's run.
	if _, err := conn.Exec(ctx, setupSQL); err != nil {
		return fmt.Errorf("preparing to migrate: %w", err)
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(lockKey)); err != nil {
		return fmt.Errorf("waiting for the migration lock: %w", err)
	}
	st, err := s.status(ctx, conn)
	if err != nil {
		return err
	}
	if len(st.Pending) == 0 {
		return nil
	}
	if _, err := conn.Exec(ctx, tableSQL); err != nil {
		return fmt.Errorf("creating schema_migration: %w", err)
	}
	return s.apply(ctx, conn, st)
}

// apply runs what st calls pending, each migration in a transaction.
func (s *sequence) apply(ctx context.Context, conn *pgx.Conn, st State) error {
	for _, r := range s.river {
		if !slices.Contains(st.Pending, riverName(r.Version)) {
			continue
		}
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			// One version at a time: an enum value added by one is used by a
			// later one, which Postgres allows only after a commit. For that
			// reason River deprecates running them all in one transaction.
			//lint:ignore SA1019 deprecated for several steps in one transaction; this is one
			_, err := s.migrator.MigrateTx(ctx, tx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{MaxSteps: 1})
			return err
		})
		if err != nil {
			return fmt.Errorf("migration %s: %w", riverName(r.Version), err)
		}
	}
	for _, f := range s.files {
		if !slices.Contains(st.Pending, f.name) {
			continue
		}
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, f.sql); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, recordSQL, f.version, f.name, f.checksum)
			return err
		})
		if err != nil {
			return fmt.Errorf("migration %s: %w", f.name, err)
		}
	}
	return nil
}

func (s *sequence) status(ctx context.Context, q querier) (State, error) {
	var st State
	if err := s.riverStatus(ctx, q, &st); err != nil {
		return State{}, err
	}
	done, err := readRecords(ctx, q)
	if err != nil {
		return State{}, err
	}
	if err := s.compare(done, &st); err != nil {
		return State{}, err
	}
	return st, nil
}

// compare adds our own files to st.
func (s *sequence) compare(done []record, st *State) error {
	applied := map[int]record{}
	last := 0
	for _, r := range done {
		if !slices.ContainsFunc(s.files, func(f file) bool { return f.version == r.version }) {
			return fmt.Errorf("migration %s: %w", r.name, ErrNewer)
		}
		applied[r.version], last = r, r.version
		st.Applied = append(st.Applied, Applied{r.name, r.appliedAt})
	}
	for _, f := range s.files {
		r, ok := applied[f.version]
		switch {
		case ok && !bytes.Equal(r.checksum, f.checksum):
			return fmt.Errorf("migration %s: %w", f.name, ErrChanged)
		case ok:
		case f.version < last:
			return fmt.Errorf("migration %s: %w", f.name, ErrOrder)
		default:
			st.Pending = append(st.Pending, f.name)
		}
	}
	return nil
}

func readRecords(ctx context.Context, q querier) ([]record, error) {
	exists, err := tableExists(ctx, q, "schema_migration")
	if err != nil || !exists {
		return nil, err
	}
	rows, err := q.Query(ctx, readSQL)
	if err != nil {
		return nil, fmt.Errorf("reading schema_migration: %w", err)
	}
	done, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r record, err error) {
		err = row.Scan(&r.version, &r.name, &r.checksum, &r.appliedAt)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading schema_migration: %w", err)
	}
	return done, nil
}

func tableExists(ctx context.Context, q querier, table string) (exists bool, err error) {
	if err := q.QueryRow(ctx, existsSQL, table).Scan(&exists); err != nil {
		return false, fmt.Errorf("looking for table %s: %w", table, err)
	}
	return exists, nil
}
