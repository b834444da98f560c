package localpg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// superuser owns the cluster; its name is the customary one so that psql and
// other tools need no explanation.
const superuser = "postgres"

// Server is a running private PostgreSQL server.
type Server struct {
	home     *home
	bin      binaries
	settings map[string]string
	password string
	port     int // chosen by Start, kept by Restart

	mu      sync.Mutex // guards what follows
	proc    *process   // nil when not running
	stopped bool
}

// URL returns the connection string of a database in the cluster, which URL
// does not create. The database "postgres" always exists. The string holds the
// password and is good across Restart.
func (s *Server) URL(dbname string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, s.password),
		Host:     net.JoinHostPort(loopback, strconv.Itoa(s.port)),
		Path:     "/" + dbname,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// EnsureDatabase creates a database unless it exists and returns its
// connection string.
func (s *Server) EnsureDatabase(ctx context.Context, dbname string) (string, error) {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return "", fmt.Errorf("localpg: creating database %q: %w", dbname, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{dbname}.Sanitize())
	if err != nil && !hasSQLState(err, duplicateDatabase) {
		return "", fmt.Errorf("localpg: creating database %q: %w", dbname, err)
	}
	return s.URL(dbname), nil
}

// Stop ends the server in good order: sessions are cut off, their transactions
// rolled back, and a checkpoint is written. When ctx ends before that, the
// server is stopped the hard way and the error says so. Temporary data are
// removed. A stopped server cannot be restarted; stopping it again does
// nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	if err := errors.Join(s.end(ctx, syscall.SIGINT), s.home.discard()); err != nil {
		return fmt.Errorf("localpg: stopping: %w", err)
	}
	return nil
}

// Crash ends the server at once, without a checkpoint and without a word to
// its clients, as a fault in the server would. The next Restart recovers from
// the write-ahead log.
func (s *Server) Crash() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.end(context.Background(), syscall.SIGQUIT); err != nil {
		return fmt.Errorf("localpg: crashing: %w", err)
	}
	return nil
}

// Restart starts a crashed server, or stops a running one in good order and
// starts it again, on the same port and data.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errors.New("localpg: restarting: the server has been stopped for good")
	}
	if err := s.end(ctx, syscall.SIGINT); err != nil {
		return fmt.Errorf("localpg: restarting: %w", err)
	}
	if err := s.run(ctx); err != nil {
		return fmt.Errorf("localpg: restarting: %w", err)
	}
	return nil
}

// end sends a shutdown signal and waits. SIGINT is PostgreSQL's fast shutdown,
// SIGQUIT its immediate one.
func (s *Server) end(ctx context.Context, sig syscall.Signal) error {
	if s.proc == nil {
		return nil
	}
	p := s.proc
	s.proc = nil
	return p.end(ctx, sig)
}

// startOnFreePort picks a port and starts the server, again when somebody else
// was faster at binding it.
func (s *Server) startOnFreePort(ctx context.Context) error {
	var err error
	for range portAttempts {
		if s.port, err = freePort(); err != nil {
			return err
		}
		if err = s.run(ctx); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

// run starts the server on s.port and waits until it answers.
func (s *Server) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	p, err := s.home.launch(s.bin, s.port, s.settings)
	if err != nil {
		return err
	}
	if err := s.waitReady(ctx, p); err != nil {
		return errors.Join(err, p.end(context.Background(), syscall.SIGQUIT))
	}
	s.proc = p
	return nil
}

// waitReady tries to connect until it works, the server gives up, or ctx ends.
func (s *Server) waitReady(ctx context.Context, p *process) error {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		err := s.greet(ctx, p)
		if err == nil {
			return nil
		}
		refused := hasSQLState(err, invalidPassword)
		if refused {
			pause = refusalPause
		}
		select {
		case <-p.exited:
			return p.failure()
		case <-ctx.Done():
			return fmt.Errorf("waiting for the server: %w (last attempt: %w)", context.Cause(ctx), err)
		case <-time.After(pause):
			if refused {
				return fmt.Errorf("the password kept beside the data does not fit the cluster: %w", err)
			}
		}
	}
}

const (
	// refusalPause is for our server to end by itself, should the refusal
	// have come from another one that holds the port.
	refusalPause = 2 * time.Second

	// greetTimeout is for one attempt: who holds the port may be mute.
	greetTimeout = 10 * time.Second
)

// greet connects and makes sure that it is this server that answers. It gives
// up when the process ends.
func (s *Server) greet(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	go func() {
		select {
		case <-p.exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var dir string
	if err := conn.QueryRow(ctx, "SHOW data_directory").Scan(&dir); err != nil {
		return err
	}
	if dir != s.home.path(dataName) {
		return fmt.Errorf("another server, with data in %s, listens on port %d", dir, s.port)
	}
	return nil
}

// SQLSTATE codes that are not failures here, or are final ones.
const (
	duplicateDatabase = "42P04"
	invalidPassword   = "28P01"
)

func hasSQLState(err error, code string) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == code
}
