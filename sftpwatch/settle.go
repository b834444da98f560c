package sftpwatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"firstcopy/internal/failpoint"
	"firstcopy/partners"
)

// What is due after the commit (archive, delete, the error folder) is tried at once by the poll that took the file, over the
// connection it has. Behind it stands a job of the ingest transaction, which does it when the poll could not, with growing
// waits. Either may find the work done by the other, or by an attempt of which nobody heard the end.

// settleArgs is the job of what is due of one file.
type settleArgs struct {
	Partner int64  `json:"partner_id"`
	Name    []byte `json:"name"` // octets, so base64
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
}

// AddWorkers adds the watcher's jobs to those that an outbox works.
func (w *Watcher) AddWorkers(workers *river.Workers) {
	river.AddWorker(workers, &settleWorker{watcher: w})
}

// Work does what is due of a file, if it still is.
func (s *settleWorker) Work(ctx context.Context, job *river.Job[settleArgs]) error {
	w, name := s.watcher, string(job.Args.Name)
	d, found, err := w.store.due(ctx, job.Args.Partner, name)
	if err != nil || !found || d.job != job.ID {
		return err
	}
	a, live := w.partners.ByID(job.Args.Partner)
	if !live || a.SFTP == nil {
		return errors.New("the partner has no live agreement with SFTP")
	}
	l, err := w.links.get(ctx, a)
	if err == nil {
		err = w.settleLater(ctx, l, a, d)
	}
	if err != nil {
		return w.unsettled(ctx, a, d, err)
	}
	w.observer.PutBack(a.Name, "")
	return w.store.settled(ctx, a.ID, []due{d})
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
		return w.unmark(ctx, l, a.SFTP, d, "")
	case err != nil:
		return err
	case now != d.version:
		return nil
	}
	return w.settle(ctx, l, a, d, "")
}

// settle does what is due of a file that has just been seen to be what was taken.
func (w *Watcher) settle(ctx context.Context, l *link, a *partners.Agreement, d due, marker string) (err error) {
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
	if err != nil {
		return err
	}
	failpoint.Hit("sftp.settled")
	return w.unmark(ctx, l, terms, d, marker)
}

// unmark deletes the done file of a file that is no longer there.
func (w *Watcher) unmark(ctx context.Context, l *link, terms *partners.SFTP, d due, marker string) error {
	if terms.Ready.Done == "" || terms.After == partners.AfterKeep {
		return nil
	}
	if marker == "" {
		marker = doneName(terms.Ready.Done, d.name)
	}
	if err := l.remove(ctx, within(terms.Folders.In, marker)); err != nil && kindOf(err) != KindMissing {
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
