package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/migrations"
)

// templateLock is the advisory lock under which a template is made: "pgtest"
// in ASCII. Advisory locks are per database, and all processes come through
// the same maintenance database.
const templateLock = 0x706774657374

const templateExists = `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1 AND datistemplate)`

// fresh creates a database from what source names and drops it with the test.
func fresh(tb testing.TB, source func(context.Context, *server) (string, error)) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := shared()
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	from, err := source(ctx, s)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	name := "firstcopy_test_" + strings.ToLower(rand.Text()[:16])
	if err := s.execute(ctx, "CREATE DATABASE "+quote(name)+" TEMPLATE "+quote(from)); err != nil {
		tb.Fatalf("pgtest: creating a database: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.execute(ctx, "DROP DATABASE "+quote(name)+" WITH (FORCE)"); err != nil {
			tb.Errorf("pgtest: dropping the database: %v", err)
		}
	})
	dsn, err := withDatabase(s.url, name)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	return dsn
}

// template returns the name of a database with this binary's migrations.
func template(ctx context.Context, s *server) (string, error) {
	s.once.Do(func() {
		s.template, s.err = s.makeTemplate(ctx, migrations.Checksum(), migrations.Up)
	})
	return s.template, s.err
}

// makeTemplate makes the template unless this or another process has. Marking
// it is the last step, so one that is not marked is a failed attempt's and is
// made anew.
func (s *server) makeTemplate(ctx context.Context, checksum string, up func(context.Context, *pgxpool.Pool) error) (string, error) {
	conn, err := s.admin(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx)) // gives the lock back, too
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(templateLock)); err != nil {
		return "", fmt.Errorf("waiting for another process's template: %w", err)
	}
	name := "firstcopy_template_" + checksum[:min(len(checksum), 16)]
	var exists bool
	if err := conn.QueryRow(ctx, templateExists, name).Scan(&exists); err != nil {
		return "", fmt.Errorf("looking for the template: %w", err)
	}
	if exists {
		return name, nil
	}
	for _, sql := range []string{
		"DROP DATABASE IF EXISTS " + quote(name) + " WITH (FORCE)",
		"CREATE DATABASE " + quote(name) + " TEMPLATE template0",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return "", fmt.Errorf("making the template: %w", err)
		}
	}
	if err := s.migrate(ctx, name, up); err != nil {
		return "", fmt.Errorf("migrating the template: %w", err)
	}
	// A database somebody is connected to cannot be copied, so nobody may.
	_, err = conn.Exec(ctx, "ALTER DATABASE "+quote(name)+" WITH IS_TEMPLATE true ALLOW_CONNECTIONS false")
	if err != nil {
		return "", fmt.Errorf("marking the template: %w", err)
	}
	return name, nil
}

func (s *server) migrate(ctx context.Context, name string, up func(context.Context, *pgxpool.Pool) error) error {
	dsn, err := withDatabase(s.url, name)
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	return up(ctx, pool)
}

// withDatabase names another database in a connection string, which is a URL
// or a list of keywords and values; in the latter the last one counts.
func withDatabase(dsn, name string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " dbname=" + name, nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("%s is no connection string: %w", Variable, err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
