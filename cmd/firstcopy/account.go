package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"firstcopy/dedup"
	"firstcopy/gateway"
	"firstcopy/gateway/forward"
	"firstcopy/partners"
)

// accountOutput is all that is known of a reference.
type accountOutput struct {
	keyOutput
	Counts     countsOutput      `json:"counts"`
	Account    []lineOutput      `json:"account"`
	Documents  []documentOutput  `json:"documents"`
	Lineage    []useOutput       `json:"lineage"` // of the numbers of its documents, under whatever reference
	Deliveries []deliveryOutput  `json:"deliveries"`
	index      map[uuid.UUID]int // of Deliveries
}

// countsOutput sums an account up.
type countsOutput struct {
	Arrivals  int            `json:"arrivals"`  // copies that came, of whatever verdict
	Forwarded int            `json:"forwarded"` // documents that a sink has taken
	Kinds     map[string]int `json:"events"`    // events of the account, by kind
}

// lineOutput is one event of an account. Detail is the ledger's own record.
type lineOutput struct {
	At       time.Time       `json:"at"`
	Event    string          `json:"event"`
	Epoch    int             `json:"epoch"`
	Delivery uuid.UUID       `json:"delivery_id,omitzero"`
	Document uuid.UUID       `json:"document_id,omitzero"`
	Raw      hash            `json:"raw_sha256,omitempty"`
	Late     bool            `json:"late,omitempty"` // a duplicate after the window
	Node     string          `json:"node"`
	Signer   string          `json:"signer_sha256,omitempty"`
	Answer   *answerOutput   `json:"receipt,omitempty"`
	Detail   json.RawMessage `json:"detail"`
	detail   eventDetail
}

// answerOutput is the receipt that answered an arrival.
type answerOutput struct {
	MessageID   string    `json:"message_id"`
	Disposition string    `json:"disposition"`
	MIC         string    `json:"mic"`
	AsyncURL    string    `json:"async_url,omitempty"`
	DeliveredAt time.Time `json:"delivered_at,omitzero"` // of an asynchronous receipt
	Stored      bool      `json:"stored"`                // the octets that had been sent before, again
}

// eventDetail is what the ledger's events may carry.
type eventDetail struct {
	Channel     string `json:"channel"`
	TransportID string `json:"transport_id"`
	Receipt     string `json:"receipt"`
	Disposition string `json:"disposition"`
	MIC         string `json:"mic"`
	Signer      string `json:"signer"`
	Sink        string `json:"sink"`
	Attempt     int    `json:"attempt"`
	Error       string `json:"error"`
	URL         string `json:"url"`
	Who         string `json:"who"`
	Reason      string `json:"reason"`

	Acknowledgement string `json:"acknowledgement"` // its kind
	Number          string `json:"number"`          // our control reference
	Outcome         string `json:"outcome"`
	Code            string `json:"code"`
	Problem         string `json:"problem"`
	MessageID       string `json:"message_id"` // of the AS2 message that carried it
	File            string `json:"file"`       // as which it was put on the SFTP server

	Lineage *dedup.Lineage `json:"lineage"`
}

func newLedgerShowCommand(a *app) *cobra.Command {
	var only chosen
	cmd := &cobra.Command{
		Use:   "show REFERENCE",
		Short: "Show the whole account of a reference",
		Long: "Shows, for every reference with that control reference, its first copy and its window, and in order everything that\n" +
			"became of it: each arrival with its octets' digest, its signer and the receipt that answered it, and each forward.",
		Args: oneArgument("a control reference"),
		RunE: func(cmd *cobra.Command, args []string) error {
			pool, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer pool.Close()
			partner, err := only.id(cmd.Context(), partners.NewStore(pool))
			if err != nil {
				return err
			}
			keys, err := search(cmd.Context(), pool, dedup.Query{Reference: args[0], Partner: partner})
			if err != nil {
				return err
			}
			if len(keys) == 0 {
				return noReference(args[0], only.name)
			}
			slices.Reverse(keys) // the oldest first, like the lines of each account
			out, err := accounts(cmd.Context(), pool, partnersByID(cmd, pool), keys)
			if err != nil {
				return err
			}
			return a.print(cmd, out, func(w io.Writer) error { return writeAccounts(w, out) })
		},
	}
	only.flags(cmd)
	return cmd
}

func noReference(reference, partner string) error {
	err := fmt.Errorf("there is no reference %q in the ledger", reference)
	if partner != "" {
		return withHint(fmt.Errorf("%w for partner %s", err, partner), "firstcopy ledger search --partner %s --since 7d shows what came lately", partner)
	}
	return withHint(err, "firstcopy ledger search --since 7d shows what came lately; references are compared to the letter")
}

func accounts(ctx context.Context, pool *pgxpool.Pool, names registry, keys []dedup.Key) ([]accountOutput, error) {
	all := []accountOutput{}
	for _, k := range keys {
		out, err := account(ctx, pool, names, k)
		if err != nil {
			return nil, err
		}
		all = append(all, out)
	}
	return all, nil
}

// account gathers what the ledger, the deliveries and the documents say.
func account(ctx context.Context, pool *pgxpool.Pool, names registry, k dedup.Key) (accountOutput, error) {
	out := accountOutput{keyOutput: keyOf(k, names, time.Now()), Counts: countsOutput{Kinds: map[string]int{}},
		Account: []lineOutput{}, Deliveries: []deliveryOutput{}, index: map[uuid.UUID]int{}}
	lines, err := dedup.Account(ctx, pool, k.ID)
	if err != nil {
		return out, err
	}
	docs, err := forward.OfKey(ctx, pool, k.ID)
	if err != nil {
		return out, err
	}
	out.Documents = documentsOf(docs, names)
	if out.Lineage, err = lineageOf(ctx, pool, docs); err != nil {
		return out, err
	}
	for _, l := range lines {
		if err := out.addDelivery(ctx, pool, names, l.Delivery); err != nil {
			return out, err
		}
		line, err := lineOf(l)
		if err != nil {
			return out, err
		}
		line.Answer = answerTo(&line, out.delivery(l.Delivery))
		out.Account = append(out.Account, line)
		out.Counts.Kinds[line.Event]++
		if line.arrival() {
			out.Counts.Arrivals++
		}
	}
	for _, d := range docs {
		if !d.ForwardedAt.IsZero() {
			out.Counts.Forwarded++
		}
	}
	return out, nil
}

// addDelivery reads a delivery once. One that retention has removed is left
// out: the account's own lines outlive it.
func (o *accountOutput) addDelivery(ctx context.Context, pool *pgxpool.Pool, names registry, id uuid.UUID) error {
	if id == uuid.Nil || o.delivery(id) != nil {
		return nil
	}
	d, err := readDelivery(ctx, pool, names, id)
	if errors.Is(err, gateway.ErrNoDelivery) {
		return nil
	}
	if err != nil {
		return err
	}
	d.Documents = nil // those of this reference are in the account already
	o.index[id] = len(o.Deliveries)
	o.Deliveries = append(o.Deliveries, d)
	return nil
}

// delivery finds one of the account's deliveries; nil if it is not there.
func (o *accountOutput) delivery(id uuid.UUID) *deliveryOutput {
	if i, ok := o.index[id]; ok {
		return &o.Deliveries[i]
	}
	return nil
}

// document finds one of the account's documents; nil if it is not there.
func (o *accountOutput) document(id uuid.UUID) *documentOutput {
	i := slices.IndexFunc(o.Documents, func(d documentOutput) bool { return d.ID == id })
	if i < 0 {
		return nil
	}
	return &o.Documents[i]
}

func lineOf(l dedup.Line) (lineOutput, error) {
	out := lineOutput{At: l.At.UTC(), Event: l.Kind, Epoch: l.Epoch, Delivery: l.Delivery, Document: l.Document, Raw: l.Raw, Late: l.Late, Node: l.Node, Detail: l.Detail}
	if err := json.Unmarshal(l.Detail, &out.detail); err != nil {
		return out, fmt.Errorf("reading the account: %w", err)
	}
	out.Signer = out.detail.Signer
	return out, nil
}

// arrival tells whether the line is a copy that came.
func (l *lineOutput) arrival() bool {
	switch l.Event {
	case string(dedup.First), string(dedup.Duplicate), string(dedup.Reuse), string(dedup.Drift), string(dedup.Amendment), string(dedup.Stale), dedup.Repeat:
		return true
	}
	return false
}

// answerTo is the receipt of an arrival: the one that its event names, or for a
// repeat that names none the one that is stored with the delivery.
func answerTo(l *lineOutput, d *deliveryOutput) *answerOutput {
	if !l.arrival() {
		return nil
	}
	if l.detail.Receipt != "" {
		answer := &answerOutput{MessageID: l.detail.Receipt, Disposition: l.detail.Disposition, MIC: l.detail.MIC}
		if d != nil {
			for _, r := range d.Receipts {
				if r.MessageID == answer.MessageID {
					answer.AsyncURL, answer.DeliveredAt = r.AsyncURL, r.DeliveredAt
					answer.Stored = r.CreatedAt.Before(l.At)
				}
			}
		}
		return answer
	}
	if l.Event != dedup.Repeat || d == nil || len(d.Receipts) != 1 {
		return nil
	}
	r := d.Receipts[0]
	return &answerOutput{MessageID: r.MessageID, Disposition: r.Disposition, MIC: r.MIC, AsyncURL: r.AsyncURL, DeliveredAt: r.DeliveredAt, Stored: true}
}
