package forward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"

	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/internal/failpoint"
)

// AcknowledgementJob sends a stored functional acknowledgement. Without a row for its transmission it does nothing: another
// one was under way.
type AcknowledgementJob struct {
	Transmission uuid.UUID `json:"transmission_id"`
}

func (AcknowledgementJob) Kind() string { return "send_acknowledgement" }
func (AcknowledgementJob) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: acknowledgementQueue}
}

type acknowledgementWorker struct {
	river.WorkerDefaults[AcknowledgementJob]
	outbox *Outbox
}

func (w *acknowledgementWorker) Timeout(*river.Job[AcknowledgementJob]) time.Duration {
	return w.outbox.config.Timeout
}

// Work sends the acknowledgement once. A crash after the partner took it and before the state says so sends the same octets
// again, as the same message.
func (w *acknowledgementWorker) Work(ctx context.Context, job *river.Job[AcknowledgementJob]) error {
	o := w.outbox
	t, err := o.transmission(ctx, job.Args.Transmission)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	partner := t.Acknowledgement.PartnerID
	if !o.acknowledgements.take(partner) {
		return o.stepBack(ctx, job.ID)
	}
	defer o.acknowledgements.give(partner)
	failpoint.Hit("acknowledge.loaded")
	name, found, err := o.send(ctx, t)
	if err != nil {
		return o.notSent(ctx, t, name, job.Attempt >= job.MaxAttempts, err)
	}
	failpoint.Hit("acknowledge.sent")
	if err := o.sent(ctx, t, found); err != nil {
		return err
	}
	failpoint.Hit("acknowledge.committed")
	o.observer.Acknowledged(name, true, false)
	o.log.InfoContext(ctx, "acknowledgement sent", "acknowledgement", t.Acknowledgement.Kind, "delivery_id", t.Acknowledgement.Delivery,
		"partner", name, "number", t.Acknowledgement.Control, "to", found.Where, "attempt", job.Attempt)
	return nil
}

const transmissionSQL = `
SELECT t.transmission_id, t.channel, t.message, a.acknowledgement_id, a.document_id, a.kind, t.delivery_id, a.partner_id,
	a.key_id, a.epoch, a.control_reference, a.octets
FROM acknowledgement_transmission t JOIN acknowledgement a USING (acknowledgement_id)
WHERE t.transmission_id = $1 AND t.state = 'pending'`

// transmission reads a pending one.
func (o *Outbox) transmission(ctx context.Context, id uuid.UUID) (*Sending, error) {
	t := &Sending{}
	a := &t.Acknowledgement
	err := o.pool.QueryRow(ctx, transmissionSQL, [16]byte(id)).Scan((*[16]byte)(&t.Transmission), &t.Channel, &t.message,
		(*[16]byte)(&a.ID), (*[16]byte)(&a.Document), &a.Kind, (*[16]byte)(&a.Delivery), &a.PartnerID, (*[16]byte)(&a.Key),
		&a.Epoch, &a.Control, &a.Octets)
	if err != nil {
		return nil, fmt.Errorf("reading transmission %s: %w", id, err)
	}
	return t, nil
}

func (o *Outbox) send(ctx context.Context, t *Sending) (partner string, e Evidence, err error) {
	agreement, ok := o.partners.ByID(t.Acknowledgement.PartnerID)
	if !ok {
		return "", e, errors.New("the partner has no live agreement")
	}
	sink := o.acknowledgementSink(t.Channel)
	if sink == nil || AcknowledgementChannel(t.Channel, agreement) == "" {
		return agreement.Name, e, fmt.Errorf("the agreement has no address for acknowledgements by %s", t.Channel)
	}
	e, err = sink.Send(ctx, agreement, t)
	return agreement.Name, e, err
}

// sentSQL fails, as [forwardedSQL] does, when the transmission is no longer pending.
const sentSQL = `
WITH moved AS (
	UPDATE acknowledgement_transmission SET state = 'sent', sent_at = now(), sent_to = $2, receipt = $3, attempts = attempts + 1,
		last_error = ''
	WHERE transmission_id = $1 AND state = 'pending' RETURNING 1
)
SELECT 1 / count(*) FROM moved`

// sent records that the partner has it, and the event, in one transaction of one round trip. A job that runs again because
// River could not complete it finds nothing pending.
func (o *Outbox) sent(ctx context.Context, t *Sending, e Evidence) error {
	var batch pgx.Batch
	batch.Queue(sentSQL, [16]byte(t.Transmission), e.Where, e.Receipt)
	dedup.QueueEvent(&batch, o.transmissionEvent(t, dedup.AcknowledgementSent, e.Detail))
	err := o.pool.SendBatch(ctx, &batch).Close()
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == divisionByZero {
		return nil
	}
	return err
}

const notSentSQL = `
UPDATE acknowledgement_transmission SET state = $2, attempts = attempts + 1, last_error = left($3, 2000)
WHERE transmission_id = $1 AND state = 'pending'`

// notSent records a failed attempt; after the last one the transmission is stuck.
func (o *Outbox) notSent(ctx context.Context, t *Sending, partner string, last bool, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	state, level := TransmissionPending, slog.LevelWarn
	if last {
		state, level = TransmissionStuck, slog.LevelError
	}
	err := pgx.BeginFunc(ctx, o.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, notSentSQL, [16]byte(t.Transmission), string(state), interchange.Text([]byte(cause.Error())))
		if err != nil || !last || tag.RowsAffected() == 0 {
			return err
		}
		return event(ctx, tx, o.transmissionEvent(t, dedup.AcknowledgementStuck, map[string]any{"error": cause.Error()}))
	})
	o.observer.Acknowledged(partner, false, last)
	o.log.Log(ctx, level, "acknowledgement not sent", "acknowledgement", t.Acknowledgement.Kind, "delivery_id", t.Acknowledgement.Delivery,
		"partner", partner, "number", t.Acknowledgement.Control, "stuck", last, "error", cause)
	return errors.Join(cause, err)
}

func (o *Outbox) transmissionEvent(t *Sending, kind string, detail map[string]any) dedup.Event {
	a := &t.Acknowledgement
	all := map[string]any{"acknowledgement": string(a.Kind), "number": a.Control, "transmission_id": t.Transmission.String()}
	for name, value := range detail {
		all[name] = value
	}
	return dedup.Event{Partner: a.PartnerID, Kind: kind, Key: a.Key, Epoch: a.Epoch, Delivery: a.Delivery, Document: a.Document,
		Node: o.node, Detail: dedup.Detail(all)}
}
