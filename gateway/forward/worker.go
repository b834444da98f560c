package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"

	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/internal/failpoint"
)

// documentArgs is the job that forwards one document.
type documentArgs struct {
	Document uuid.UUID `json:"document_id"`
}

func (documentArgs) Kind() string                 { return "forward_document" }
func (documentArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: documentQueue} }

type documentWorker struct {
	river.WorkerDefaults[documentArgs]
	outbox *Outbox
}

func (w *documentWorker) Timeout(*river.Job[documentArgs]) time.Duration {
	return w.outbox.config.Timeout
}

// Work forwards the document once. A crash after the sink took it and before the state says so repeats the delivery
// under the same id: at least once, with what the consumer needs to see that.
func (w *documentWorker) Work(ctx context.Context, job *river.Job[documentArgs]) error {
	o := w.outbox
	d, err := Get(ctx, o.pool, job.Args.Document)
	if err != nil {
		return err
	}
	if d.State != Pending {
		return nil
	}
	if !o.share.take(d.PartnerID) {
		return o.stepBack(ctx, job.ID)
	}
	defer o.share.give(d.PartnerID)
	failpoint.Hit("forward.loaded")
	start := time.Now()
	partner, where, err := o.deliver(ctx, d, job.Attempt)
	if err != nil {
		return o.failed(ctx, d, partner, job.Attempt >= job.MaxAttempts, err)
	}
	failpoint.Hit("forward.delivered")
	if err := o.done(ctx, d, where, job.Attempt); err != nil {
		return err
	}
	failpoint.Hit("forward.committed")
	o.observer.Forwarded(partner, time.Since(start))
	o.log.InfoContext(ctx, "document forwarded", "document_id", d.ID, "delivery_id", d.Delivery, "partner", partner,
		"reference", d.Reference, "sink", where, "bytes", d.Size, "attempt", job.Attempt, "duration", time.Since(start))
	return nil
}

// stepBack lets others pass: a job of a partner who holds its share of the workers comes back in a moment, behind those of
// partners who do not, or the many jobs of one slow sink would be all that is ever looked at.
func (o *Outbox) stepBack(ctx context.Context, job int64) error {
	if _, err := o.pool.Exec(ctx, `UPDATE river_job SET priority = 4 WHERE id = $1`, job); err != nil {
		return err
	}
	return river.JobSnooze(500*time.Millisecond + rand.N(500*time.Millisecond))
}

func (o *Outbox) deliver(ctx context.Context, d Document, attempt int) (partner, where string, err error) {
	agreement, ok := o.partners.ByID(d.PartnerID)
	if !ok {
		return "", "", fmt.Errorf("the partner has no live agreement, so no sink is known (apply one again, then: firstcopy document resend %s)", d.ID)
	}
	s, err := openSink(agreement.Sink, agreement.SinkSecretFile, o.web)
	if err != nil {
		return agreement.Name, "", err
	}
	channel, err := o.channel(ctx, d.Delivery)
	if err != nil {
		return agreement.Name, "", err
	}
	where, err = s.Deliver(ctx, Shipment{Document: d, Partner: agreement.Name, Channel: channel, Node: o.node, Attempt: attempt, At: time.Now(),
		Open: func(ctx context.Context) io.Reader { return Octets(ctx, o.pool, d.ID) }})
	return agreement.Name, where, err
}

func (o *Outbox) channel(ctx context.Context, delivery uuid.UUID) (channel string, err error) {
	err = o.pool.QueryRow(ctx, `SELECT channel FROM delivery WHERE delivery_id = $1`, [16]byte(delivery)).Scan(&channel)
	return channel, err
}

// forwardedSQL fails, by dividing by zero, when the document is no longer pending: the event that follows in the same batch
// would tell of a forward twice.
const forwardedSQL = `
WITH moved AS (
	UPDATE document SET state = 'forwarded', forwarded_to = $2, forwarded_at = now(), attempts = attempts + 1, last_error = ''
	WHERE document_id = $1 AND state = 'pending' RETURNING 1
)
SELECT 1 / count(*) FROM moved`

const divisionByZero = "22012"

// done records the forward and its event, in one transaction of one round trip. River completes the job afterwards, many
// in one statement; a job that runs again because it could not finds its document forwarded.
func (o *Outbox) done(ctx context.Context, d Document, where string, attempt int) error {
	var batch pgx.Batch
	batch.Queue(forwardedSQL, [16]byte(d.ID), where)
	dedup.QueueEvent(&batch, o.documentEvent(d, dedup.Forwarded, map[string]any{"sink": where, "attempt": attempt}))
	err := o.pool.SendBatch(ctx, &batch).Close()
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == divisionByZero {
		return nil
	}
	return err
}

// failed records a failed attempt; after the last one the document is stuck, which is an event of its reference.
func (o *Outbox) failed(ctx context.Context, d Document, partner string, last bool, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	state := Pending
	if last {
		state = StuckState
	}
	err := pgx.BeginFunc(ctx, o.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE document SET state = $2, attempts = attempts + 1, last_error = left($3, 2000)
			WHERE document_id = $1 AND state = 'pending'`, [16]byte(d.ID), string(state), interchange.Text([]byte(cause.Error())))
		if err != nil || !last || tag.RowsAffected() == 0 {
			return err
		}
		return event(ctx, tx, o.documentEvent(d, dedup.Stuck, map[string]any{"error": cause.Error()}))
	})
	o.observer.ForwardFailed(partner, last)
	level := slog.LevelWarn
	if last {
		level = slog.LevelError
	}
	o.log.Log(ctx, level, "forward failed", "document_id", d.ID, "partner", partner, "reference", d.Reference,
		"stuck", last, "error", cause)
	return errors.Join(cause, err)
}

func (o *Outbox) documentEvent(d Document, kind string, detail map[string]any) dedup.Event {
	return dedup.Event{Partner: d.PartnerID, Kind: kind, Key: d.Key, Epoch: d.Epoch, Delivery: d.Delivery, Document: d.ID,
		Raw: d.Raw, Node: o.node, Detail: dedup.Detail(detail)}
}

func event(ctx context.Context, tx pgx.Tx, e dedup.Event) error {
	var batch pgx.Batch
	dedup.QueueEvent(&batch, e)
	return tx.SendBatch(ctx, &batch).Close()
}
