package localpg_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"firstcopy/internal/localpg"
)

// holderVariable makes the test binary a process that starts a server, says
// where it is and waits to be killed.
const holderVariable = "FIRSTCOPY_LOCALPG_HOLDER"

func TestMain(m *testing.M) {
	if os.Getenv(holderVariable) != "" {
		hold()
	}
	code, err := runIn(m)
	if err == nil {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// runIn runs the tests with a temporary folder of their own, which the account
// of the server may enter, and looks whether they left anything in it. The
// download library's empty log files do not count; it never removes them.
func runIn(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "localpg-test-*")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Setenv("TMPDIR", dir)); err != nil {
		return 1, err
	}
	code = m.Run()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 1, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "embedded_postgres_log") {
			return 1, fmt.Errorf("the tests left %s behind", e.Name())
		}
	}
	return code, nil
}

func hold() {
	s, err := localpg.Start(context.Background(), localpg.Options{NoFetch: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.URL("postgres"))
	fmt.Println(s.Home())
	select {}
}

// start runs a server until the end of the test.
func start(t *testing.T, o localpg.Options) *localpg.Server {
	t.Helper()
	s, err := localpg.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *localpg.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func execute(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// ask returns the text a query answers with.
func ask(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	var answer string
	if err := conn.QueryRow(t.Context(), sql).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return answer
}

// refuses reports whether nothing answers at url any more.
func refuses(t *testing.T, url string) bool {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		conn.Close(t.Context())
	}
	return err != nil
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}
