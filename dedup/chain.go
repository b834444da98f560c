package dedup

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/dedup/interchange"
)

// Use is one time that a document number was used: by the document itself, or by one with a number of its own that replaces,
// changes or cancels it.
type Use struct {
	Number    string               `json:"number"`
	Standard  interchange.Standard `json:"standard"`
	Family    string               `json:"family"` // kind of document
	Seq       int                  `json:"seq"`    // in the order of arrival
	By        string               `json:"by"`     // the number of the document that was this use, mostly Number itself
	Relation  string               `json:"relation"`
	Function  string               `json:"function,omitempty"` // as the message says it
	Revision  string               `json:"revision,omitempty"`
	Date      string               `json:"date,omitempty"`              // of the document, in digits
	Document  uuid.UUID            `json:"document_id"`                 // the stored document that holds it
	Reference string               `json:"control_reference,omitempty"` // of the interchange that it is
	State     string               `json:"state,omitempty"`             // how that stands: held, forwarded, …
	Place     int                  `json:"place"`                       // among the messages of that document
	Seen      time.Time            `json:"seen_at"`
	Forwarded bool                 `json:"forwarded"` // or on its way
	Newest    bool                 `json:"newest"`    // of all that was forwarded
}

// chainSQL lists the uses of all numbers that the documents have to do with.
const chainSQL = `
SELECT l.number, l.standard, l.family, l.seq, coalesce(nullif(l.by_number, ''), l.number), l.relation, l.function, l.revision, l.document_date,
       l.document_id, coalesce(d.control_reference, ''), coalesce(d.state, ''), l.place, l.seen_at, l.rank IS NOT NULL,
       coalesce(l.rank > 0 AND l.rank = max(l.rank) OVER (PARTITION BY l.number, l.partner_id, l.standard, l.family, l.sender, l.recipient, l.test), false)
FROM document_lineage l
JOIN (SELECT DISTINCT number, partner_id, standard, family, sender, recipient, test FROM document_lineage WHERE document_id = ANY ($1)) n
  USING (number, partner_id, standard, family, sender, recipient, test)
LEFT JOIN document d ON d.document_id = l.document_id
WHERE l.document_id IS NOT NULL
ORDER BY l.number, l.partner_id, l.standard, l.family, l.sender, l.recipient, l.test, l.seq LIMIT 1000`

// Chain reads every use, at most a thousand, of the document numbers that are used in the given stored documents.
func Chain(ctx context.Context, pool *pgxpool.Pool, documents ...uuid.UUID) ([]Use, error) {
	ids := make([][16]byte, len(documents))
	for i, id := range documents {
		ids[i] = id
	}
	rows, err := pool.Query(ctx, chainSQL, ids)
	if err != nil {
		return nil, fmt.Errorf("reading the lineage: %w", err)
	}
	uses, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (u Use, err error) {
		err = row.Scan(&u.Number, &u.Standard, &u.Family, &u.Seq, &u.By, &u.Relation, &u.Function, &u.Revision, &u.Date,
			(*[16]byte)(&u.Document), &u.Reference, &u.State, &u.Place, &u.Seen, &u.Forwarded, &u.Newest)
		return u, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the lineage: %w", err)
	}
	return uses, nil
}

// Counterpart finds what a held document is to be compared with: the first copy under its reference, if that is another one, else
// the newest document of its numbers. It is uuid.Nil if there is none.
func Counterpart(ctx context.Context, pool *pgxpool.Pool, control string, key, document uuid.UUID) (uuid.UUID, error) {
	var first [16]byte
	err := pool.QueryRow(ctx, `SELECT document_id FROM dedup_key WHERE control_reference = $1 AND key_id = $2`, control, [16]byte(key)).Scan(&first)
	if err != nil && err != pgx.ErrNoRows {
		return uuid.Nil, fmt.Errorf("looking for the accepted content: %w", err)
	}
	if err == nil && first != [16]byte(document) {
		return first, nil
	}
	uses, err := Chain(ctx, pool, document)
	if err != nil {
		return uuid.Nil, err
	}
	for _, u := range uses {
		if u.Newest && u.Document != document {
			return u.Document, nil
		}
	}
	return uuid.Nil, nil
}
