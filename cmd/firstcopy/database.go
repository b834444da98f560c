package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/configs"
	"firstcopy/gateway"
	"firstcopy/migrations"
)

// Bounds of an administrator's statements: a lock held elsewhere, or a search
// through years, must not hang a terminal for ever.
var adminBounds = gateway.Transaction{LockTimeout: 10 * time.Second, StatementTimeout: time.Minute, IdleTimeout: time.Minute}

// connectTimeout bounds the wait for the database's first answer.
const connectTimeout = 10 * time.Second

// databaseURL is the environment's, which needs no configuration file, or the
// configuration's.
func (a *app) databaseURL() (string, error) {
	if url := os.Getenv(configs.EnvDatabaseURL); url != "" {
		return url, nil
	}
	c, err := a.load()
	if err != nil {
		return "", err
	}
	return string(c.Database.URL), nil
}

// open connects to a database whose schema is this binary's.
func (a *app) open(ctx context.Context) (*pgxpool.Pool, error) {
	url, err := a.databaseURL()
	if err != nil {
		return nil, err
	}
	pool, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	if err := migrations.Check(ctx, pool); err != nil {
		pool.Close()
		return nil, schemaFault(err)
	}
	return pool, nil
}

// connect waits for the database's first answer, whatever its schema.
func connect(ctx context.Context, url string) (*pgxpool.Pool, error) {
	parsed, err := pgconn.ParseConfig(url)
	if err != nil {
		// The text of a string that cannot be taken apart may hold a password.
		return nil, withHint(errors.New("the database address is not a connection string"),
			"it reads like postgres://user@host:5432/database; see %s and database in the configuration", configs.EnvDatabaseURL)
	}
	pool, err := gateway.OpenPool(ctx, url, 4, adminBounds)
	if err != nil {
		return nil, err
	}
	first, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := pool.Ping(first); err != nil {
		pool.Close()
		return nil, unreachable(parsed, err)
	}
	return pool, nil
}

// unreachable names the server without the password, and the innermost cause.
func unreachable(c *pgconn.Config, err error) error {
	address := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	where := fmt.Sprintf("database %q at %s as user %q", c.Database, address, c.User)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return withHint(fmt.Errorf("%s: refused: %s", where, pg.Message), "check database, user and password in the configuration or %s", configs.EnvDatabaseURL)
	}
	cause := err
	if op, ok := errors.AsType[*net.OpError](err); ok {
		cause = op.Err
	} else if errors.Is(err, context.DeadlineExceeded) {
		cause = fmt.Errorf("no answer within %s", connectTimeout)
	}
	return withHint(fmt.Errorf("%s: not reachable: %w", where, cause), "is the server running, and is this its address?")
}

// schemaFault adds to a complaint about the schema what to do.
func schemaFault(err error) error {
	err = fmt.Errorf("database schema: %w", err)
	switch {
	case errors.Is(err, migrations.ErrPending):
		return withHint(err, "bring it up to date with: firstcopy migrate")
	case errors.Is(err, migrations.ErrNewer):
		return withHint(err, "use the firstcopy that migrated it, or a later one")
	case errors.Is(err, migrations.ErrChanged), errors.Is(err, migrations.ErrOrder):
		return withHint(err, "this binary and the one that migrated the database are not of one line of releases")
	}
	return err
}
