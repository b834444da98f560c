package sftpwatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"firstcopy/partners"
)

// Waits between dials that fail. Refused logins and foreign host keys wait longer: servers lock accounts and ban addresses.
const (
	dialAgain       = 2 * time.Second
	dialAgainMost   = 5 * time.Minute
	loginAgain      = time.Minute
	loginAgainMost  = time.Hour
	maxLinkAge      = time.Hour // then keys, passwords and pins count anew
	signOfLifeEvery = 30 * time.Second
)

// links keep one connection to each partner, for polls and jobs alike, and dial one at a time.
type links struct {
	log   *slog.Logger
	open  context.Context // ends when no connection may be made any more
	close context.CancelCauseFunc
	mutex sync.Mutex
	all   map[int64]*berth
	wait  sync.WaitGroup // of the keepers
}

func newLinks(log *slog.Logger) *links {
	ls := &links{log: log, all: map[int64]*berth{}}
	ls.open, ls.close = context.WithCancelCause(context.Background())
	return ls
}

// berth is where one partner's connection lies.
type berth struct {
	dialling chan struct{} // a mutex that a context can end the wait for
	link     *link
	since    time.Time
	revision int // of the agreement it was dialled by
	failures int
	again    time.Time // no dial before
	cause    error     // why not
}

// errNotYet says that a dial has failed, and is not tried again yet.
var errNotYet = errors.New("not dialled again")

func (ls *links) berth(partner int64) *berth {
	ls.mutex.Lock()
	defer ls.mutex.Unlock()
	b := ls.all[partner]
	if b == nil {
		b = &berth{dialling: make(chan struct{}, 1)}
		ls.all[partner] = b
	}
	return b
}

// get returns the partner's connection, dialling if there is none, it has ended, or it was made by an older agreement.
func (ls *links) get(ctx context.Context, a *partners.Agreement) (*link, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ls.open, func() { cancel(errStopping) })()
	b := ls.berth(a.ID)
	select {
	case b.dialling <- struct{}{}:
		defer func() { <-b.dialling }()
	case <-ctx.Done():
		return nil, faultOf("waiting for the connection", context.Cause(ctx))
	}
	if ls.open.Err() != nil {
		return nil, faultOf("connecting", errStopping)
	}
	if b.revision != a.Revision {
		b.failures, b.again = 0, time.Time{} // what was wrong may have been mended
	}
	if b.link != nil {
		if b.link.ended() == nil && b.revision == a.Revision && (time.Since(b.since) < maxLinkAge || len(b.link.handles) > 0) {
			return b.link, nil
		}
		b.link.close()
		b.link = nil
	}
	if time.Now().Before(b.again) {
		return nil, &Fault{Kind: kindOf(b.cause), Doing: "connecting",
			Err: fmt.Errorf("%w until %s: %w", errNotYet, b.again.Format("15:04:05 -07:00"), b.cause)}
	}
	b.revision = a.Revision
	l, err := dial(ctx, a.SFTP)
	if err != nil {
		ls.failed(b, err)
		return nil, err
	}
	b.link, b.since, b.failures = l, time.Now(), 0
	ls.wait.Go(func() { ls.keep(l, a) })
	ls.log.InfoContext(ctx, "connected by SFTP", "partner", a.Name, "remote_addr", l.server.Address, "server", shown(l.server.Version),
		"host_key", l.server.HostKey, "key_exchange", l.server.Algorithms.KeyExchange, "cipher", l.server.Algorithms.Read.Cipher,
		"mac", l.server.Algorithms.Read.MAC, "duration", l.server.TookDial)
	if old := weak(l.server.Algorithms, &a.SFTP.Hop); len(old) > 0 {
		ls.log.WarnContext(ctx, "weak algorithms in use by agreement", "partner", a.Name, "algorithms", old)
	}
	return l, nil
}

// failed sets when the next dial may be.
func (ls *links) failed(b *berth, err error) {
	kind := kindOf(err)
	if kind == KindStopped {
		return
	}
	first, most := dialAgain, dialAgainMost
	if kind == KindLogin || kind == KindHostKey {
		first, most = loginAgain, loginAgainMost
	}
	wait := first << min(b.failures, 12)
	if wait > most {
		wait = most
	}
	b.failures++
	b.cause, b.again = err, time.Now().Add(wait-wait/8+rand.N(wait/4+1))
}

// keep asks an idle connection for a sign of life, and lets go of one that nobody has used for a while.
func (ls *links) keep(l *link, a *partners.Agreement) {
	idle := 2*(a.SFTP.Interval.Duration()+a.SFTP.Jitter.Duration()) + time.Minute
	tick := time.NewTicker(signOfLifeEvery)
	defer tick.Stop()
	defer l.end()
	var pinged time.Time
	for {
		select {
		case <-l.done:
			return
		case <-tick.C:
		}
		if l.calls.Load() > 0 { // a listing may take minutes, and is no idleness
			continue
		}
		last := time.Unix(0, l.used.Load())
		if time.Since(later(last, pinged)) < signOfLifeEvery/2 {
			continue
		}
		if last.After(pinged) {
			l.active = last
		}
		if time.Since(l.active) > idle {
			l.close()
			return
		}
		if l.ping(context.Background()) != nil { // it has closed the link
			return
		}
		pinged = time.Unix(0, l.used.Load())
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// closeAll ends every connection at once, and every dial, and waits for the keepers, who have nothing to wait for then.
func (ls *links) closeAll() {
	ls.close(errStopping)
	ls.mutex.Lock()
	all := ls.all
	ls.all = map[int64]*berth{}
	ls.mutex.Unlock()
	for _, b := range all {
		b.dialling <- struct{}{} // a dial under way has just been ended
		if b.link != nil {
			b.link.close()
		}
		<-b.dialling
	}
	ls.wait.Wait()
}

// drop ends the connections of partners that are no longer polled.
func (ls *links) drop(live map[int64]bool) {
	ls.mutex.Lock()
	defer ls.mutex.Unlock()
	for id, b := range ls.all {
		if live[id] {
			continue
		}
		select {
		case b.dialling <- struct{}{}:
			if b.link != nil {
				b.link.close()
			}
			<-b.dialling
			delete(ls.all, id)
		default: // in use; next time
		}
	}
}
