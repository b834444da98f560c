package sftpwatch

import (
	"context"
	"time"

	"firstcopy/internal/failpoint"
)

// settler does what is due right behind the commit, for the poll that took the files, and notes what is done in few
// statements. What it cannot do is left to the job.
type settler struct {
	polling *polling
	done    chan due
	ended   chan struct{}
}

// settleSize is how many files are noted in one statement.
const settleSize = 64

func (p *polling) newSettler(ctx context.Context) *settler {
	s := &settler{polling: p, done: make(chan due, settleSize), ended: make(chan struct{})}
	go s.note(context.WithoutCancel(ctx))
	return s
}

func (s *settler) close() {
	close(s.done)
	<-s.ended
}

// settle tries what is due of a file.
func (s *settler) settle(ctx context.Context, d due) {
	p := s.polling
	if err := p.Watcher.settle(ctx, p.link, p.partner, d); err != nil {
		if kindOf(err) != KindStopped {
			_ = p.unsettled(ctx, p.partner, d, err) // the job has it
		}
		return
	}
	p.observer.PutBack(p.partner.Name, "")
	s.done <- d
}

// note collects what is done. A node that dies before leaves a job that finds nothing to do.
func (s *settler) note(ctx context.Context) {
	defer close(s.ended)
	var batch []due
	flush := func() {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := s.polling.store.settled(ctx, s.polling.partner.ID, batch); err != nil {
			s.polling.log.WarnContext(ctx, "post-actions not noted", "partner", s.polling.partner.Name, "error", err)
		}
		if len(batch) > 0 {
			failpoint.Hit("sftp.noted")
		}
		batch = batch[:0]
	}
	for d := range s.done {
		if batch = append(batch, d); len(batch) >= settleSize {
			flush()
		}
	}
	flush()
}
