package forward

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"firstcopy/dedup"
	"firstcopy/partners"
)

// Desk is what an administrator does to documents. Every act is an event of the document's reference, with who and why.
type Desk struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
	node   string
}

// NewDesk makes a desk that inserts jobs for the running gateways and works none itself.
func NewDesk(pool *pgxpool.Pool, attempts int, node string) (*Desk, error) {
	client, err := river.NewClient(quietDriver{riverpgxv5.New(pool)}, &river.Config{MaxAttempts: attempts})
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	return &Desk{pool: pool, client: client, node: node}, nil
}

// ErrState is returned when a document is not in a state in which the act is possible.
type ErrState struct {
	Document uuid.UUID
	State    State
	Act      string
}

func (e *ErrState) Error() string {
	return fmt.Sprintf("document %s is %s: it cannot be %s", e.Document, e.State, e.Act)
}

// Resend forwards a stuck document, or one already forwarded, again under its old id.
func (d *Desk) Resend(ctx context.Context, id uuid.UUID, who, reason string) error {
	return d.act(ctx, id, act{name: "resent", from: []State{StuckState, Done}, to: Pending, event: dedup.Resent, who: who, reason: reason})
}

// Release forwards a held document: the administrator has judged the drift to be legitimate, or what came late to be wanted. One
// that was discarded may be released as well: the partner's retry of it would be a duplicate, so nothing else could bring it back.
func (d *Desk) Release(ctx context.Context, id uuid.UUID, who, reason string) error {
	return d.act(ctx, id, act{name: "released", from: []State{HeldState, DiscardState}, to: Pending, event: dedup.DriftReleased,
		version: dedup.Released, who: who, reason: reason})
}

// Discard drops a held document. Its octets and its account stay.
func (d *Desk) Discard(ctx context.Context, id uuid.UUID, who, reason string) error {
	return d.act(ctx, id, act{name: "discarded", from: []State{HeldState}, to: DiscardState, event: dedup.DriftDiscarded,
		version: dedup.Discarded, who: who, reason: reason})
}

// Acknowledge sends what a delivery's interchanges were answered with once more, octet for octet, also what had nowhere to go
// when it was composed. It reports how many are on their way; that there is nothing to send is an error.
func (d *Desk) Acknowledge(ctx context.Context, delivery uuid.UUID, agreement *partners.Agreement, who, reason string) (int, error) {
	var channel string
	err := d.pool.QueryRow(ctx, `SELECT channel FROM delivery WHERE delivery_id = $1`, [16]byte(delivery)).Scan(&channel)
	if err != nil {
		return 0, fmt.Errorf("reading delivery %s: %w", delivery, err)
	}
	if AcknowledgementChannel(channel, agreement) == "" {
		return 0, &ErrNoAddress{Partner: agreement.Name, Channel: channel}
	}
	all, err := AcknowledgementsOf(ctx, d.pool, delivery)
	if err != nil {
		return 0, err
	}
	if err := sendable(delivery, all); err != nil {
		return 0, err
	}
	slices.SortFunc(all, func(a, b Acknowledgement) int { // the order in which everybody adds transmissions
		return cmp.Or(bytes.Compare(a.Document[:], b.Document[:]), cmp.Compare(a.Kind, b.Kind))
	})
	sent := 0
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		for i := range all {
			a := &all[i]
			if a.Octets == nil || a.pending() {
				continue
			}
			t := Transmission{ID: uuid.Must(uuid.NewV7()), Delivery: delivery, Channel: channel}
			job, err := d.client.InsertTx(ctx, tx, AcknowledgementJob{Transmission: t.ID}, nil)
			if err != nil {
				return fmt.Errorf("outbox: %w", err)
			}
			tag, err := tx.Exec(ctx, transmitAgainSQL, retransmission(&t, a.ID, job.Job.ID)...)
			if err != nil {
				return fmt.Errorf("sending an acknowledgement again: %w", err)
			}
			if tag.RowsAffected() == 0 {
				continue // a copy has set one off meanwhile
			}
			if err := event(ctx, tx, dedup.Event{Partner: a.PartnerID, Kind: dedup.AcknowledgementResent, Key: a.Key, Epoch: a.Epoch, Delivery: delivery,
				Document: a.Document, Node: d.node, Detail: dedup.Detail(map[string]any{"acknowledgement": string(a.Kind),
					"number": a.Control, "who": who, "reason": reason})}); err != nil {
				return err
			}
			sent++
		}
		return nil
	})
	return sent, err
}

// ErrNoAddress is returned when an agreement says nowhere where acknowledgements go.
type ErrNoAddress struct{ Partner, Channel string }

func (e *ErrNoAddress) Error() string {
	return fmt.Sprintf("the agreement with %s has no address for acknowledgements by %s", e.Partner, e.Channel)
}

// sendable says why none of a delivery's acknowledgements can be sent now; nil if one can.
func sendable(delivery uuid.UUID, all []Acknowledgement) error {
	err := fmt.Errorf("delivery %s has no acknowledgement: its interchanges asked for none, and none is agreed", delivery)
	for i := range all {
		switch a := &all[i]; {
		case a.Octets == nil:
			err = fmt.Errorf("the acknowledgement of delivery %s could not be composed: %s", delivery, a.Problem)
		case !a.pending():
			return nil
		}
	}
	for i := range all {
		if all[i].pending() {
			return fmt.Errorf("the acknowledgement of delivery %s is pending already", delivery)
		}
	}
	return err
}

// pending reports whether the acknowledgement is on its way.
func (a *Acknowledgement) pending() bool {
	return slices.ContainsFunc(a.Transmissions, func(t Transmission) bool { return t.State == TransmissionPending })
}

type act struct {
	name        string
	from        []State
	to          State
	event       string
	version     dedup.VersionState // what the ledger's version of this content becomes; empty leaves it
	who, reason string
}

func (d *Desk) act(ctx context.Context, id uuid.UUID, a act) error {
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT `+documentColumns+` FROM document WHERE document_id = $1 FOR UPDATE`, [16]byte(id))
		if err != nil {
			return err
		}
		doc, err := pgx.CollectExactlyOneRow(rows, scanDocument)
		if err == pgx.ErrNoRows {
			return fmt.Errorf("document %s: %w", id, ErrNoDocument)
		}
		if err != nil {
			return err
		}
		if !slices.Contains(a.from, doc.State) {
			return &ErrState{Document: id, State: doc.State, Act: a.name}
		}
		if err := d.move(ctx, tx, doc, a); err != nil {
			return err
		}
		if a.version != "" {
			if err := dedup.SetVersion(ctx, tx, dedup.Verdict(doc.Verdict), doc.Key, doc.ID, a.version); err != nil {
				return err
			}
		}
		return event(ctx, tx, dedup.Event{Partner: doc.PartnerID, Kind: a.event, Key: doc.Key, Epoch: doc.Epoch,
			Delivery: doc.Delivery, Document: doc.ID, Raw: doc.Raw, Node: d.node,
			Detail: dedup.Detail(map[string]any{"who": a.who, "reason": a.reason})})
	})
}

func (d *Desk) move(ctx context.Context, tx pgx.Tx, doc Document, a act) error {
	if a.to != Pending {
		_, err := tx.Exec(ctx, `UPDATE document SET state = $2 WHERE document_id = $1 AND state = $3`,
			[16]byte(doc.ID), string(a.to), string(doc.State))
		return err
	}
	inserted, err := d.client.InsertTx(ctx, tx, documentArgs{Document: doc.ID}, nil)
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	_, err = tx.Exec(ctx, `UPDATE document SET state = 'pending', job_id = $2, last_error = '' WHERE document_id = $1 AND state = $3`,
		[16]byte(doc.ID), inserted.Job.ID, string(doc.State))
	return err
}
