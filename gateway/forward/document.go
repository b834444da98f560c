package forward

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/dedup"
)

// State of a document. The legal transitions are drawn in docs/state-machine.md.
type State string

const (
	Pending      State = "pending"   // an outbox job carries it
	Done         State = "forwarded" // the sink has taken it
	StuckState   State = "stuck"     // the last attempt failed; an administrator may send it again
	HeldState    State = "held"      // drift, or stale, waiting for an administrator
	DiscardState State = "discarded" // dropped by an administrator or by policy; the octets are kept
)

// Document is one forwardable interchange. Its octets are in payload_chunk, see [Octets].
type Document struct {
	ID           uuid.UUID `json:"document_id"`
	Delivery     uuid.UUID `json:"delivery_id"`
	PartnerID    int64     `json:"-"`
	Key          uuid.UUID `json:"key_id"`
	Epoch        int       `json:"epoch"`
	Ordinal      int       `json:"ordinal"` // place in the payload, from 1
	Verdict      string    `json:"verdict"`
	State        State     `json:"state"`
	Standard     string    `json:"standard"`
	Version      string    `json:"version"`
	Sender       string    `json:"sender"` // as written in the envelope
	Recipient    string    `json:"recipient"`
	Reference    string    `json:"control_reference"` // as it stands in the ledger's key
	MessageTypes []string  `json:"message_types"`
	Functions    []string  `json:"functions"`
	Test         bool      `json:"test"`
	Irregular    []string  `json:"irregular"`
	Raw          []byte    `json:"-"` // SHA-256 of the octets
	Content      []byte    `json:"-"` // SHA-256 of the canonical form
	Size         int64     `json:"size"`
	FileName     string    `json:"file_name"`
	ContentType  string    `json:"content_type"`
	CreatedAt    time.Time `json:"created_at"`
	Attempts     int       `json:"attempts"`
	LastError    string    `json:"last_error,omitempty"`
	ForwardedTo  string    `json:"forwarded_to,omitempty"`
	ForwardedAt  time.Time `json:"forwarded_at,omitzero"`
	// Lineage tells what the documents inside replace, change or cancel, and what else is to be known of them; nil for nothing.
	Lineage *dedup.Lineage `json:"lineage,omitempty"`
}

const insertDocumentSQL = `
INSERT INTO document (document_id, delivery_id, partner_id, key_id, epoch, ordinal, verdict, state, standard, version,
	sender, recipient, control_reference, message_types, functions, test, irregular, raw_hash, content_hash, size,
	file_name, content_type, job_id, lineage)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, nullif($23, 0), $24)`

// QueueInsert adds the document's row to a batch. job is the outbox job that carries it; 0 for one that is not pending.
func QueueInsert(batch *pgx.Batch, d *Document, job int64) {
	batch.Queue(insertDocumentSQL, [16]byte(d.ID), [16]byte(d.Delivery), d.PartnerID, [16]byte(d.Key), d.Epoch, d.Ordinal,
		d.Verdict, string(d.State), d.Standard, d.Version, d.Sender, d.Recipient, d.Reference, notNil(d.MessageTypes),
		notNil(d.Functions), d.Test, notNil(d.Irregular), d.Raw, d.Content, d.Size, d.FileName, d.ContentType, job, d.Lineage)
}

func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

const documentColumns = `document_id, delivery_id, partner_id, key_id, epoch, ordinal, verdict, state, standard, version, sender,
	recipient, control_reference, message_types, functions, test, irregular, raw_hash, content_hash, size, file_name,
	content_type, created_at, attempts, last_error, forwarded_to, coalesce(forwarded_at, '0001-01-01'),
	lineage`

func scanDocument(row pgx.CollectableRow) (Document, error) {
	var d Document
	err := row.Scan((*[16]byte)(&d.ID), (*[16]byte)(&d.Delivery), &d.PartnerID, (*[16]byte)(&d.Key), &d.Epoch, &d.Ordinal,
		&d.Verdict, &d.State, &d.Standard, &d.Version, &d.Sender, &d.Recipient, &d.Reference, &d.MessageTypes, &d.Functions,
		&d.Test, &d.Irregular, &d.Raw, &d.Content, &d.Size, &d.FileName, &d.ContentType, &d.CreatedAt, &d.Attempts,
		&d.LastError, &d.ForwardedTo, &d.ForwardedAt, &d.Lineage)
	return d, err
}

// ErrNoDocument is returned for a document that does not exist.
var ErrNoDocument = errors.New("no such document")

// Get reads one document.
func Get(ctx context.Context, pool *pgxpool.Pool, id uuid.UUID) (Document, error) {
	docs, err := list(ctx, pool, `document_id = $1`, [16]byte(id))
	if err != nil {
		return Document{}, err
	}
	if len(docs) == 0 {
		return Document{}, fmt.Errorf("document %s: %w", id, ErrNoDocument)
	}
	return docs[0], nil
}

// OfKey lists the documents stored under a reference, oldest first.
func OfKey(ctx context.Context, pool *pgxpool.Pool, key uuid.UUID) ([]Document, error) {
	return list(ctx, pool, `key_id = $1 ORDER BY created_at, ordinal`, [16]byte(key))
}

// OfDelivery lists the documents that one delivery brought.
func OfDelivery(ctx context.Context, pool *pgxpool.Pool, delivery uuid.UUID) ([]Document, error) {
	return list(ctx, pool, `delivery_id = $1 ORDER BY ordinal`, [16]byte(delivery))
}

// InState lists documents in one of the open states (pending, stuck, held), oldest first, at most limit of them.
// partner 0 means every partner.
func InState(ctx context.Context, pool *pgxpool.Pool, state State, partner int64, limit int) ([]Document, error) {
	return list(ctx, pool, `state = $1 AND ($2 = 0 OR partner_id = $2) ORDER BY created_at LIMIT $3`, string(state), partner, limit)
}

func list(ctx context.Context, pool *pgxpool.Pool, where string, args ...any) ([]Document, error) {
	rows, err := pool.Query(ctx, `SELECT `+documentColumns+` FROM document WHERE `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("reading documents: %w", err)
	}
	docs, err := pgx.CollectRows(rows, scanDocument)
	if err != nil {
		return nil, fmt.Errorf("reading documents: %w", err)
	}
	return docs, nil
}
