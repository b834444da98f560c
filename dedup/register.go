package dedup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"firstcopy/dedup/interchange"
)

// Registration asks the ledger about all interchanges of one delivery.
//
// Either call [Registration.Register], or put it into a batch of the caller's with [Registration.Queue], which saves a
// round trip, and take the decisions when the batch's results have been read.
type Registration struct {
	Partner  int64
	Delivery uuid.UUID
	Node     string       // which gateway wrote the event
	Drift    VersionState // what becomes of drifted content: Held, Accepted or Discarded
	Stale    VersionState // what becomes of documents older than what has been forwarded; Held if empty
	// SameDocument is what becomes of documents that have come before in another interchange; Accepted if empty.
	SameDocument VersionState
	Detail       string // JSON object that goes into every event of the registration; empty for {}
	Entries      []Entry
	// Decisions are the ledger's answers, in the order of the entries, once the queued batch has been read.
	Decisions []Decision
}

// The logic is the database function's, see migrations/0004_lineage.sql: as one statement it would take longer to start
// than to run, and as several it would take a round trip each.
const registerSQL = `SELECT ledger_decide($1, $2, $3, $4, $5, $6::jsonb, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
	$21, $22, $23::jsonb)`

// querier is what a registration needs of a transaction.
type querier interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Register decides every entry and returns the decisions in the order of the entries. Errors are Postgres' own; the
// transaction is then unusable. Given a pool instead of a transaction, the registration is a transaction of its own.
func (r *Registration) Register(ctx context.Context, tx querier) ([]Decision, error) {
	var err error
	if len(r.Entries) == 1 {
		r.Decisions = make([]Decision, 1)
		err = r.Decisions[0].scan(tx.QueryRow(ctx, registerSQL, r.arguments(0, r.lineage(&r.Entries[0]))...))
	} else {
		var batch pgx.Batch
		r.Queue(&batch)
		err = tx.SendBatch(ctx, &batch).Close()
	}
	if err != nil {
		return nil, fmt.Errorf("registering interchanges: %w", err)
	}
	return r.Decisions, nil
}

// Queue adds the registration to a batch: entry after entry, in the order in which every transaction locks references, so that
// overlapping payloads cannot deadlock. Entries with numbered documents come in the order of the payload, which may hold an
// original and its replacement; if there are other entries, what they lock is locked beforehand.
func (r *Registration) Queue(batch *pgx.Batch) {
	r.Decisions = make([]Decision, len(r.Entries))
	documents := make([]*numberedSet, len(r.Entries))
	for i := range r.Entries {
		documents[i] = r.lineage(&r.Entries[i])
	}
	r.queueReserve(batch, documents)
	for _, i := range r.lockOrder(documents) {
		batch.Queue(registerSQL, r.arguments(i, documents[i])...).QueryRow(r.Decisions[i].scan)
	}
}

// arguments are the function's, and make the entry's decision that of a first copy, which the function leaves as it is.
func (r *Registration) arguments(i int, documents *numberedSet) []any {
	e, key := &r.Entries[i], newID()
	ref := &e.Reference
	r.Decisions[i] = Decision{Verdict: First, Key: key, Epoch: 1, Document: e.Document, State: Accepted, own: e.Document}
	return []any{r.Partner, [16]byte(r.Delivery), r.Node, string(r.Drift), int16(interchange.ContentVersion),
		cmp.Or(r.Detail, "{}"), ref.Control, string(ref.Standard), ref.Sender, ref.SenderQualifier, ref.Recipient,
		ref.RecipientQualifier, typesOf(ref), ref.Test, e.Discriminant, e.Raw[:], e.Content[:], [16]byte(key), [16]byte(e.Document),
		[16]byte(newID()), interval(e.Window), e.Seen, documents.encode()}
}

func (d *Decision) scan(row pgx.Row) error { return row.Scan((*words)(d)) }

// words reads what ledger_decide returns: "amendment f KEY 1 DOCUMENT accepted {…}", or NULL for a first copy of which nothing
// is to be told.
type words Decision

// Scan makes words a [database/sql.Scanner].
func (w *words) Scan(value any) error {
	if value == nil {
		return nil
	}
	text, _ := value.(string)
	fields := strings.SplitN(text, " ", 7)
	if len(fields) < 6 {
		return fmt.Errorf("the ledger's decision %q has %d fields", text, len(fields))
	}
	var err, errs error
	w.Verdict, w.Late, w.State = Verdict(fields[0]), fields[1] == "t", VersionState(fields[5])
	w.Key, err = uuid.Parse(fields[2])
	errs = errors.Join(errs, err)
	w.Epoch, err = strconv.Atoi(fields[3])
	errs = errors.Join(errs, err)
	w.Document, err = uuid.Parse(fields[4])
	errs = errors.Join(errs, err)
	if len(fields) == 7 {
		w.Lineage = &Lineage{}
		errs = errors.Join(errs, json.Unmarshal([]byte(fields[6]), w.Lineage))
	}
	return errs
}

func (r *Registration) lockOrder(documents []*numberedSet) []int {
	order := make([]int, len(r.Entries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &r.Entries[a], &r.Entries[b]
		switch {
		case documents[a] != nil && documents[b] != nil:
			return a - b
		case documents[a] != nil:
			return 1
		case documents[b] != nil:
			return -1
		}
		return cmp.Or(compareReference(&x.Reference, &y.Reference), strings.Compare(x.Discriminant, y.Discriminant))
	})
	return order
}

func compareReference(a, b *interchange.Reference) int {
	return cmp.Or(
		strings.Compare(a.Control, b.Control),
		strings.Compare(string(a.Standard), string(b.Standard)),
		strings.Compare(a.Sender, b.Sender),
		strings.Compare(a.SenderQualifier, b.SenderQualifier),
		strings.Compare(a.Recipient, b.Recipient),
		strings.Compare(a.RecipientQualifier, b.RecipientQualifier),
		slices.Compare(a.MessageTypes, b.MessageTypes),
		strings.Compare(fmt.Sprint(a.Test), fmt.Sprint(b.Test)),
	)
}

// typesOf never yields a nil slice, which would be NULL and equal nothing.
func typesOf(r *interchange.Reference) []string {
	if r.MessageTypes == nil {
		return []string{}
	}
	return r.MessageTypes
}

// interval is a window for Postgres; NULL is no end.
func interval(window time.Duration) pgtype.Interval {
	return pgtype.Interval{Microseconds: window.Microseconds(), Valid: window != Forever}
}

// newID makes a time-ordered identifier (UUIDv7, RFC 9562), so that index insertions stay local.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
