package forward

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/dedup"
	"firstcopy/mdn/functional"
)

// Acknowledgement is what an interchange is answered with, in one kind. It belongs to the document that the interchange is,
// so that every copy of that is answered alike.
type Acknowledgement struct {
	ID        uuid.UUID       `json:"acknowledgement_id"`
	Document  uuid.UUID       `json:"document_id"`
	Kind      functional.Kind `json:"kind"`
	Delivery  uuid.UUID       `json:"delivery_id"` // that brought it about
	Ordinal   int             `json:"ordinal"`     // the interchange's place in the payload, from 1
	PartnerID int64           `json:"-"`
	Key       uuid.UUID       `json:"key_id"`
	Epoch     int             `json:"epoch"`
	Control   string          `json:"control_reference"` // ours
	Outcome   string          `json:"outcome"`           // functional.Outcome, or impossible
	Code      string          `json:"code,omitempty"`
	Problem   string          `json:"problem,omitempty"` // why there are no octets
	Octets    []byte          `json:"-"`
	CreatedAt time.Time       `json:"created_at"`

	Transmissions []Transmission `json:"transmissions"` // when read
}

// Impossible is the outcome of an acknowledgement that is due and cannot be built.
const Impossible = "impossible"

// TransmissionState is how far a transmission is.
type TransmissionState string

// The states; see docs/state-machine.md.
const (
	TransmissionPending TransmissionState = "pending" // an outbox job carries it
	TransmissionSent    TransmissionState = "sent"    // the partner has it, and says so
	TransmissionStuck   TransmissionState = "stuck"   // the last attempt failed
)

// Transmission is one sending of an acknowledgement.
type Transmission struct {
	ID        uuid.UUID         `json:"transmission_id"`
	Delivery  uuid.UUID         `json:"delivery_id"` // that brought it about
	Channel   string            `json:"channel"`
	State     TransmissionState `json:"state"`
	MessageID string            `json:"message_id,omitempty"`
	CreatedAt time.Time         `json:"created_at"`
	Attempts  int               `json:"attempts"`
	LastError string            `json:"last_error,omitempty"`
	SentTo    string            `json:"sent_to,omitempty"`
	SentAt    time.Time         `json:"sent_at,omitzero"`
	Receipt   []byte            `json:"-"`
}

// An interchange that has been answered already keeps its answer.
const insertAcknowledgementSQL = `
INSERT INTO acknowledgement (acknowledgement_id, document_id, kind, delivery_id, ordinal, partner_id, key_id, epoch,
	control_reference, outcome, code, problem, octets)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT ON CONSTRAINT acknowledgement_document_key DO NOTHING`

// QueueAcknowledgement adds an acknowledgement's row to a batch, unless the document has one of that kind.
func QueueAcknowledgement(batch *pgx.Batch, a *Acknowledgement) {
	batch.Queue(insertAcknowledgementSQL, [16]byte(a.ID), [16]byte(a.Document), string(a.Kind), [16]byte(a.Delivery), a.Ordinal,
		a.PartnerID, [16]byte(a.Key), a.Epoch, a.Control, a.Outcome, a.Code, a.Problem, a.Octets)
}

// A transmission that is still under way is enough for all copies that come meanwhile: the job of another one finds no row.
const insertTransmissionSQL = `
INSERT INTO acknowledgement_transmission (transmission_id, acknowledgement_id, delivery_id, channel, job_id)
SELECT $1, a.acknowledgement_id, $2, $3, $4 FROM acknowledgement a
WHERE %s AND a.octets IS NOT NULL
ON CONFLICT (acknowledgement_id) WHERE state = 'pending' DO NOTHING`

var (
	transmitDocumentSQL = fmt.Sprintf(insertTransmissionSQL, `a.document_id = $5 AND a.kind = $6`)
	transmitAgainSQL    = fmt.Sprintf(insertTransmissionSQL, `a.acknowledgement_id = $5`)
)

// QueueTransmission adds to a batch that the acknowledgement of a document is sent, carried by an outbox job.
func QueueTransmission(batch *pgx.Batch, t *Transmission, document uuid.UUID, kind functional.Kind, job int64) {
	batch.Queue(transmitDocumentSQL, [16]byte(t.ID), [16]byte(t.Delivery), t.Channel, job, [16]byte(document), string(kind))
}

// QueueRetransmission adds to a batch that an acknowledgement is sent again.
func QueueRetransmission(batch *pgx.Batch, t *Transmission, acknowledgement uuid.UUID, job int64) {
	batch.Queue(transmitAgainSQL, retransmission(t, acknowledgement, job)...)
}

func retransmission(t *Transmission, acknowledgement uuid.UUID, job int64) []any {
	return []any{[16]byte(t.ID), [16]byte(t.Delivery), t.Channel, job, [16]byte(acknowledgement)}
}

const acknowledgedSQL = `
INSERT INTO ledger_event (event_id, partner_id, kind, key_id, epoch, delivery_id, document_id, node, detail)
SELECT gen_random_uuid(), partner_id, $5, key_id, epoch, $1, document_id, $2, jsonb_strip_nulls(jsonb_build_object(
	'acknowledgement', kind, 'number', nullif(control_reference, ''), 'outcome', outcome, 'code', nullif(code, ''),
	'problem', nullif(problem, '')))
FROM acknowledgement WHERE document_id = $3 AND kind = $4`

// QueueAcknowledged adds the event of a delivery's being answered to a batch: with the stored acknowledgement, whichever
// copy that is of.
func QueueAcknowledged(batch *pgx.Batch, delivery uuid.UUID, node string, document uuid.UUID, kind functional.Kind) {
	batch.Queue(acknowledgedSQL, [16]byte(delivery), node, [16]byte(document), string(kind), dedup.Acknowledged)
}

// KindsOf tells which acknowledgements documents have.
func KindsOf(ctx context.Context, tx pgx.Tx, documents []uuid.UUID) (map[uuid.UUID][]functional.Kind, error) {
	ids := make([][16]byte, len(documents))
	for i, id := range documents {
		ids[i] = id
	}
	rows, err := tx.Query(ctx, `SELECT document_id, kind FROM acknowledgement WHERE document_id = ANY($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("looking for acknowledgements: %w", err)
	}
	kinds := map[uuid.UUID][]functional.Kind{}
	var id [16]byte
	var kind functional.Kind
	_, err = pgx.ForEachRow(rows, []any{&id, &kind}, func() error { kinds[id] = append(kinds[id], kind); return nil })
	if err != nil {
		return nil, fmt.Errorf("looking for acknowledgements: %w", err)
	}
	return kinds, nil
}

const acknowledgementColumns = `acknowledgement_id, document_id, kind, delivery_id, ordinal, partner_id, key_id, epoch,
	control_reference, outcome, code, problem, octets, created_at`

// A copy that came while the acknowledgement was under way, or had no address, has no transmission: its event alone tells what it
// was answered with.
const ofDeliverySQL = `
SELECT ` + acknowledgementColumns + ` FROM acknowledgement
WHERE acknowledgement_id IN (
	SELECT acknowledgement_id FROM acknowledgement WHERE delivery_id = $1
	UNION SELECT acknowledgement_id FROM acknowledgement_transmission WHERE delivery_id = $1
	UNION SELECT a.acknowledgement_id FROM ledger_event e JOIN acknowledgement a
		ON a.document_id = e.document_id AND a.kind = e.detail->>'acknowledgement'
		WHERE e.delivery_id = $1 AND e.kind = '` + dedup.Acknowledged + `')
ORDER BY created_at, ordinal, kind DESC`

const transmissionsSQL = `
SELECT acknowledgement_id, transmission_id, delivery_id, channel, state, message_id, created_at, attempts, last_error, sent_to,
	coalesce(sent_at, '0001-01-01'), receipt
FROM acknowledgement_transmission WHERE acknowledgement_id = ANY($1) ORDER BY created_at`

// AcknowledgementsOf reads what a delivery's interchanges were answered with, and all transmissions of that.
func AcknowledgementsOf(ctx context.Context, pool *pgxpool.Pool, delivery uuid.UUID) ([]Acknowledgement, error) {
	rows, err := pool.Query(ctx, ofDeliverySQL, [16]byte(delivery))
	if err != nil {
		return nil, fmt.Errorf("reading acknowledgements: %w", err)
	}
	all, err := pgx.CollectRows(rows, scanAcknowledgement)
	if err != nil || len(all) == 0 {
		return all, err
	}
	ids, at := make([][16]byte, len(all)), map[uuid.UUID]int{}
	for i := range all {
		ids[i], at[all[i].ID] = all[i].ID, i
	}
	rows, err = pool.Query(ctx, transmissionsSQL, ids)
	if err != nil {
		return nil, fmt.Errorf("reading transmissions: %w", err)
	}
	var of [16]byte
	var t Transmission
	_, err = pgx.ForEachRow(rows, []any{&of, (*[16]byte)(&t.ID), (*[16]byte)(&t.Delivery), &t.Channel, &t.State, &t.MessageID,
		&t.CreatedAt, &t.Attempts, &t.LastError, &t.SentTo, &t.SentAt, &t.Receipt}, func() error {
		a := &all[at[of]]
		a.Transmissions = append(a.Transmissions, t)
		t.Receipt = nil
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading transmissions: %w", err)
	}
	return all, nil
}

func scanAcknowledgement(row pgx.CollectableRow) (a Acknowledgement, err error) {
	err = row.Scan((*[16]byte)(&a.ID), (*[16]byte)(&a.Document), &a.Kind, (*[16]byte)(&a.Delivery), &a.Ordinal, &a.PartnerID,
		(*[16]byte)(&a.Key), &a.Epoch, &a.Control, &a.Outcome, &a.Code, &a.Problem, &a.Octets, &a.CreatedAt)
	return a, err
}
