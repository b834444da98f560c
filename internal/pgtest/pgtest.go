// Package pgtest gives tests a real PostgreSQL: every test a database of its
// own with all migrations applied, gone when the test ends.
//
// The server is the one FIRSTCOPY_TEST_DATABASE_URL names (its user must be
// allowed to create databases; cmd/withpg starts a server and sets the
// variable, which is what `make test` does), or else a private one that each
// test process starts when it first needs it. A server that cannot be had
// fails the test; it is never skipped.
//
// Migrations run once a server and set of migrations, into a template that the
// databases of tests are copied from. All functions may be called from
// parallel tests; processes that share a server do not get in one another's
// way.
package pgtest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/internal/localpg"
)

const (
	// Variable names the environment variable with the server's connection
	// string, in either form libpq knows.
	Variable = "FIRSTCOPY_TEST_DATABASE_URL"

	// patience bounds what a test waits for its database, the start of a
	// server and its migrations included.
	patience = 5 * time.Minute
)

// New returns a pool on a fresh, migrated database. Pool and database go when
// the test ends; sessions that are still open then are cut off.
func New(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	pool, err := pgxpool.New(ctx, URL(tb))
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(pool.Close) // runs before the database is dropped
	return pool
}

// URL returns the connection string of a fresh, migrated database, for tests
// that start the program itself.
func URL(tb testing.TB) string {
	tb.Helper()
	return fresh(tb, template)
}

// EmptyURL returns the connection string of a fresh database without any
// table, for tests of the migrations.
func EmptyURL(tb testing.TB) string {
	tb.Helper()
	return fresh(tb, func(context.Context, *server) (string, error) { return "template0", nil })
}

// Server starts a private server that the test may crash and restart; it is
// stopped when the test ends. Its database "postgres" is empty: apply the
// migrations where they are needed.
func Server(tb testing.TB, o localpg.Options) *localpg.Server {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := localpg.Start(ctx, o)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			tb.Errorf("pgtest: %v", err)
		}
	})
	return s
}
