package forward

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"firstcopy/dedup"
)

// upkeepArgs is the periodic job that keeps the tables in order. One node of all runs it at a time.
type upkeepArgs struct{}

func (upkeepArgs) Kind() string { return "upkeep" }
func (upkeepArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: upkeepQueue, MaxAttempts: 1, UniqueOpts: river.UniqueOpts{ByPeriod: time.Minute}}
}

type upkeepWorker struct {
	river.WorkerDefaults[upkeepArgs]
	outbox *Outbox
}

func (w *upkeepWorker) Timeout(*river.Job[upkeepArgs]) time.Duration { return time.Minute }

// Work makes the months of the account ahead, sweeps abandoned stages, and shows documents and acknowledgements whose job is
// gone as stuck.
func (w *upkeepWorker) Work(ctx context.Context, _ *river.Job[upkeepArgs]) error {
	o := w.outbox
	if _, err := o.pool.Exec(ctx, `SELECT ledger_event_ensure(3)`); err != nil {
		return err
	}
	if n, err := SweepStages(ctx, o.pool, time.Hour); err != nil {
		return err
	} else if n > 0 {
		o.log.InfoContext(ctx, "abandoned stages swept", "stages", n)
	}
	return errors.Join(o.showLost(ctx), o.showLostTransmissions(ctx))
}

// lostSQL finds pending documents that no job carries any more: a worker that dies in the last attempt is given up by
// River without our hearing of it.
const lostSQL = `
WITH lost AS (
	UPDATE document d SET state = 'stuck', last_error = 'the last attempt did not end'
	WHERE d.state = 'pending' AND d.created_at < now() - interval '1 minute'
	  AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = d.job_id AND j.state NOT IN ('completed', 'cancelled', 'discarded'))
	RETURNING d.*
), event AS (
	INSERT INTO ledger_event (event_id, partner_id, kind, key_id, epoch, delivery_id, document_id, raw_hash, node, detail)
	SELECT gen_random_uuid(), partner_id, 'stuck', key_id, epoch, delivery_id, document_id, raw_hash, $1, '{"error": "the last attempt did not end"}'
	FROM lost
)
SELECT count(*) FROM lost`

func (o *Outbox) showLost(ctx context.Context) error {
	var n int
	if err := o.pool.QueryRow(ctx, lostSQL, o.node).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		o.log.ErrorContext(ctx, "documents stuck without a job", "documents", n)
	}
	return nil
}

const lostTransmissionsSQL = `
WITH lost AS (
	UPDATE acknowledgement_transmission t SET state = 'stuck', last_error = 'the last attempt did not end'
	WHERE t.state = 'pending' AND t.created_at < now() - interval '1 minute'
	  AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = t.job_id AND j.state NOT IN ('completed', 'cancelled', 'discarded'))
	RETURNING t.*
), event AS (
	INSERT INTO ledger_event (event_id, partner_id, kind, key_id, epoch, delivery_id, document_id, node, detail)
	SELECT gen_random_uuid(), a.partner_id, $2, a.key_id, a.epoch, lost.delivery_id, a.document_id, $1,
		jsonb_build_object('acknowledgement', a.kind, 'number', a.control_reference, 'error', lost.last_error)
	FROM lost JOIN acknowledgement a USING (acknowledgement_id)
)
SELECT count(*) FROM lost`

func (o *Outbox) showLostTransmissions(ctx context.Context) error {
	var n int
	if err := o.pool.QueryRow(ctx, lostTransmissionsSQL, o.node, dedup.AcknowledgementStuck).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		o.log.ErrorContext(ctx, "acknowledgements stuck without a job", "acknowledgements", n)
	}
	return nil
}
