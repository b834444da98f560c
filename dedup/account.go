package dedup

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/dedup/interchange"
)

// Key is a reference as the ledger holds it now.
type Key struct {
	ID           uuid.UUID             `json:"key_id"`
	Partner      int64                 `json:"partner_id"`
	Reference    interchange.Reference `json:"reference"`
	Epoch        int                   `json:"epoch"`
	Raw          []byte                `json:"raw_hash"`
	Content      []byte                `json:"content_hash"`
	Discriminant string                `json:"discriminant,omitempty"` // what belongs to the key by agreement
	Document     uuid.UUID             `json:"document_id"`            // the current epoch's first copy
	FirstSeen    time.Time             `json:"first_seen_at"`
	Expires      time.Time             `json:"expires_at"`
}

// Query narrows a search; zero fields do not. Hash is a SHA-256 of an interchange or of a whole payload.
type Query struct {
	Reference string // the control reference
	Document  string // the number of a business document inside, or of one that it names
	Partner   int64
	Hash      []byte
	Since     time.Time // first seen at or after
	Limit     int       // 100 if zero
}

const keyColumns = `k.key_id, k.partner_id, k.control_reference, k.standard, k.sender, k.sender_qualifier, k.recipient,
	k.recipient_qualifier, k.message_types, k.test, k.discriminant, k.epoch, k.raw_hash, k.content_hash, k.document_id, k.first_seen_at, k.expires_at`

// Search finds references, the newest first. A hash or a time is looked for by way of the documents and deliveries, which
// have an index on it.
func Search(ctx context.Context, pool *pgxpool.Pool, q Query) ([]Key, error) {
	conditions, args := []string{"true"}, []any{}
	where := func(condition string, value any) {
		args = append(args, value)
		conditions = append(conditions, strings.ReplaceAll(condition, "$?", fmt.Sprintf("$%d", len(args))))
	}
	if q.Reference != "" {
		where(`control_reference = $?`, q.Reference)
	}
	if q.Document != "" {
		where(`(control_reference, key_id) IN (SELECT control_reference, key_id FROM document_lineage l JOIN document d USING (document_id)
	WHERE l.number = $? AND l.partner_id = d.partner_id)`, q.Document)
	}
	if q.Partner != 0 {
		where(`partner_id = $?`, q.Partner)
	}
	if q.Hash != nil {
		where(`(control_reference, key_id) IN (
	SELECT control_reference, key_id FROM document WHERE raw_hash = $?
	UNION SELECT k2.control_reference, k2.key_id FROM dedup_key k2 JOIN ledger_event e USING (key_id)
	JOIN delivery v ON v.delivery_id = e.delivery_id WHERE v.payload_hash = $?)`, q.Hash)
	}
	if !q.Since.IsZero() {
		where(`first_seen_at >= $? AND (control_reference, key_id) IN (
	SELECT control_reference, key_id FROM document JOIN delivery USING (delivery_id) WHERE received_at >= $?::timestamptz - interval '1 hour')`, q.Since)
	}
	args = append(args, cmp.Or(q.Limit, 100))
	rows, err := pool.Query(ctx, fmt.Sprintf(`SELECT %s FROM dedup_key k WHERE %s ORDER BY first_seen_at DESC LIMIT $%d`,
		keyColumns, strings.Join(conditions, " AND "), len(args)), args...)
	if err != nil {
		return nil, fmt.Errorf("searching the ledger: %w", err)
	}
	keys, err := pgx.CollectRows(rows, scanKey)
	if err != nil {
		return nil, fmt.Errorf("searching the ledger: %w", err)
	}
	return keys, nil
}

func scanKey(row pgx.CollectableRow) (Key, error) {
	var k Key
	var expires pgtype.Timestamptz
	r := &k.Reference
	err := row.Scan((*[16]byte)(&k.ID), &k.Partner, &r.Control, &r.Standard, &r.Sender, &r.SenderQualifier, &r.Recipient,
		&r.RecipientQualifier, &r.MessageTypes, &r.Test, &k.Discriminant, &k.Epoch, &k.Raw, &k.Content, (*[16]byte)(&k.Document), &k.FirstSeen, &expires)
	k.Expires = finite(expires)
	return k, err
}

// endOfTime stands for Postgres' infinity, which time.Time lacks.
var endOfTime = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

func finite(t pgtype.Timestamptz) time.Time {
	if t.InfinityModifier == pgtype.Infinity {
		return endOfTime
	}
	return t.Time
}

// Line is one line of a reference's account.
type Line struct {
	At       time.Time       `json:"at"`
	Kind     string          `json:"kind"`
	Epoch    int             `json:"epoch"`
	Delivery uuid.UUID       `json:"delivery_id"`
	Document uuid.UUID       `json:"document_id"`
	Raw      []byte          `json:"raw_hash"`
	Content  []byte          `json:"content_hash"`
	Late     bool            `json:"late"` // a duplicate that came after the window
	Node     string          `json:"node"`
	Detail   json.RawMessage `json:"detail"`
}

// accountSQL takes the reference's own events, and those of its deliveries as a whole, such as a receipt that was delivered.
const accountSQL = `
WITH own AS (SELECT * FROM ledger_event WHERE key_id = $1),
whole AS (SELECT * FROM ledger_event WHERE key_id IS NULL AND delivery_id IN (SELECT delivery_id FROM own)
	AND kind IN ('receipt_delivered', 'receipt_failed'))
SELECT at, kind, coalesce(epoch, 0), coalesce(delivery_id, '00000000-0000-0000-0000-000000000000'),
       coalesce(document_id, '00000000-0000-0000-0000-000000000000'), raw_hash, content_hash, late, node, detail
FROM (SELECT * FROM own UNION ALL SELECT * FROM whole) e ORDER BY at, event_id`

// Account reads what happened to a reference, in order.
func Account(ctx context.Context, pool *pgxpool.Pool, key uuid.UUID) ([]Line, error) {
	rows, err := pool.Query(ctx, accountSQL, [16]byte(key))
	if err != nil {
		return nil, fmt.Errorf("reading the account: %w", err)
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Line, error) {
		var l Line
		err := row.Scan(&l.At, &l.Kind, &l.Epoch, (*[16]byte)(&l.Delivery), (*[16]byte)(&l.Document), &l.Raw, &l.Content, &l.Late, &l.Node, &l.Detail)
		return l, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the account: %w", err)
	}
	return lines, nil
}

// SetVersion records what became of a held or discarded content, the one that the document holds: a released one is from then
// on the newest of its numbers. Content that armed its reference is no version of it; drift always is one.
func SetVersion(ctx context.Context, tx pgx.Tx, verdict Verdict, key, document uuid.UUID, state VersionState) error {
	tag, err := tx.Exec(ctx, `UPDATE dedup_version SET state = $3 WHERE key_id = $1 AND document_id = $2 AND state IN ('held', 'discarded')`,
		[16]byte(key), [16]byte(document), string(state))
	if err == nil && state == Released {
		_, err = tx.Exec(ctx, `SELECT lineage_accept($1)`, [16]byte(document))
	}
	if err != nil {
		return fmt.Errorf("recording the %s content: %w", state, err)
	}
	if verdict == Drift && tag.RowsAffected() != 1 {
		return fmt.Errorf("recording the %s content: the ledger holds no version for document %s", state, document)
	}
	return nil
}

// Known tells which entries' content the ledger has seen under their reference already, without deciding anything: a
// look before a large payload is stored for nothing.
func Known(ctx context.Context, pool *pgxpool.Pool, r *Registration) ([]bool, error) {
	known := make([]bool, len(r.Entries))
	var batch pgx.Batch
	for i := range r.Entries {
		e := &r.Entries[i]
		batch.Queue(knownSQL, r.Partner, e.Reference.Control, string(e.Reference.Standard), e.Reference.Sender,
			e.Reference.SenderQualifier, e.Reference.Recipient, e.Reference.RecipientQualifier, typesOf(&e.Reference),
			e.Reference.Test, e.Raw[:], e.Content[:], e.Discriminant).QueryRow(func(row pgx.Row) error { return row.Scan(&known[i]) })
	}
	if err := pool.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, fmt.Errorf("looking into the ledger: %w", err)
	}
	return known, nil
}

const knownSQL = `
SELECT EXISTS (
	SELECT FROM dedup_key k
	WHERE control_reference = $2 AND partner_id = $1 AND standard = $3 AND sender = $4 AND sender_qualifier = $5
	  AND recipient = $6 AND recipient_qualifier = $7 AND message_types = $8 AND test = $9 AND discriminant = $12
	  AND (k.raw_hash = $10 OR k.content_hash = $11 OR EXISTS (
		SELECT FROM dedup_version v WHERE v.key_id = k.key_id AND (v.raw_hash = $10 OR v.content_hash = $11))))`
