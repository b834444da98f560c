package migrations_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"firstcopy/internal/pgtest"
	"firstcopy/migrations"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// emptyDatabase is a pool on a database without any table.
func emptyDatabase(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), pgtest.EmptyURL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func sqlFiles(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

func TestUpMakesTheSchemaAndIsIdempotent(t *testing.T) {
	t.Parallel()
	pool := emptyDatabase(t)
	if err := migrations.Check(t.Context(), pool); !errors.Is(err, migrations.ErrPending) {
		t.Fatalf("Check of an empty database: %v, want ErrPending", err)
	}
	before, err := migrations.Status(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	if len(before.Applied) != 0 || before.Pending[0] != "river/0001" {
		t.Fatalf("status of an empty database: %+v", before)
	}
	for range 2 {
		if err := migrations.Up(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		if err := migrations.Check(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
	}
	after, err := migrations.Status(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	if len(after.Applied) != len(before.Pending) || len(after.Pending) != 0 {
		t.Fatalf("status: %d applied, %d pending; there were %d", len(after.Applied), len(after.Pending), len(before.Pending))
	}
	for i, a := range after.Applied {
		if a.Name != before.Pending[i] || a.At.IsZero() {
			t.Errorf("applied %d is %+v, want %s", i, a, before.Pending[i])
		}
	}
	for _, table := range []string{"partner", "river_job"} {
		var there bool
		if err := pool.QueryRow(t.Context(), "SELECT to_regclass($1) IS NOT NULL", table).Scan(&there); err != nil || !there {
			t.Errorf("table %s is missing (%v)", table, err)
		}
	}
}

func TestUpFromManyProcessesAtOnce(t *testing.T) {
	t.Parallel()
	pool := emptyDatabase(t)
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() { errs[i] = migrations.Up(t.Context(), pool) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if err := migrations.Check(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
}

func TestUpNeedsOneConnectionAndOutlivesTimeouts(t *testing.T) {
	t.Parallel()
	config := emptyDatabase(t).Config()
	config.MaxConns = 1
	config.ConnConfig.RuntimeParams["statement_timeout"] = "50"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	fsys := sqlFiles("0001_slow.sql", "SELECT pg_sleep(0.2)")
	if err := migrations.UpFrom(t.Context(), pool, fsys); err != nil {
		t.Fatal(err)
	}
	var timeout string
	if err := pool.QueryRow(t.Context(), "SHOW statement_timeout").Scan(&timeout); err != nil || timeout != "50ms" {
		t.Fatalf("the pool's statement_timeout is %q afterwards (%v)", timeout, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	applied := sqlFiles("0001_a.sql", "CREATE TABLE a ()", "0003_c.sql", "CREATE TABLE c ()")
	for _, test := range []struct {
		name  string
		files fstest.MapFS
		want  error
		says  string
	}{
		{"edited", sqlFiles("0001_a.sql", "CREATE TABLE a (x int)", "0003_c.sql", "CREATE TABLE c ()"), migrations.ErrChanged, "0001_a"},
		{"older binary", sqlFiles("0001_a.sql", "CREATE TABLE a ()"), migrations.ErrNewer, "0003_c"},
		{"late comer", sqlFiles("0001_a.sql", "CREATE TABLE a ()", "0002_b.sql", "CREATE TABLE b ()", "0003_c.sql", "CREATE TABLE c ()"), migrations.ErrOrder, "0002_b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pool := emptyDatabase(t)
			if err := migrations.UpFrom(t.Context(), pool, applied); err != nil {
				t.Fatal(err)
			}
			for _, err := range []error{
				migrations.UpFrom(t.Context(), pool, test.files),
				func() error { _, err := migrations.StatusFrom(t.Context(), pool, test.files); return err }(),
			} {
				if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("got %v, want %v naming %s", err, test.want, test.says)
				}
			}
		})
	}
}

func TestRiverNewerThanBinary(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	if _, err := pool.Exec(t.Context(), "INSERT INTO river_migration (line, version) VALUES ('main', 999)"); err != nil {
		t.Fatal(err)
	}
	if err := migrations.Check(t.Context(), pool); !errors.Is(err, migrations.ErrNewer) || !strings.Contains(err.Error(), "river/0999") {
		t.Fatalf("got %v, want ErrNewer naming river/0999", err)
	}
}

func TestFailedMigrationLeavesNothingOfItself(t *testing.T) {
	t.Parallel()
	pool := emptyDatabase(t)
	broken := sqlFiles("0001_a.sql", "CREATE TABLE a ()", "0002_b.sql", "CREATE TABLE b (); SELECT 1/0")
	err := migrations.UpFrom(t.Context(), pool, broken)
	if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "22012" || !strings.Contains(err.Error(), "0002_b") {
		t.Fatalf("got %v, want division by zero in 0002_b", err)
	}
	rows, err := pool.Query(t.Context(), "SELECT relname::text FROM pg_class WHERE relname IN ('a', 'b')")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) != 1 || tables[0] != "a" {
		t.Fatalf("tables %v (%v), want a alone", tables, err)
	}
	mended := sqlFiles("0001_a.sql", "CREATE TABLE a ()", "0002_b.sql", "CREATE TABLE b ()")
	if err := migrations.UpFrom(t.Context(), pool, mended); err != nil {
		t.Fatalf("after mending: %v", err)
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]fstest.MapFS{
		"not NNNN_name": sqlFiles("1_a.sql", "SELECT 1"),
		"same number":   sqlFiles("0001_a.sql", "SELECT 1", "0001_b.sql", "SELECT 1"),
	} {
		if err := migrations.UpFrom(t.Context(), nil, files); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error saying %q", err, name)
		}
	}
}

func TestChecksumIsStable(t *testing.T) {
	t.Parallel()
	if sum := migrations.Checksum(); len(sum) != 64 || sum != migrations.Checksum() {
		t.Fatalf("checksum %q", sum)
	}
}

func TestChangesCannotBeRewritten(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `WITH p AS (INSERT INTO partner (tenant, name, as2_id, station, agreement)
		VALUES ('default', 'acme', 'ACME', 'HUB', '{}') RETURNING partner_id)
		INSERT INTO partner_change (who, partner_id, tenant, name, revision, action, after)
		SELECT 'test', partner_id, 'default', 'acme', 1, 'created', '{}' FROM p`)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"UPDATE partner_change SET who = 'someone else'",
		"DELETE FROM partner_change",
		"TRUNCATE partner_change",
	} {
		_, err := pool.Exec(t.Context(), sql)
		if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "42501" {
			t.Errorf("%s: %v, want insufficient_privilege", sql, err)
		}
	}
}
