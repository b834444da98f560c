package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/gateway/forward"
	"firstcopy/internal/failpoint"
)

// prior is what the database knows of a transport id.
type prior struct {
	delivery uuid.UUID // a committed delivery of the same octets; Nil for none
	receipt  Receipt   // its receipt of the kind now wanted; without octets if there is none
	reusedID bool      // other octets have come under the id

	acknowledgements []uuid.UUID // what it was answered with, as far as nothing of it is under way
}

const priorSQL = `
SELECT d.delivery_id, true, coalesce(r.message_id, ''), coalesce(r.disposition, ''), coalesce(r.mic, ''), r.octets,
	ARRAY(SELECT a.acknowledgement_id FROM acknowledgement a
		WHERE a.acknowledgement_id IN (SELECT t.acknowledgement_id FROM acknowledgement_transmission t WHERE t.delivery_id = d.delivery_id)
		AND NOT EXISTS (SELECT FROM acknowledgement_transmission u
			WHERE u.acknowledgement_id = a.acknowledgement_id AND u.state = 'pending')
		ORDER BY a.document_id, a.kind COLLATE "C")
FROM delivery d LEFT JOIN receipt r ON r.delivery_id = d.delivery_id AND r.kind = $5
WHERE d.partner_id = $1 AND d.channel = $2 AND d.transport_id = $3 AND d.payload_hash = $4
UNION ALL
(SELECT delivery_id, false, '', '', '', NULL, NULL FROM delivery
 WHERE partner_id = $1 AND channel = $2 AND transport_id = $3 AND payload_hash <> $4 LIMIT 1)`

func (g *Ingester) prior(ctx context.Context, d *Delivery) (prior, error) {
	sum := d.Payload.Sum()
	rows, err := g.pool.Query(ctx, priorSQL, d.Partner.ID, d.Channel, transportText(d), sum[:], d.Receipt.Kind)
	if err != nil {
		return prior{}, fmt.Errorf("looking for an earlier copy: %w", err)
	}
	defer rows.Close()
	var p prior
	for rows.Next() {
		var id [16]byte
		var same bool
		var r Receipt
		var acknowledgements [][16]byte
		if err := rows.Scan(&id, &same, &r.MessageID, &r.Disposition, &r.MIC, &r.Octets, &acknowledgements); err != nil {
			return prior{}, err
		}
		if same {
			p.delivery, p.receipt = id, r
			for _, a := range acknowledgements {
				p.acknowledgements = append(p.acknowledgements, a)
			}
		} else {
			p.reusedID = true
		}
	}
	return p, rows.Err()
}

// transportText is the transport id as the tables hold it: text whatever its octets, one to one.
func transportText(d *Delivery) string { return interchange.Text([]byte(d.TransportID)) }

const claimSQL = `
INSERT INTO delivery (delivery_id, partner_id, channel, transport_id, payload_hash, payload_size, received_at, node,
	remote_address, signer_fingerprint, signature_digest, cipher, file_name, content_type, interchanges, reused_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
ON CONFLICT ON CONSTRAINT delivery_transport_key DO NOTHING`

// queueClaim claims the transport id. A concurrent copy of the same delivery waits here for this one's commit.
func (w *work) queueClaim(batch *pgx.Batch, claimed *bool) {
	sum := w.Payload.Sum()
	batch.Queue(claimSQL, [16]byte(w.ID), w.Partner.ID, w.Channel, transportText(w.Delivery), sum[:], w.Payload.Size(),
		w.ReceivedAt, w.node, w.RemoteAddress, w.Security.SignerFingerprint, w.Security.SignatureDigest, w.Security.Cipher,
		text(w.FileName), text(w.ContentType), len(w.Interchanges), w.reusedID).
		Exec(func(tag pgconn.CommandTag) error { *claimed = tag.RowsAffected() == 1; return nil })
}

// text makes a partner's words fit for a text column: valid UTF-8 without NUL, and of bounded length.
func text(s string) string {
	const limit = 1000
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// oneLine is text that a header may carry, too: what an encrypted part says of itself has passed no HTTP parser.
func oneLine(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text(s))
}

const receiptSQL = `
INSERT INTO receipt (delivery_id, kind, message_id, disposition, mic, async_url, octets)
VALUES ($1, $2, $3, $4, $5, $6, $7)`

func (w *work) queueReceipt(batch *pgx.Batch) {
	if w.receipt.Octets != nil {
		w.queueReceiptOf(batch, w.ID)
	}
}

func (w *work) queueReceiptOf(batch *pgx.Batch, delivery uuid.UUID) {
	r := &w.receipt
	batch.Queue(receiptSQL, [16]byte(delivery), w.Receipt.Kind, r.MessageID, r.Disposition, r.MIC, w.Receipt.AsyncURL, r.Octets)
}

// receiptJob is the outbox job of an asynchronous receipt; nil when it is answered at once, or not at all.
func (w *work) receiptJob() *forward.ReceiptJob {
	if w.Receipt.AsyncURL == "" || w.Receipt.Compose == nil {
		return nil
	}
	return &forward.ReceiptJob{Delivery: w.ID, ReceiptKind: w.Receipt.Kind}
}

func (w *work) syncReceipt(octets []byte) []byte {
	if w.Receipt.AsyncURL != "" {
		return nil
	}
	return octets
}

// repeat answers a delivery that has been taken before: with the stored receipt if one of the wanted kind is there, else
// with a fresh one that is stored from now on. Its events are committed before the answer.
func (w *work) repeat(ctx context.Context, p prior) (Outcome, error) {
	w.registration.Delivery = p.delivery
	w.receipt = p.receipt
	fresh := p.receipt.Octets == nil && w.Receipt.Compose != nil
	if fresh {
		var err error
		if w.receipt, err = w.Receipt.Compose(true); err != nil {
			return Outcome{}, fmt.Errorf("composing the receipt: %w", err)
		}
	}
	w.registration.Detail = w.detail()
	var batch pgx.Batch
	dedup.QueueRepeats(&batch, &w.registration)
	if fresh {
		w.queueReceiptOf(&batch, p.delivery)
	}
	w.record(&batch, p.delivery)
	failpoint.Hit("repeat.before-commit")
	var err error
	jobs := forward.Jobs{Receipt: w.receiptJob()}
	if jobs.Receipt != nil {
		jobs.Receipt.Delivery = p.delivery
	}
	var queue func(*pgx.Batch, []int64)
	if jobs.Acknowledgements, queue = w.again(&p); jobs.Receipt != nil || jobs.Acknowledgements != nil {
		err = w.repeatWith(ctx, &batch, jobs, queue)
	} else {
		err = commitBatch(ctx, w.pool, &batch)
	}
	if violates(err, "receipt_pkey") { // another repeat has stored a receipt of this kind: answer with that one
		return Outcome{}, errClaimed
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("recording the repeat: %w", err)
	}
	failpoint.Hit("repeat.committed")
	return Outcome{Delivery: p.delivery, Repeat: true, Receipt: w.syncReceipt(w.receipt.Octets)}, nil
}

func violates(err error, constraint string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505" && pg.ConstraintName == constraint
}

// repeatWith also has the outbox send what the delivery was answered with. queue adds what the jobs' ids are needed for.
func (g *Ingester) repeatWith(ctx context.Context, batch *pgx.Batch, jobs forward.Jobs, queue func(*pgx.Batch, []int64)) error {
	var first pgx.Batch
	first.Queue(beginSQL)
	tx, err := begin(ctx, g.pool, &first)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	ids, err := g.outbox.Enqueue(ctx, tx, jobs)
	if err != nil {
		return err
	}
	queue(batch, ids[len(ids)-len(jobs.Acknowledgements):])
	return tx.commitWith(ctx, batch)
}
