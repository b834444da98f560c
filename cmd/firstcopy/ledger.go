package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/partners"
)

// keyOutput is a reference as the ledger holds it.
type keyOutput struct {
	ID        uuid.UUID       `json:"key_id"`
	PartnerID int64           `json:"partner_id"`
	Partner   string          `json:"partner"`
	Reference referenceOutput `json:"reference"`
	Besides   string          `json:"discriminant,omitempty"` // the interchange's date or content, if the agreement adds it
	Epoch     int             `json:"epoch"`                  // 1, or more after the partner's counter wrapped
	FirstSeen time.Time       `json:"first_seen_at"`
	Expires   time.Time       `json:"expires_at,omitzero"` // end of the window; left out if it has none
	Open      bool            `json:"open"`                // the window, now
	Document  uuid.UUID       `json:"document_id"`         // the first copy
	Raw       hash            `json:"raw_sha256"`
	Content   hash            `json:"content_sha256"`
}

type referenceOutput struct {
	Standard           string   `json:"standard"`
	Control            string   `json:"control_reference"`
	Sender             string   `json:"sender"`
	SenderQualifier    string   `json:"sender_qualifier"`
	Recipient          string   `json:"recipient"`
	RecipientQualifier string   `json:"recipient_qualifier"`
	MessageTypes       []string `json:"message_types"`
	Test               bool     `json:"test"`
}

func newLedgerCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "ledger",
		Short: "The account of every reference: show, search",
	},
		newLedgerShowCommand(a),
		newLedgerSearchCommand(a),
	)
}

func keyOf(k dedup.Key, names registry, now time.Time) keyOutput {
	r := k.Reference
	out := keyOutput{ID: k.ID, PartnerID: k.Partner, Partner: names.name(k.Partner), Epoch: k.Epoch, Besides: k.Discriminant,
		FirstSeen: k.FirstSeen.UTC(), Expires: k.Expires.UTC(), Open: now.Before(k.Expires), Document: k.Document, Raw: k.Raw, Content: k.Content,
		Reference: referenceOutput{Standard: string(r.Standard), Control: r.Control, Sender: r.Sender, SenderQualifier: r.SenderQualifier,
			Recipient: r.Recipient, RecipientQualifier: r.RecipientQualifier, MessageTypes: r.MessageTypes, Test: r.Test}}
	if k.Expires.Year() == 9999 { // how package dedup writes a window without an end
		out.Expires = time.Time{}
	}
	return out
}

// party is an identifier with its qualifier, as X12 has one.
func party(id, qualifier string) string {
	if qualifier == "" {
		return id
	}
	return id + " (qualifier " + qualifier + ")"
}

// sender is the sender. The number of an invoice in XML counts within its issuer's year, which stands for the qualifier.
func (r *referenceOutput) sender() string {
	if years := r.Standard == string(interchange.UBL) || r.Standard == string(interchange.CII); years && r.SenderQualifier != "" {
		return r.Sender + " (year " + r.SenderQualifier + ")"
	}
	return party(r.Sender, r.SenderQualifier)
}

// search finds references, also by a control reference written otherwise than
// the ledger does: in its sender's octets, or an X12 number without its zeros.
func search(ctx context.Context, pool *pgxpool.Pool, q dedup.Query) ([]dedup.Key, error) {
	given := q.Reference
	spellings := []string{given, interchange.Text([]byte(given))}
	if digits := strings.TrimLeft(given, "0123456789") == ""; digits && len(given) < 9 {
		spellings = append(spellings, strings.Repeat("0", 9-len(given))+given)
	}
	for _, spelling := range spellings {
		q.Reference = spelling
		keys, err := dedup.Search(ctx, pool, q)
		if err != nil || len(keys) > 0 || given == "" {
			return keys, err
		}
	}
	return nil, nil
}

func newLedgerSearchCommand(a *app) *cobra.Command {
	var only chosen
	var q dedup.Query
	var digest, since string
	cmd := &cobra.Command{
		Use:     "search",
		Short:   "Find references, the newest first",
		Example: "  firstcopy ledger search --partner acme --since 7d\n  firstcopy ledger search --document 4711\n  firstcopy ledger search --hash $(sha256sum <invoice.edi | cut -d' ' -f1)",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if q.Hash, err = parseHash(digest); err != nil {
				return err
			}
			if q.Since, err = parseSince(since, time.Now()); err != nil {
				return err
			}
			if err := checkLimit(q.Limit); err != nil {
				return err
			}
			pool, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer pool.Close()
			if q.Partner, err = only.id(cmd.Context(), partners.NewStore(pool)); err != nil {
				return err
			}
			keys, err := search(cmd.Context(), pool, q)
			if err != nil {
				return err
			}
			names := partnersByID(cmd, pool)
			out := []keyOutput{}
			for _, k := range keys {
				out = append(out, keyOf(k, names, time.Now()))
			}
			return a.print(cmd, out, func(w io.Writer) error { return listKeys(w, out) })
		},
	}
	cmd.Flags().StringVar(&digest, "hash", "", "only with this SHA-256 (`HEX`) of an interchange's octets, or of a whole payload's")
	cmd.Flags().StringVar(&q.Reference, "reference", "", "only with this control `REFERENCE`")
	cmd.Flags().StringVar(&q.Document, "document", "", "only with this `NUMBER` of a business document inside, or of one that it replaces, changes or cancels")
	only.flags(cmd)
	sinceFlag(cmd, &since, "references first seen")
	limitFlag(cmd, &q.Limit)
	return cmd
}

func listKeys(w io.Writer, keys []keyOutput) error {
	t := newTable(w, "REFERENCE", "PARTNER", "STANDARD", "SENDER", "RECIPIENT", "MESSAGES", "TEST", "EPOCH", "FIRST SEEN", "PROTECTED UNTIL", "OCTETS")
	for _, k := range keys {
		r := k.Reference
		t.row(r.Control, k.Partner, r.Standard, r.Sender, r.Recipient, summary(r.MessageTypes), yesNo(r.Test), k.Epoch, when(k.FirstSeen), k.until(), k.Raw.short())
	}
	return t.flush()
}

func (k *keyOutput) until() string {
	if k.Expires.IsZero() {
		return "for ever"
	}
	return when(k.Expires)
}
