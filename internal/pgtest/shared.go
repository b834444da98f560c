package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"firstcopy/internal/localpg"
)

// server is the one this process's tests share.
type server struct {
	url string // connection string of its maintenance database

	once     sync.Once // guards what follows
	template string
	err      error
}

// shared is started on first use, at most once a process, so that a server
// that cannot be had fails every test quickly.
var shared = sync.OnceValues(func() (*server, error) {
	startedMu.Lock()
	defer startedMu.Unlock()
	if url := os.Getenv(Variable); url != "" {
		return &server{url: url}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := localpg.Start(ctx, localpg.Options{})
	if err != nil {
		return nil, err
	}
	started = s
	return &server{url: s.URL("postgres")}, nil
})

// started is the private server, for Main to stop.
var (
	startedMu sync.Mutex
	started   *localpg.Server
)

// Main runs a package's tests, stops the process's private server if there is
// one, then makes the checks and returns the exit code: for a TestMain that
// looks for leaked goroutines, which a running server would be.
//
// A package without it leaves the server to die with the process, and its data
// to the next process that starts one.
func Main(m *testing.M, checks ...func() error) int {
	code := m.Run()
	startedMu.Lock()
	defer startedMu.Unlock()
	var errs []error
	if started != nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		errs = append(errs, started.Stop(ctx))
	}
	for _, check := range checks {
		errs = append(errs, check())
	}
	if err := errors.Join(errs...); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// admin connects to the maintenance database.
func (s *server) admin(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return nil, fmt.Errorf("connecting to the test server: %w", err)
	}
	return conn, nil
}

// execute runs one statement on the maintenance database. Connections are not
// pooled: a pool's goroutines would outlive the tests.
func (s *server) execute(ctx context.Context, sql string) error {
	conn, err := s.admin(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql)
	return err
}
