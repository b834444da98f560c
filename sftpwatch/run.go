package sftpwatch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"firstcopy/internal/failpoint"
	"firstcopy/partners"
)

// errStopping ends what is under way when the node stops, or a lease is lost.
var errStopping = fmt.Errorf("the node stops: %w", context.Canceled)

// Run polls until ctx ends, then lets the files under way end, for [Config.Stop] at most, whatever the servers do.
func (w *Watcher) Run(ctx context.Context) error {
	work, stopWork := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopWork(errStopping)
	r := newRunning(w, work, ctx.Done())
	var beat sync.WaitGroup
	beat.Go(func() { r.heartbeat(work) })
	look := time.NewTicker(w.config.Look)
	defer look.Stop()
	for ctx.Err() == nil {
		if err := r.look(ctx); err != nil && ctx.Err() == nil {
			w.log.WarnContext(ctx, "polls not taken", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-look.C:
		}
	}
	hard := time.AfterFunc(w.config.Stop, func() { stopWork(errStopping) })
	r.polls.Wait()
	hard.Stop()
	stopWork(errStopping)
	beat.Wait()
	return nil
}

// Close ends all connections, and with them what the outbox's jobs do over them; no further ones are made.
func (w *Watcher) Close() { w.links.closeAll() }

// running is a watcher at work.
type running struct {
	*Watcher
	ctx      context.Context // of the polls; ends when they must
	stopping <-chan struct{} // no new files
	polls    sync.WaitGroup
	known    map[int64]bool           // partners that have rows
	agreed   map[int64]*partners.SFTP // as of the last look
	changed  map[int64]bool           // whose polls are to be made due, since their terms changed

	mutex sync.Mutex
	held  map[int64]*holding
}

func newRunning(w *Watcher, ctx context.Context, stopping <-chan struct{}) *running {
	return &running{Watcher: w, ctx: ctx, stopping: stopping, held: map[int64]*holding{}, agreed: map[int64]*partners.SFTP{},
		changed: map[int64]bool{}}
}

// holding is a lease that this process holds.
type holding struct {
	lease
	stop   context.CancelCauseFunc
	proven time.Time // the lease stood then, by our clock
}

// look takes the polls that are due, as many as there is room for.
func (r *running) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	live := map[int64]bool{}
	for _, a := range r.partners.All() {
		if a.SFTP != nil {
			live[a.ID] = true
			r.compare(a)
		}
	}
	ids := slices.Sorted(maps.Keys(live))
	if !maps.Equal(live, r.known) {
		if err := r.store.know(ctx, ids); err != nil {
			return err
		}
		r.links.drop(live)
		r.known = live
		r.forgetTerms()
	}
	if err := r.store.renewTerms(ctx, r.changed); err != nil {
		return err
	}
	r.mutex.Lock()
	room, held := r.config.Partners-len(r.held), map[int64]bool{}
	for id := range r.held {
		held[id] = true
	}
	r.mutex.Unlock()
	r.seen.drop(live, held)
	// A poll may outlive its lease, for as long as its last call takes: until it has ended there is no other of its partner
	// in this process, with whom it would share what has been seen.
	ids = slices.DeleteFunc(ids, func(id int64) bool { return held[id] })
	if room <= 0 || len(ids) == 0 {
		return nil
	}
	asked := time.Now()
	leases, err := r.store.take(ctx, ids, room)
	if err != nil {
		return err
	}
	for _, l := range leases {
		r.start(l, asked)
	}
	return nil
}

// compare notes a partner whose terms are others than at the last look. Snapshots of the agreements share nothing, so that most
// looks compare pointers.
func (r *running) compare(a *partners.Agreement) {
	before := r.agreed[a.ID]
	if before != nil && before != a.SFTP && !reflect.DeepEqual(before, a.SFTP) {
		r.changed[a.ID] = true
	}
	r.agreed[a.ID] = a.SFTP
}

// forgetTerms forgets those of partners that are polled no more.
func (r *running) forgetTerms() {
	maps.DeleteFunc(r.agreed, func(id int64, _ *partners.SFTP) bool { return !r.known[id] })
	maps.DeleteFunc(r.changed, func(id int64, _ bool) bool { return !r.known[id] })
}

// start polls one partner in a goroutine of its own, whose panics end with it.
func (r *running) start(l lease, asked time.Time) {
	ctx, stop := context.WithCancelCause(r.ctx)
	r.mutex.Lock()
	r.held[l.partner] = &holding{lease: l, stop: stop, proven: asked}
	r.mutex.Unlock()
	r.polls.Go(func() {
		defer stop(nil)
		start := time.Now()
		report := r.contained(ctx, l)
		r.mutex.Lock()
		delete(r.held, l.partner)
		r.mutex.Unlock()
		r.finish(ctx, l, report, time.Since(start))
	})
}

func (r *running) contained(ctx context.Context, l lease) (report report) {
	defer func() {
		if p := recover(); p != nil {
			report.err = &Fault{Kind: KindProtocol, Doing: "polling", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
			report.again = time.Minute
		}
	}()
	a, live := r.partners.ByID(l.partner)
	if !live || a.SFTP == nil {
		report.again = time.Minute
		return report
	}
	return r.poll(ctx, a, l)
}

// finish gives the lease back and tells what came of the poll. The database may be away: the lease then expires.
func (r *running) finish(ctx context.Context, l lease, report report, took time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	failpoint.Hit("sftp.polled")
	kind := kindOf(report.err)
	giveBack := r.store.release
	if kind == KindStopped {
		giveBack = r.store.abandon
	}
	if err := giveBack(ctx, l, report); err != nil {
		r.log.WarnContext(ctx, "lease not given back", "partner_id", l.partner, "error", err)
	}
	a, live := r.partners.ByID(l.partner)
	if !live || a.SFTP == nil {
		return
	}
	if kind == KindStopped {
		return
	}
	r.observer.Polled(a.Name, kind, took)
	if report.err != nil && !errors.Is(report.err, errNotYet) {
		r.tellFailure(ctx, a, report.err, l.failures+1)
	}
	if err := r.missed(ctx, a, time.Now()); err != nil {
		r.log.WarnContext(ctx, "expected files not checked", "partner", a.Name, "error", err)
	}
}

// tellFailure logs a poll that failed. What will not mend by itself is an error.
func (r *running) tellFailure(ctx context.Context, a *partners.Agreement, err error, failures int) {
	log := r.log.WarnContext
	switch kindOf(err) {
	case KindHostKey, KindLogin, KindAlgorithm, KindSecret, KindCrowded:
		log = r.log.ErrorContext
	}
	log(ctx, "poll failed", "partner", a.Name, "error_kind", kindOf(err), "failures", failures, "error", err)
}

// heartbeat renews the leases. A poll whose lease is lost, or cannot be proven in time, ends: another node may have it.
func (r *running) heartbeat(ctx context.Context) {
	beat := time.NewTicker(r.config.Lease / 5)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		r.beat(ctx)
	}
}

func (r *running) beat(ctx context.Context) {
	r.mutex.Lock()
	held := make([]lease, 0, len(r.held))
	for _, h := range r.held {
		held = append(held, h.lease)
	}
	r.mutex.Unlock()
	if len(held) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.config.Lease/5)
	defer cancel()
	asked := time.Now()
	standing, err := r.store.renew(ctx, held)
	if err != nil {
		r.log.WarnContext(ctx, "leases not renewed", "leases", len(held), "error", err)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, l := range held {
		h := r.held[l.partner]
		if h == nil || h.fence != l.fence {
			continue // ended meanwhile
		}
		switch {
		case err == nil && standing[l.partner]:
			h.proven = asked
		case err == nil, time.Since(h.proven) > r.config.Lease*3/5:
			h.stop(fmt.Errorf("lease lost: %w", context.Canceled))
		}
	}
}

// memory keeps what polls of this process have seen.
type memory struct {
	mutex sync.Mutex
	all   map[int64]*sightings
	terms map[int64]*partners.SFTP // under which they were seen
	used  map[int64]time.Time
}

func newMemory() *memory {
	return &memory{all: map[int64]*sightings{}, terms: map[int64]*partners.SFTP{}, used: map[int64]time.Time{}}
}

// forgetAfter is how long sightings are kept of a partner whom another node polls now.
const forgetAfter = time.Hour

// of returns the sightings of a partner. Only the holder of its lease uses them. Files that could not be taken under other
// terms are tried at once, as the partner is.
func (m *memory) of(partner int64, terms *partners.SFTP) *sightings {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.all[partner] == nil {
		m.all[partner] = &sightings{}
	}
	if before := m.terms[partner]; before != nil && before != terms && !reflect.DeepEqual(before, terms) {
		m.all[partner].pardon()
	}
	m.terms[partner] = terms
	m.used[partner] = time.Now()
	return m.all[partner]
}

func (m *memory) drop(live, held map[int64]bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for id := range m.all {
		if !live[id] || time.Since(m.used[id]) > forgetAfter && !held[id] {
			delete(m.all, id)
			delete(m.terms, id)
			delete(m.used, id)
		}
	}
}
