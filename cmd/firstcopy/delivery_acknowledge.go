package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"firstcopy/gateway"
	"firstcopy/gateway/forward"
	"firstcopy/partners"
)

type acknowledgeOutput struct {
	Delivery         uuid.UUID `json:"delivery_id"`
	Acknowledgements int       `json:"acknowledgements"` // on their way
	Who              string    `json:"who"`
	Reason           string    `json:"reason"`
}

func newDeliveryAcknowledgeCommand(a *app) *cobra.Command {
	var reason string
	var who actor
	cmd := &cobra.Command{
		Use:   "acknowledge ID",
		Short: "Send the stored acknowledgements of a delivery once more",
		Long: "Sends what a delivery's interchanges were answered with once more, octet for octet, by the agreement as it is now: also\n" +
			"what is stuck, and what had no address when it was composed. The act is recorded in the account of each reference.",
		Args: oneArgument("a delivery's id"),
		RunE: a.about("delivery", func(cmd *cobra.Command, pool *pgxpool.Pool, id uuid.UUID) error {
			d, _, err := gateway.GetDelivery(cmd.Context(), pool, id)
			if err != nil {
				return err
			}
			agreements, err := partners.NewStore(pool).List(cmd.Context())
			if err != nil {
				return err
			}
			desk, err := forward.NewDesk(pool, a.forwardAttempts(), hostName())
			if err != nil {
				return err
			}
			for i := range agreements {
				if agreements[i].ID != d.PartnerID {
					continue
				}
				out := acknowledgeOutput{Delivery: id, Who: who.name(), Reason: strings.TrimSpace(reason)}
				if out.Acknowledgements, err = desk.Acknowledge(cmd.Context(), id, &agreements[i], out.Who, out.Reason); err != nil {
					return acknowledgeFault(err)
				}
				return a.print(cmd, out, out.write)
			}
			return withHint(fmt.Errorf("delivery %s: its partner has no live agreement", id), "apply one again: firstcopy partner apply")
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the account")
	who.flag(cmd)
	return cmd
}

// acknowledgeFault tells what to agree on when there is nowhere to send to.
func acknowledgeFault(err error) error {
	none, ok := errors.AsType[*forward.ErrNoAddress](err)
	if !ok {
		return err
	}
	key := "as2.url"
	if none.Channel == gateway.SFTP {
		key = "sftp.folders.acknowledgement"
	}
	return withHint(err, "add %s to the agreement, apply, and repeat", key)
}

func (o *acknowledgeOutput) write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "delivery %s: %s on the way\n", o.Delivery, count(o.Acknowledgements, "acknowledgement", "acknowledgements"))
	return err
}
