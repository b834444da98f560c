package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"firstcopy/dedup/interchange"
	"firstcopy/gateway"
	"firstcopy/gateway/forward"
	"firstcopy/partners"
)

// deliveryOutput is a delivery with its digests and what belongs to it.
type deliveryOutput struct {
	gateway.DeliveryView
	Partner          string                  `json:"partner"`
	Payload          hash                    `json:"payload_sha256"`
	Signer           hash                    `json:"signer_sha256,omitempty"`
	Repeats          *int64                  `json:"repeats,omitempty"` // counted where one delivery is shown
	Receipts         []storedReceipt         `json:"receipts,omitempty"`
	Documents        []documentOutput        `json:"documents,omitempty"`
	Acknowledgements []acknowledgementOutput `json:"acknowledgements,omitempty"`
	signedBy         string
}

type storedReceipt struct{ gateway.ReceiptView }

func newDeliveryCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "delivery",
		Short: "What arrived and how it was answered: list, show, acknowledge",
	},
		newDeliveryListCommand(a),
		newDeliveryShowCommand(a),
		newDeliveryAcknowledgeCommand(a),
	)
}

func newDeliveryListCommand(a *app) *cobra.Command {
	var only chosen
	var since, messageID string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List accepted deliveries, the newest first",
		Long:  "Lists what was accepted. A message that failed leaves no delivery, only a line in the gateway's log.",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := parseSince(since, time.Now())
			if err != nil {
				return err
			}
			if err := checkLimit(limit); err != nil {
				return err
			}
			pool, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer pool.Close()
			partner, err := only.id(cmd.Context(), partners.NewStore(pool))
			if err != nil {
				return err
			}
			found, err := deliveriesBy(cmd.Context(), pool, gateway.DeliveryQuery{Partner: partner, TransportID: messageID, Since: from, Limit: limit})
			if err != nil {
				return err
			}
			names := partnersByID(cmd, pool)
			out := []deliveryOutput{}
			for _, d := range found {
				out = append(out, deliveryOf(d, names))
			}
			return a.print(cmd, out, func(w io.Writer) error { return listDeliveries(w, out) })
		},
	}
	only.flags(cmd)
	sinceFlag(cmd, &since, "deliveries")
	cmd.Flags().StringVar(&messageID, "message-id", "", "only with this Message-`ID`, or file, to the letter; its angle brackets may be left out")
	limitFlag(cmd, &limit)
	return cmd
}

// deliveriesBy also finds a Message-ID that was given without its brackets, or
// in the octets of its sender and not as the tables show it.
func deliveriesBy(ctx context.Context, pool *pgxpool.Pool, q gateway.DeliveryQuery) ([]gateway.DeliveryView, error) {
	given := q.TransportID
	for _, spelling := range []string{given, "<" + given + ">", interchange.Text([]byte(given))} {
		q.TransportID = spelling
		found, err := gateway.Deliveries(ctx, pool, q)
		if err != nil || len(found) > 0 || given == "" {
			return found, err
		}
	}
	return nil, nil
}

func deliveryOf(d gateway.DeliveryView, names registry) deliveryOutput {
	d.ReceivedAt = d.ReceivedAt.UTC()
	out := deliveryOutput{DeliveryView: d, Partner: names.name(d.PartnerID), Payload: d.PayloadHash, Signer: d.Signer, signedBy: "unsigned"}
	if d.Signer != nil {
		out.signedBy = names.signer(d.PartnerID, d.Signer)
	}
	return out
}

func listDeliveries(w io.Writer, all []deliveryOutput) error {
	t := newTable(w, "DELIVERY", "RECEIVED", "PARTNER", "CHANNEL", "MESSAGE-ID", "SIZE", "INTERCHANGES", "SIGNED", "ENCRYPTED", "NODE")
	for _, d := range all {
		t.row(d.ID, when(d.ReceivedAt), d.Partner, d.Channel, d.TransportID, size(d.PayloadSize), d.Interchanges, d.SignatureDigest, d.Cipher, d.Node)
	}
	return t.flush()
}

func newDeliveryShowCommand(a *app) *cobra.Command {
	var octets, acknowledgement bool
	var kind string
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a delivery, its receipts, acknowledgements and documents",
		Long: "Shows a delivery. With --receipt, the stored receipt is written to standard output octet for octet, header and body,\n" +
			"as the partner got it; with --acknowledgement, so are the functional acknowledgements of its interchanges.",
		Args: oneArgument("a delivery's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID(args[0], "delivery")
			if err != nil {
				return err
			}
			if kind != "" && !octets && !acknowledgement || (octets || acknowledgement) && a.json || octets && acknowledgement {
				return usagef("--kind goes with --receipt or --acknowledgement, of which there is one, and --receipt without --json")
			}
			pool, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer pool.Close()
			out, err := readDelivery(cmd.Context(), pool, partnersByID(cmd, pool), id)
			if errors.Is(err, gateway.ErrNoDelivery) {
				return withHint(err, "firstcopy delivery list shows them; one that failed or was never received is not among them")
			}
			if err != nil {
				return err
			}
			if acknowledgement {
				return out.writeAcknowledgement(cmd.OutOrStdout(), kind)
			}
			if octets {
				return out.writeReceipt(cmd.OutOrStdout(), kind)
			}
			return a.print(cmd, out, out.write)
		},
	}
	cmd.Flags().BoolVar(&octets, "receipt", false, "write the stored receipt's octets")
	cmd.Flags().BoolVar(&acknowledgement, "acknowledgement", false, "write the stored acknowledgements' octets")
	cmd.Flags().StringVar(&kind, "kind", "", "of several receipts or acknowledgements the one of this `KIND`")
	return cmd
}

// readDelivery reads a delivery with its receipts and documents.
func readDelivery(ctx context.Context, pool *pgxpool.Pool, names registry, id uuid.UUID) (deliveryOutput, error) {
	d, receipts, err := gateway.GetDelivery(ctx, pool, id)
	if err != nil {
		return deliveryOutput{}, err
	}
	docs, err := forward.OfDelivery(ctx, pool, id)
	if err != nil {
		return deliveryOutput{}, err
	}
	acknowledgements, err := forward.AcknowledgementsOf(ctx, pool, id)
	if err != nil {
		return deliveryOutput{}, err
	}
	out := deliveryOf(d, names)
	out.Acknowledgements = acknowledgementsOf(acknowledgements)
	out.Repeats = &out.DeliveryView.Repeats
	out.Documents = documentsOf(docs, names)
	for _, r := range receipts {
		r.CreatedAt = r.CreatedAt.UTC()
		if !r.DeliveredAt.IsZero() {
			r.DeliveredAt = r.DeliveredAt.UTC()
		}
		out.Receipts = append(out.Receipts, storedReceipt{r})
	}
	return out, nil
}

// writeReceipt writes a receipt's octets.
func (d *deliveryOutput) writeReceipt(w io.Writer, kind string) error {
	switch {
	case len(d.Receipts) == 0:
		return withHint(fmt.Errorf("delivery %s has no receipt", d.ID), "its sender asked for none")
	case kind == "" && len(d.Receipts) > 1:
		return &usageError{text: fmt.Sprintf("delivery %s has %d receipts", d.ID, len(d.Receipts)), hint: "choose one with " + d.kinds()}
	}
	for _, r := range d.Receipts {
		if kind == "" || r.Kind == kind {
			_, err := w.Write(r.Octets)
			return err
		}
	}
	return &usageError{text: fmt.Sprintf("delivery %s has no receipt of kind %q", d.ID, kind), hint: "there is " + d.kinds()}
}

func (d *deliveryOutput) kinds() string {
	s := ""
	for i, r := range d.Receipts {
		if i > 0 {
			s += " or "
		}
		s += fmt.Sprintf("--kind %q", r.Kind)
	}
	return s
}
