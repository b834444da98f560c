package sftpwatch

import (
	"errors"
	"testing"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"firstcopy/internal/pgtest"
)

// While a job of a partner is at work, its others step back, and those of other partners do not.
func TestOneJobOfAPartner(t *testing.T) {
	t.Parallel()
	s := &settleWorker{watcher: &Watcher{store: &store{pool: pgtest.New(t)}}}
	work := func(partner int64) error {
		return s.Work(t.Context(), &river.Job[settleArgs]{JobRow: &rivertype.JobRow{ID: 1}, Args: settleArgs{Partner: partner}})
	}
	s.busy.Store(int64(7), true)
	var snooze *river.JobSnoozeError
	if err := work(7); !errors.As(err, &snooze) {
		t.Errorf("beside a job of the same partner: %v", err)
	}
	if err := work(8); err != nil {
		t.Errorf("beside a job of another partner: %v", err)
	}
	s.busy.Delete(int64(7))
	for range 2 {
		if err := work(7); err != nil {
			t.Errorf("alone: %v", err)
		}
	}
}
