package demo

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"firstcopy/internal/localpg"
)

// database is the demo's own: on a private server, or a new database on the user's, dropped at the end.
type database struct {
	url   string
	where string // without the password
	close func(context.Context) error
}

func openDatabase(ctx context.Context, server string, progress func(string)) (*database, error) {
	if server != "" {
		return createOn(ctx, server)
	}
	private, err := localpg.Start(ctx, localpg.Options{Fsync: true, Progress: progress})
	if err != nil {
		return nil, err
	}
	address, err := private.EnsureDatabase(ctx, "firstcopy")
	if err != nil {
		_ = private.Stop(ctx)
		return nil, err
	}
	return &database{url: address, where: "private PostgreSQL at " + host(address), close: private.Stop}, nil
}

func createOn(ctx context.Context, server string) (*database, error) {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return nil, fmt.Errorf("FIRSTCOPY_DATABASE_URL: %w", err)
	}
	defer conn.Close(ctx)
	name := "firstcopy_demo_" + time.Now().UTC().Format("20060102150405")
	if _, err := conn.Exec(ctx, `CREATE DATABASE `+name); err != nil {
		return nil, fmt.Errorf("FIRSTCOPY_DATABASE_URL: the demo makes a database of its own there: %w", err)
	}
	address, err := url.Parse(server)
	if err != nil {
		return nil, fmt.Errorf("FIRSTCOPY_DATABASE_URL: %w", err)
	}
	address.Path = "/" + name
	return &database{url: address.String(), where: "database " + name + " at " + host(server), close: func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, server)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, `DROP DATABASE `+name+` WITH (FORCE)`)
		return err
	}}, nil
}

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the given address"
	}
	return u.Host
}
