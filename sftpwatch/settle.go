package sftpwatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"firstcopy/internal/failpoint"
	"firstcopy/partners"
)

// What is due after the commit (archive, delete, the error folder) is tried at once by the poll that took the file, over the
// connection it has. Behind it stands a job that was inserted with the claims, and so before any of their files can have been
// committed: it does what the poll could not, with growing waits. Either may find the work done by the other, or by an attempt
// of which nobody heard the end. One job serves the files of one claim: a job each would double the outbox's work.

// settleArgs is the job of what is due of the files that were claimed with it.
type settleArgs struct {
	Partner int64 `json:"partner_id"`
}

// Queue is the outbox's queue for work at partners' servers: a dead one must not hold back documents or receipts.
const Queue = "sftp"

func (settleArgs) Kind() string { return "sftp_settle" }

// InsertOpts lets the poll that took the file try first. A document is given up at some time and waits for a person; what is
// due at a server is tried for as long as the file lies there.
func (settleArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Queue, ScheduledAt: time.Now().Add(settleAfter), MaxAttempts: settleAttempts}
}

const (
	settleAfter    = 20 * time.Second
	settleAttempts = 10_000 // more than half a year of them
)

type settleWorker struct {
	river.WorkerDefaults[settleArgs]
	watcher *Watcher
	busy    sync.Map // partners, by id, of whom a job is at work
}

// AddWorkers adds the watcher's jobs to those that an outbox works.
func (w *Watcher) AddWorkers(workers *river.Workers) {
	river.AddWorker(workers, &settleWorker{watcher: w})
}

// settleFor is how long one run of a job begins with further files; a longer one would be taken for one that died.
const settleFor = 10 * time.Second

// Timeout bounds one run; River takes up the jobs of dead nodes only if it knows one. Where files are copied the last one begun
// may take as long as reading one may: a run that is cut off closes the connection, under the downloads of a poll too.
func (s *settleWorker) Timeout(job *river.Job[settleArgs]) time.Duration {
	bound := settleFor + 20*time.Second
	if a, live := s.watcher.partners.ByID(job.Args.Partner); live && a.SFTP != nil && a.SFTP.Has(partners.QuirkNoRename) {
		bound += a.SFTP.Timeouts.File.Duration()
	}
	return bound
}

// Work does what is due of the job's files. It fails when any of them does, and comes again with backoff.
func (s *settleWorker) Work(ctx context.Context, job *river.Job[settleArgs]) error {
	w, partner := s.watcher, job.Args.Partner
	// One job of a partner at a time: they have one connection, and those of a dead partner would hold all workers.
	if _, taken := s.busy.LoadOrStore(partner, true); taken {
		return w.store.stepBack(ctx, job.ID)
	}
	defer s.busy.Delete(partner)
	if busy, err := w.store.busy(ctx, partner, job.ID); err != nil {
		return err
	} else if busy {
		return river.JobSnooze(settleAfter)
	}
	files, err := w.store.due(ctx, partner, job.ID)
	if err != nil || len(files) == 0 {
		return err
	}
	a, live := w.partners.ByID(partner)
	if !live || a.SFTP == nil {
		return errors.New("the partner has no live agreement with SFTP")
	}
	l, err := w.links.get(ctx, a)
	if err != nil {
		return err
	}
	start := time.Now()
	var faults error
	var done []due
	for _, d := range files {
		if time.Since(start) > settleFor && faults == nil {
			faults = river.JobSnooze(time.Second)
		}
		if time.Since(start) > settleFor || l.ended() != nil {
			break
		}
		if err := w.settleLater(ctx, l, a, d); err != nil {
			faults = w.unsettled(ctx, a, d, err)
			continue
		}
		w.observer.PutBack(a.Name, "")
		done = append(done, d)
	}
	if faults == nil {
		faults = l.ended()
	}
	return errors.Join(faults, w.store.settled(ctx, partner, done))
}

// unsettled notes a failed attempt. The alarm is raised once.
func (w *Watcher) unsettled(ctx context.Context, a *partners.Agreement, d due, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	attempts, err := w.store.failed(ctx, a.ID, d, cause)
	w.observer.PutBack(a.Name, kindOf(cause))
	level, message := slog.LevelWarn, "post-action failed"
	if attempts == alarmAfter {
		level, message = slog.LevelError, "post-action stuck"
	}
	w.log.Log(ctx, level, message, "partner", a.Name, "file", shown(d.name), "action", action(a.SFTP, d), "attempt", attempts,
		"error_kind", kindOf(cause), "error", cause)
	return errors.Join(cause, err)
}

// action is what is to become of a file.
func action(terms *partners.SFTP, d due) string {
	switch {
	case d.delivery != uuid.Nil:
		return string(terms.After)
	case d.version.size == 0 && terms.Empty == partners.EmptyDelete:
		return "delete"
	}
	return "error"
}

// settleLater is settle for an attempt that comes later. It is done already if the file is gone, and nobody's business any
// more if another version lies there.
func (w *Watcher) settleLater(ctx context.Context, l *link, a *partners.Agreement, d due) error {
	now, _, err := l.stat(ctx, within(a.SFTP.Folders.In, d.name))
	switch {
	case kindOf(err) == KindMissing:
		return w.unmark(ctx, l, a.SFTP, d)
	case err != nil:
		return err
	case now != d.version:
		return nil
	}
	return w.settle(ctx, l, a, d)
}

// settle does what is due of a file that has just been seen to be what was taken.
func (w *Watcher) settle(ctx context.Context, l *link, a *partners.Agreement, d due) (err error) {
	terms := a.SFTP
	path := within(terms.Folders.In, d.name)
	failpoint.Hit("sftp.settle")
	switch action(terms, d) {
	case "delete":
		// What is deleted is gone, so it is looked at once more: the commit may have taken its time.
		now, _, looked := l.stat(ctx, path)
		if err = looked; err == nil && now == d.version {
			err = l.remove(ctx, path)
		}
		if kindOf(err) == KindMissing {
			err = nil
		}
	case "archive":
		err = w.putAway(ctx, l, a.ID, d, path, terms.Folders.Archive)
	case "error":
		err = w.putAway(ctx, l, a.ID, d, path, terms.Folders.Error)
	}
	if kindOf(err) == KindMissing { // the file, or the folder it should go to
		if there, looked := l.exists(ctx, path); looked == nil && !bool(there) {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	failpoint.Hit("sftp.settled")
	return w.unmark(ctx, l, terms, d)
}

// unmark deletes the done file of a file that is no longer there.
func (w *Watcher) unmark(ctx context.Context, l *link, terms *partners.SFTP, d due) error {
	if terms.Ready.Done == "" || terms.After == partners.AfterKeep {
		return nil
	}
	marker := within(terms.Folders.In, doneName(terms.Ready.Done, d.name))
	if err := l.remove(ctx, marker); err != nil && kindOf(err) != KindMissing {
		return err
	}
	return nil
}

// putAway moves a file into a folder, under its own name, or, where that is taken, with the time of its delivery behind it.
// What has been moved must be what was taken: if its sender wrote it anew at this very moment, it is put back.
func (w *Watcher) putAway(ctx context.Context, l *link, partner int64, d due, path, folder string) error {
	to := within(folder, d.name)
	if d.movedTo != "" {
		to = within(folder, d.movedTo)
	}
	err := l.move(ctx, path, to)
	if errors.Is(err, errTaken) && d.movedTo == "" {
		other := besides(d)
		if err = w.store.moving(ctx, partner, d, other); err != nil {
			return err
		}
		to = within(folder, other)
		err = l.move(ctx, path, to)
	}
	if err != nil {
		return err
	}
	failpoint.Hit("sftp.moved")
	moved, _, err := l.stat(ctx, to)
	if err != nil || moved == d.version {
		return err
	}
	changed := moved.size != d.version.size
	if !changed && d.digest != nil { // some servers, and copies, give a moved file a new time
		sum, err := l.digest(ctx, to, moved.size)
		if err != nil {
			return err
		}
		changed = !bytes.Equal(sum, d.digest)
	}
	if !changed {
		return nil
	}
	w.log.WarnContext(ctx, "file changed while it was put away, putting it back", "file", shown(d.name))
	if err := l.move(ctx, to, path); err != nil && !errors.Is(err, errTaken) {
		return fmt.Errorf("a version that was not taken does not go back: %w", err)
	}
	return nil
}

// besides is the name of a file whose own name is taken, kept to the 255 octets that file systems allow.
func besides(d due) string {
	suffix := "." + time.Now().UTC().Format("20060102T150405.000")
	if d.delivery != uuid.Nil {
		seconds, nanoseconds := d.delivery.Time().UnixTime()
		suffix = "." + time.Unix(seconds, nanoseconds).UTC().Format("20060102T150405.000")
	}
	const limit = 255
	return d.name[:min(len(d.name), limit-len(suffix))] + suffix
}
