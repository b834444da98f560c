// Package localpg runs a private PostgreSQL server for the demo and for tests:
// a cluster of its own, on a loopback port, that ends with the process that
// started it.
//
// It is no way to run a production database: there is no backup, no tuning and
// no access from other machines. PostgreSQL 15 or later is used where it is
// installed and fetched where it is not; on systems that are not Unix-like
// Start reports [errors.ErrUnsupported].
//
// A password made when the cluster is created guards it (SCRAM-SHA-256), and
// there is no Unix socket, so that the length of the data folder's path does
// not matter. PostgreSQL refuses to run as root: there the server runs as the
// user postgres, or as nobody.
//
// All methods of a Server may be called from several goroutines; those that
// change its state (Stop, Crash, Restart) wait for one another.
package localpg

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Options says how Start sets a server up. The zero value is a fast throwaway
// server: temporary data, no fsync.
type Options struct {
	// BinDir is the folder that holds initdb and postgres. When empty, the
	// search path and the usual installation folders are looked through.
	BinDir string

	// Dir keeps the data. A cluster that is there already is used again, an
	// empty or missing folder gets a new one, and any other folder is
	// refused. When Dir is empty the data are temporary: Stop removes them.
	Dir string

	// Fsync makes commits survive a power failure. A killed server loses
	// nothing either way.
	Fsync bool

	// Settings are server parameters such as "max_connections", as in
	// postgresql.conf but without quotes. They win over the defaults.
	Settings map[string]string

	// NoFetch forbids downloading PostgreSQL when none is installed.
	NoFetch bool

	// Progress, if set, is told what takes long, in a short English phrase.
	Progress func(string)
}

const (
	// oldestMajor is the first PostgreSQL release whose SQL firstcopy needs.
	oldestMajor = 15

	// readyTimeout bounds start-up, crash recovery included, where the
	// caller's context has no nearer deadline.
	readyTimeout = 2 * time.Minute

	// portAttempts is how many ports are tried when another process takes
	// the chosen one between the look and the bind.
	portAttempts = 5
)

// Start creates or reuses a cluster, starts its server and returns when it
// accepts connections. ctx bounds the start only; the server lives until Stop
// or the end of the process. Where PostgreSQL is missing, the error says how
// to install it.
func Start(ctx context.Context, o Options) (*Server, error) {
	acct, err := serverAccount()
	if err != nil {
		return nil, fmt.Errorf("localpg: %w", err)
	}
	h, err := openHome(o.Dir, acct)
	if err != nil {
		return nil, fmt.Errorf("localpg: %w", err)
	}
	s, err := start(ctx, o, h)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("localpg: %w", err), h.discard())
	}
	return s, nil
}

func start(ctx context.Context, o Options, h *home) (*Server, error) {
	major, err := h.major()
	if err != nil {
		return nil, err
	}
	bin, err := locate(ctx, o, h.acct, major)
	if err != nil {
		return nil, err
	}
	if major == 0 {
		o.progress("creating a database cluster")
		if err := h.initialise(ctx, bin, o.Fsync); err != nil {
			return nil, err
		}
	}
	password, err := h.password()
	if err != nil {
		return nil, err
	}
	s := &Server{home: h, bin: bin, settings: o.parameters(), password: password}
	return s, s.startOnFreePort(ctx)
}

// parameters merges Settings over the defaults of a private server.
func (o Options) parameters() map[string]string {
	p := map[string]string{
		"listen_addresses":        loopback,
		"unix_socket_directories": "",
		"timezone":                "UTC",
		"log_timezone":            "UTC",
		"max_connections":         "200",
	}
	if !o.Fsync {
		// Pages cannot be torn without a power failure, and that is not
		// guarded against here anyway.
		p["fsync"], p["full_page_writes"] = "off", "off"
	}
	for k, v := range o.Settings {
		p[k] = v
	}
	return p
}

func (o Options) progress(what string) {
	if o.Progress != nil {
		o.Progress(what)
	}
}
