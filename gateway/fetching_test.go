package gateway

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"

	"firstcopy/partners"
	"firstcopy/sftpwatch"
)

// slowly decides nothing before it is told to.
type slowly struct {
	mutex   sync.Mutex
	entered map[int64]int // by partner
	decided chan struct{}
}

func (s *slowly) Ingest(_ context.Context, d *Delivery) (Outcome, error) {
	s.mutex.Lock()
	s.entered[d.Partner.ID]++
	s.mutex.Unlock()
	<-s.decided
	return Outcome{}, nil
}

// A partner with many files leaves places to the others.
func TestFilesOfOnePartnerLeavePlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		decide := &slowly{entered: map[int64]int{}, decided: make(chan struct{})}
		f := newFetching(decide, Limits{SpoolDir: t.TempDir(), SpoolMemory: 1 << 10}, 8, NewMetrics(), slog.New(slog.DiscardHandler))
		fetch := func(partner int64) {
			payload := f.Spool(1 << 10)
			defer payload.Close()
			a := &sftpwatch.Arrival{Partner: &partners.Agreement{ID: partner, Name: "acme"}, Payload: payload}
			if _, err := f.Ingest(t.Context(), a); err != nil {
				t.Error(err)
			}
		}
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() { fetch(1) })
		}
		synctest.Wait()
		wait.Go(func() { fetch(2) })
		synctest.Wait()
		decide.mutex.Lock()
		one, two := decide.entered[1], decide.entered[2]
		decide.mutex.Unlock()
		close(decide.decided)
		wait.Wait()
		if one != 2 || two != 1 {
			t.Errorf("%d files of the one and %d of the other are decided at once", one, two)
		}
	})
}
