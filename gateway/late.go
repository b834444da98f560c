package gateway

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"firstcopy/gateway/forward"
	"firstcopy/partners"
)

// lateReceipts posts negative asynchronous receipts. They are kept nowhere, since a message that failed leaves nothing
// behind, and whoever sent it is not authenticated: so they get a few attempts from memory, and only so many at a time.
type lateReceipts struct {
	log    *slog.Logger
	places *places
	ctx    context.Context // ends with the node
	stop   context.CancelFunc

	mu     sync.Mutex // no post begins once close has
	closed bool
	wait   sync.WaitGroup
}

const (
	maxLate        = 32
	maxLatePartner = 8 // of those, so that one whose address is dead leaves some to others
	lateAttempts   = 3
)

func newLateReceipts(log *slog.Logger) *lateReceipts {
	ctx, stop := context.WithCancel(context.Background())
	return &lateReceipts{log: log, places: newPlaces(), ctx: ctx, stop: stop}
}

func (l *lateReceipts) post(partner *partners.Agreement, url string, octets []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := place{owner: partner.ID}
	if l.closed || !l.places.take(own, maxLatePartner) {
		l.log.Warn("negative receipt dropped, too many under way", "partner", partner.Name)
		return
	}
	if !l.places.take(everybody, maxLate) {
		l.places.give(own)
		l.log.Warn("negative receipt dropped, too many under way", "partner", partner.Name)
		return
	}
	l.wait.Go(func() {
		defer l.places.give(own)
		defer l.places.give(everybody)
		delay := time.Second
		for attempt := 1; ; attempt++ {
			err := l.once(partner, url, octets)
			if err == nil {
				return
			}
			l.log.Warn("negative receipt not delivered", "partner", partner.Name, "url", url, "attempt", attempt, "error", err)
			if attempt == lateAttempts {
				return
			}
			select {
			case <-l.ctx.Done():
				return
			case <-time.After(delay):
				delay *= 4
			}
		}
	})
}

func (l *lateReceipts) once(partner *partners.Agreement, url string, octets []byte) error {
	ctx, cancel := context.WithTimeout(l.ctx, 20*time.Second)
	defer cancel()
	return forward.PostReceipt(ctx, partner, url, octets)
}

// close abandons what is still waiting and returns when nothing is under way.
func (l *lateReceipts) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop()
	l.wait.Wait()
}
