package dedup

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"firstcopy/dedup/interchange"
)

// Event kinds beside the verdicts.
const (
	Repeat           = "repeat"            // the same transport id and octets again: answered with the stored receipt
	Forwarded        = "forwarded"         // handed to the sink
	Stuck            = "stuck"             // the last attempt failed
	Resent           = "resent"            // an administrator asked for another forward
	DriftReleased    = "drift_released"    // an administrator forwarded held content
	DriftDiscarded   = "drift_discarded"   // an administrator dropped held content
	ReceiptDelivered = "receipt_delivered" // the partner took an asynchronous receipt
	ReceiptFailed    = "receipt_failed"    // the partner did not take it, and no attempt is left

	Acknowledged         = "acknowledged"          // an acknowledgement, fresh or stored, is this delivery's answer
	AcknowledgementSent  = "acknowledgement_sent"  // the partner has it
	AcknowledgementStuck = "acknowledgement_stuck" // the last attempt failed

	AcknowledgementResent = "acknowledgement_resent" // an administrator had it sent again
)

// Event is one line of a reference's account, for what happens outside a registration.
type Event struct {
	Partner  int64
	Kind     string
	Key      uuid.UUID // uuid.Nil for none, here and below
	Epoch    int
	Delivery uuid.UUID
	Document uuid.UUID
	Raw      []byte // nil for none
	Node     string
	Detail   string // JSON object; empty for {}
}

// Detail writes an event's detail as JSON that Postgres takes: without NUL, which jsonb refuses, and as valid UTF-8.
func Detail(fields map[string]any) string {
	for name, value := range fields {
		if text, ok := value.(string); ok {
			fields[name] = interchange.Text([]byte(text))
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic("dedup: an event's detail must be marshallable: " + err.Error())
	}
	return string(text)
}

const eventSQL = `
INSERT INTO ledger_event (event_id, partner_id, kind, key_id, epoch, delivery_id, document_id, raw_hash, node, detail)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::jsonb)`

// QueueEvent adds the event to a batch.
func QueueEvent(batch *pgx.Batch, e Event) {
	if e.Detail == "" {
		e.Detail = "{}"
	}
	batch.Queue(eventSQL, [16]byte(newID()), e.Partner, e.Kind, orNull(&e.Key), e.Epoch, orNull(&e.Delivery),
		orNull(&e.Document), e.Raw, e.Node, e.Detail)
}

func orNull(id *uuid.UUID) *[16]byte {
	if *id == uuid.Nil {
		return nil
	}
	return (*[16]byte)(id)
}

const repeatSQL = `
INSERT INTO ledger_event (event_id, partner_id, kind, key_id, epoch, delivery_id, document_id, raw_hash, content_hash, node, detail)
SELECT gen_random_uuid(), $1, 'repeat', k.key_id, k.epoch, $2, k.document_id, $4, $5, $3, $6::jsonb
FROM (SELECT 1) one LEFT JOIN dedup_key k
  ON control_reference = $7 AND partner_id = $1 AND standard = $8 AND sender = $9 AND sender_qualifier = $10
 AND recipient = $11 AND recipient_qualifier = $12 AND message_types = $13 AND test = $14 AND discriminant = $15`

// QueueRepeats adds one repeat event for every interchange of a delivery that has come again, under its reference.
// A purged reference still gets its event, without a key.
func QueueRepeats(batch *pgx.Batch, r *Registration) {
	detail := r.Detail
	if detail == "" {
		detail = "{}"
	}
	for i := range r.Entries {
		e := &r.Entries[i]
		batch.Queue(repeatSQL, r.Partner, [16]byte(r.Delivery), r.Node, e.Raw[:], e.Content[:], detail,
			e.Reference.Control, string(e.Reference.Standard), e.Reference.Sender, e.Reference.SenderQualifier,
			e.Reference.Recipient, e.Reference.RecipientQualifier, typesOf(&e.Reference), e.Reference.Test, e.Discriminant)
	}
}
