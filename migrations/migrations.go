// Package migrations brings a Postgres database to the schema this binary
// needs, and tells whether it is there.
//
// The schema is made of the embedded NNNN_name.sql files, in the order of
// their numbers, after the tables of River (the outbox's job queue), whose own
// migrations run in the same turn. Migrations go forward only: there is no
// down, a file that has been applied is never edited, and a database that
// knows more than the binary is left alone. Each migration is a transaction of
// its own, so a statement that cannot run in one (CREATE INDEX CONCURRENTLY)
// cannot stand in a file.
//
// All functions are safe for concurrent use, also from several processes:
// Up takes a Postgres advisory lock, and whoever waits for it finds the work
// done. Tables are made in the first schema of the search path.
package migrations

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed *.sql
var files embed.FS

// Errors of a database that this binary must not touch. The text around them
// says which migration is meant.
var (
	// ErrNewer: the database holds migrations that the binary does not have.
	ErrNewer = errors.New("the schema is newer than this binary")
	// ErrChanged: a file was edited after it had been applied.
	ErrChanged = errors.New("the file was changed after it was applied")
	// ErrOrder: a file came in with a number below one already applied.
	ErrOrder = errors.New("a later migration has been applied already")
	// ErrPending: the database lacks migrations. Only Check returns it.
	ErrPending = errors.New("the schema is older than this binary")
)

// Applied is a migration that the database has.
type Applied struct {
	Name string    // "0001_partner", "river/0006"
	At   time.Time // of River's: when River recorded it
}

// State compares a database with this binary.
type State struct {
	Applied []Applied // in order: River's first
	Pending []string  // names that Up would apply, in order
}

// Up applies all that is pending; on an up-to-date database it does nothing.
// It returns ErrNewer, ErrChanged or ErrOrder, wrapped, without touching
// anything, and the database's own error for a migration that failed: those
// before it stay applied.
func Up(ctx context.Context, pool *pgxpool.Pool) error {
	s, err := embedded()
	if err != nil {
		return err
	}
	return s.up(ctx, pool)
}

// Check is nil only if the schema is exactly this binary's: what a node asks
// before it serves. Beside Up's errors it returns ErrPending, wrapped.
func Check(ctx context.Context, pool *pgxpool.Pool) error {
	st, err := Status(ctx, pool)
	if err != nil {
		return err
	}
	if len(st.Pending) > 0 {
		return fmt.Errorf("%w: %d pending, the first is %s", ErrPending, len(st.Pending), st.Pending[0])
	}
	return nil
}

// Status reads what is applied and what is pending. It changes nothing and
// takes no lock. An inconsistent database gives Up's errors.
func Status(ctx context.Context, pool *pgxpool.Pool) (State, error) {
	s, err := embedded()
	if err != nil {
		return State{}, err
	}
	return s.status(ctx, pool)
}

// Checksum is a hash, in hex, over all files and River's newest version: two
// binaries with the same one make the same schema. It is empty if the embedded
// files are not a valid sequence, which Up then reports.
func Checksum() string {
	s, err := embedded()
	if err != nil {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "river %d\n", s.riverVersion())
	for _, f := range s.files {
		fmt.Fprintf(h, "%s %x\n", f.name, f.checksum)
	}
	return hex.EncodeToString(h.Sum(nil))
}
