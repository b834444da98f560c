package partners

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const channel = "firstcopy_partner" // notified by triggers on the partner tables

const (
	// reloadEvery bounds how long a change can go unseen when notifications
	// are lost, as they are behind a pooler or on a dead connection.
	reloadEvery = 30 * time.Second
	// loadTimeout bounds one look at the database.
	loadTimeout = 10 * time.Second

	backoffFirst = 250 * time.Millisecond
	backoffMost  = reloadEvery
)

// Directory is a snapshot of all live agreements in memory, for the path of
// every message. Reading takes no lock and never waits. While the database is
// away the last snapshot stays.
type Directory struct {
	pool    *pgxpool.Pool
	logger  *slog.Logger
	every   time.Duration
	loaded  func()     // for tests: called after each load
	loading sync.Mutex // an older snapshot must not replace a newer one
	current atomic.Pointer[agreements]
}

// agreements is one snapshot; never changed after it was published.
type agreements struct {
	all    []*Agreement // by tenant and name
	byPair map[pair]*Agreement
	byID   map[int64]*Agreement
}

// NewDirectory is empty until the first Load.
func NewDirectory(pool *pgxpool.Pool, logger *slog.Logger) *Directory {
	d := &Directory{pool: pool, logger: logger, every: reloadEvery, loaded: func() {}}
	d.current.Store(&agreements{})
	return d
}

// Lookup finds the agreement for an AS2-From and AS2-To, which are compared to
// the octet (RFC 4130 §6.2: the identifiers are case-sensitive).
func (d *Directory) Lookup(from, to string) (*Agreement, bool) {
	a, ok := d.current.Load().byPair[pair{from, to}]
	return a, ok
}

// ByID finds the live agreement of a partner.
func (d *Directory) ByID(id int64) (*Agreement, bool) {
	a, ok := d.current.Load().byID[id]
	return a, ok
}

// All are the live agreements, by tenant and name. The slice is shared.
func (d *Directory) All() []*Agreement { return d.current.Load().all }

// Load takes a new snapshot. A partner whose row cannot be understood is
// logged and keeps its former agreement, if it had one: it must not take the
// others with it, nor be answered like a stranger.
func (d *Directory) Load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	d.loading.Lock()
	defer d.loading.Unlock()
	rows, err := readLive(ctx, d.pool, query{})
	if err != nil {
		return fmt.Errorf("loading agreements: %w", err)
	}
	former := d.current.Load()
	next := &agreements{byPair: make(map[pair]*Agreement, len(rows)), byID: make(map[int64]*Agreement, len(rows))}
	changed := len(former.all) != len(rows)
	for _, r := range rows {
		a, known := former.byID[r.ID]
		switch {
		case r.fault != nil:
			d.logger.ErrorContext(ctx, "stored agreement is not usable", "partner", r.Name, "kept_former", known, "error", r.fault)
			if !known {
				continue
			}
		case !known || a.Revision != r.Revision:
			changed = true
			fallthrough
		default:
			a = &r.Agreement
		}
		next.all = append(next.all, a)
		if a.HasAS2() {
			next.byPair[a.pair()] = a
		}
		next.byID[a.ID] = a
	}
	d.current.Store(next)
	if changed {
		d.logger.InfoContext(ctx, "agreements loaded", "partners", len(next.all))
	}
	d.loaded()
	return nil
}

// Run follows the database until ctx ends: it reloads when notified, every
// half minute, and after each connection it has had to make anew. It returns
// nil then; failures on the way are logged and retried with backoff.
func (d *Directory) Run(ctx context.Context) error {
	wait := backoffFirst
	for {
		err := d.follow(ctx, func() { wait = backoffFirst })
		if ctx.Err() != nil {
			return nil
		}
		d.logger.WarnContext(ctx, "following agreements was interrupted", "retry_in", wait, "error", err)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		wait = min(2*wait, backoffMost)
	}
}

// follow reloads until something fails; it calls alive after each success.
func (d *Directory) follow(ctx context.Context, alive func()) error {
	conn, err := d.listen(ctx)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing) // a listening connection has nothing to lose
	}()
	for {
		// After LISTEN, so that no change falls between the two.
		if err := d.Load(ctx); err != nil {
			return err
		}
		alive()
		if err := d.wait(ctx, conn); err != nil {
			return err
		}
	}
}

// listen takes a connection of its own out of the pool's hands: it is idle for
// hours and must not count against those who work.
func (d *Directory) listen(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	pooled, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting to listen: %w", err)
	}
	conn := pooled.Hijack()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		_ = conn.Close(ctx) // the first error is the one to tell
		return nil, fmt.Errorf("listening: %w", err)
	}
	return conn, nil
}

// wait returns at a notification, or after a while, when the connection still
// answers: one that died silently would never notify again.
func (d *Directory) wait(ctx context.Context, conn *pgx.Conn) error {
	pause, cancel := context.WithTimeout(ctx, d.every)
	defer cancel()
	_, err := conn.WaitForNotification(pause)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil || pause.Err() == nil {
		return fmt.Errorf("waiting for changes: %w", err)
	}
	ping, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	if err := conn.Ping(ping); err != nil {
		return fmt.Errorf("waiting for changes: %w", err)
	}
	return nil
}
