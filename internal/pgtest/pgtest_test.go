package pgtest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"firstcopy/internal/localpg"
	"firstcopy/internal/pgtest"
	"firstcopy/migrations"
)

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main(m, func() error { return goleak.Find() }))
}

func TestNewIsMigratedAndItsOwn(t *testing.T) {
	t.Parallel()
	one, other := pgtest.New(t), pgtest.New(t)
	if err := migrations.Check(t.Context(), one); err != nil {
		t.Errorf("the database is not migrated: %v", err)
	}
	if _, err := one.Exec(t.Context(), "CREATE TABLE mine ()"); err != nil {
		t.Fatal(err)
	}
	var seen bool
	if err := other.QueryRow(t.Context(), "SELECT to_regclass('mine') IS NOT NULL").Scan(&seen); err != nil {
		t.Fatal(err)
	}
	if seen {
		t.Error("two tests share a database")
	}
}

func TestEmptyURLHasNoTables(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), pgtest.EmptyURL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var tables int
	const count = "SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'public'"
	if err := conn.QueryRow(t.Context(), count).Scan(&tables); err != nil {
		t.Fatal(err)
	}
	if tables != 0 {
		t.Errorf("%d relations in an empty database", tables)
	}
}

func TestDatabaseGoesWithItsTest(t *testing.T) {
	t.Parallel()
	var url string
	var forgotten *pgx.Conn
	t.Run("user", func(t *testing.T) {
		url = pgtest.URL(t)
		var err error
		if forgotten, err = pgx.Connect(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	})
	defer forgotten.Close(context.Background())
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		conn.Close(t.Context())
	}
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "3D000" { // invalid_catalog_name
		t.Errorf("connecting after the test: %v, want that there is no such database", err)
	}
}

func TestTemplateIsMadeOnce(t *testing.T) {
	t.Parallel()
	checksum := strings.ToLower(rand.Text())
	var runs atomic.Int32
	up := func(ctx context.Context, pool *pgxpool.Pool) error {
		runs.Add(1)
		_, err := pool.Exec(ctx, "CREATE TABLE made ()")
		return err
	}
	fails := errors.New("the migration fails")
	_, err := pgtest.MakeTemplate(t.Context(), checksum, func(context.Context, *pgxpool.Pool) error { return fails })
	if !errors.Is(err, fails) {
		t.Fatalf("a failed migration makes a template: %v", err)
	}
	names := make([]string, 6)
	var processes sync.WaitGroup
	for i := range names {
		processes.Go(func() {
			var err error
			if names[i], err = pgtest.MakeTemplate(t.Context(), checksum, up); err != nil {
				t.Error(err)
			}
		})
	}
	processes.Wait()
	t.Cleanup(func() {
		for _, sql := range []string{"ALTER DATABASE " + names[0] + " WITH IS_TEMPLATE false", "DROP DATABASE " + names[0]} {
			if err := pgtest.Execute(context.Background(), sql); err != nil {
				t.Error(err)
			}
		}
	})
	if runs.Load() != 1 {
		t.Errorf("the migrations ran %d times", runs.Load())
	}
	for _, name := range names {
		if name != names[0] {
			t.Errorf("templates %s and %s for the same migrations", names[0], name)
		}
	}
}

func TestServerCanBeCrashed(t *testing.T) {
	t.Parallel()
	var url string
	t.Run("user", func(t *testing.T) {
		s := pgtest.Server(t, localpg.Options{})
		url = s.URL("postgres")
		if err := s.Crash(); err != nil {
			t.Fatal(err)
		}
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if conn, err := pgx.Connect(t.Context(), url); err == nil {
		conn.Close(t.Context())
		t.Error("the server outlived its test")
	}
}

// What a test sees when the server it is told of is not there: a failure.
func TestMissingServerFails(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestNewIsMigratedAndItsOwn$", "-test.v")
	cmd.Env = append(os.Environ(), pgtest.Variable+"=postgres://127.0.0.1:1/postgres?connect_timeout=5")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Errorf("the test did not fail: %v", err)
	}
	if !strings.Contains(string(out), "--- FAIL: TestNewIsMigratedAndItsOwn") {
		t.Errorf("no failure is reported:\n%s", out)
	}
}

func TestWithDatabase(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://u:p@h:1/old?sslmode=disable", "postgresql://u:p@h:1", "host=h port=1 user=u password=p",
		"host=h port=1 user=u password=p dbname=old",
	} {
		got, err := pgtest.WithDatabase(dsn, "new")
		if err != nil {
			t.Fatal(err)
		}
		c, err := pgx.ParseConfig(got)
		if err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		if c.Database != "new" || c.Host != "h" || c.Port != 1 || c.User != "u" || c.Password != "p" {
			t.Errorf("WithDatabase(%q) = %q", dsn, got)
		}
	}
	if _, err := pgtest.WithDatabase("postgres://h:not a port/", "new"); err == nil {
		t.Error("a broken URL was taken")
	}
}
