package sftpwatch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"firstcopy/dedup/interchange"
	"firstcopy/internal/failpoint"
	"firstcopy/partners"
)

// takeOne takes one claimed file; whatever becomes of it, the claim is ended and the other files go on.
func (p *polling) takeOne(ctx context.Context, c claim, settler *settler) {
	if p.over(ctx) {
		p.undo(ctx, c, nil)
		return
	}
	file, cancel := context.WithTimeout(ctx, p.terms.Timeouts.File.Duration())
	defer cancel()
	t := &taking{polling: p, claim: c, path: within(p.terms.Folders.In, c.name), start: time.Now(),
		log: p.log.With("partner", p.partner.Name, "file", shown(c.name), "bytes", c.size)}
	why, err := t.contained(file)
	if err != nil {
		p.undo(ctx, c, err)
		return
	}
	if why != "" {
		if err := t.wait(ctx, why); err != nil {
			p.fail(err)
			return
		}
	}
	if t.due.state == taken || t.due.state == refused {
		settler.settle(ctx, t.due)
	}
}

// undo gives a claim back after an error. One that is not the file's own ends the poll.
func (p *polling) undo(ctx context.Context, c claim, cause error) {
	if err := p.giveBack(ctx, []string{c.name}); err != nil {
		p.log.WarnContext(ctx, "claim not given back", "partner", p.partner.Name, "file", shown(c.name), "error", err)
	}
	if cause == nil {
		return
	}
	level, own := slog.LevelWarn, ignorable(cause)
	if kindOf(cause) == KindMissing {
		level = slog.LevelDebug // somebody else has taken it, or its sender took it back
	}
	p.log.Log(ctx, level, "file not taken", "partner", p.partner.Name, "file", shown(c.name), "error_kind", kindOf(cause), "error", cause)
	p.observer.SetAside(p.partner.Name, "failed")
	p.postpone(c, cause)
	if !own && p.link.ended() == nil {
		p.fail(cause)
	}
}

// postpone has a file wait for its next turn, unless the failure was ours, or its sender's to mend.
func (p *polling) postpone(c claim, cause error) {
	switch kindOf(cause) {
	case KindMissing, KindOurs, KindStopped:
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.sightings.failed(c.name, p.terms.Interval.Duration(), time.Now())
}

// taking is one file on its way.
type taking struct {
	*polling
	claim
	path  string
	start time.Time
	log   *slog.Logger
	due   due // its post-action, once it is known to be committed; without a state before
}

func (t *taking) contained(ctx context.Context) (why string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Fault{Kind: KindProtocol, Doing: "taking a file", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return t.take(ctx)
}

// take reads the file and has it decided. why says in which way it is not whole yet.
func (t *taking) take(ctx context.Context) (why string, err error) {
	failpoint.Hit("sftp.claimed")
	before, info, err := t.link.stat(ctx, t.path)
	switch {
	case err != nil:
		return "", err
	case before != t.version() || !info.Mode().IsRegular():
		return "", fmt.Errorf("%w: it was listed with other size or time", errChanged)
	case t.size == 0:
		return "no content", nil
	case t.size < int64(t.terms.MinSize):
		return "smaller than agreed", nil
	case t.size > int64(t.partner.Limits.Payload):
		return tooLarge, nil
	}
	spool := t.gateway.Spool(int64(t.partner.Limits.Payload))
	defer spool.Close()
	if err := t.link.readFile(ctx, t.path, t.size, spool); err != nil {
		return "", err
	}
	if !t.terms.Has(partners.QuirkNoStatAfterOpen) {
		after, _, err := t.link.stat(ctx, t.path)
		if err != nil {
			return "", err
		}
		if after != before {
			return "", fmt.Errorf("%w: its size or time did", errChanged)
		}
	}
	failpoint.Hit("sftp.read")
	found, err := spool.Interchanges()
	if err != nil {
		return "", &Fault{Kind: KindOurs, Doing: "scanning what was read", Err: err}
	}
	if why, err = missing(found, spool); why != "" || err != nil {
		return why, err
	}
	return "", t.decide(ctx, spool, found)
}

// tooLarge is a reason that no waiting mends.
const tooLarge = "larger than agreed"

// decide hands the file to the gateway.
func (t *taking) decide(ctx context.Context, spool Payload, found []interchange.Interchange) error {
	arrival := &Arrival{ID: uuid.Must(uuid.NewV7()), Partner: t.partner, TransportID: t.identity(), FileName: shown(t.name),
		RemoteAddress: t.link.server.Address, ReceivedAt: t.start, Payload: spool, Interchanges: found}
	to := taken
	if t.terms.After == partners.AfterKeep {
		to = kept
	}
	digest := spool.Sum()
	var d due
	arrival.Record = func(batch *pgx.Batch, delivery uuid.UUID) {
		d = due{name: t.name, version: t.version(), state: to, delivery: delivery, digest: digest[:], job: t.job}
		t.store.queueTaken(batch, t.lease, d)
	}
	outcome, err := t.gateway.Ingest(ctx, arrival)
	if err != nil {
		return &Fault{Kind: KindOurs, Doing: "deciding the file", Err: err}
	}
	t.due = d // not before: what is recorded may never be committed, and the file is then the only copy
	failpoint.Hit("sftp.committed")
	t.mutex.Lock()
	t.taken++
	delete(t.left, t.name)
	t.mutex.Unlock()
	t.observer.Fetched(t.partner.Name, t.size)
	t.log.InfoContext(ctx, "file taken", "delivery_id", outcome.Delivery, "repeat", outcome.Repeat, "interchanges", len(found),
		"duration", time.Since(t.start))
	return nil
}

// identity is the transport id of the file: its name's octets, its size and time. Its content stands beside it in the
// delivery's key, so that a file rewritten under its old name is another delivery, and the same file again a repeat.
func (t *taking) identity() string {
	name := t.name
	if len(name) > 512 { // made displayable, it may be four times as long
		sum := sha256.Sum256([]byte(name))
		name = name[:256] + "…" + hex.EncodeToString(sum[:])
	}
	return fmt.Sprintf("%s (%d octets, %s)", name, t.size, time.Unix(t.mtime, 0).UTC().Format(time.RFC3339))
}

// wait lets a file that is not whole lie, until its grace period is over; then it is refused, with an alarm.
func (t *taking) wait(ctx context.Context, why string) error {
	failpoint.Hit("sftp.incomplete")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if why != tooLarge && t.since < t.terms.Ready.Grace.Duration() {
		t.observer.SetAside(t.partner.Name, "incomplete")
		t.log.WarnContext(ctx, "file incomplete, waiting for the rest", "reason", why, "grace", t.terms.Ready.Grace.Duration()-t.since)
		return t.store.setAside(ctx, t.lease, t.name, incomplete, why, 0)
	}
	t.observer.SetAside(t.partner.Name, "refused")
	t.log.ErrorContext(ctx, "file refused", "reason", why, "goes_to", t.terms.Folders.Error)
	var d due
	if refusedGoes(t.size, t.terms) != "" {
		d = due{name: t.name, version: t.version(), state: refused, job: t.job}
	}
	if err := t.store.setAside(ctx, t.lease, t.name, refused, why, d.job); err != nil {
		return err
	}
	t.due = d
	return nil
}

// refusedGoes is what becomes of a refused file by agreement; "" leaves it where it is.
func refusedGoes(size int64, terms *partners.SFTP) string {
	switch {
	case size == 0 && terms.Empty == partners.EmptyDelete:
		return "it is deleted"
	case terms.Folders.Error != "":
		return "it goes to the error folder"
	}
	return ""
}
