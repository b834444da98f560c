package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"firstcopy/gateway/forward"
)

// deed is a command that does something to one document.
type deed struct {
	use, short, long string
	done             string // "sent again"
	reason           bool   // a reason is required
	do               func(*forward.Desk, *cobra.Command, uuid.UUID, string, string) error
}

type deedOutput struct {
	Document uuid.UUID     `json:"document_id"`
	State    forward.State `json:"state"`
	Who      string        `json:"who"`
	Reason   string        `json:"reason"`
}

// newDeedCommand makes the command. What is done is an event of the document's
// reference, with who and why.
func newDeedCommand(a *app, d deed) *cobra.Command {
	var reason string
	var who actor
	cmd := &cobra.Command{
		Use:   d.use,
		Short: d.short,
		Long:  d.short + ".\n" + d.long + "\nThe act is recorded in the account of the document's reference.",
		Args:  oneArgument("a document's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID(args[0], "document")
			if err != nil {
				return err
			}
			if reason = strings.TrimSpace(reason); d.reason && reason == "" {
				return usagef("%s needs --reason TEXT: it goes into the account, for whoever asks later", cmd.CommandPath())
			}
			pool, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer pool.Close()
			out, err := a.perform(cmd, pool, d, deedOutput{Document: id, Who: who.name(), Reason: reason})
			if err != nil {
				return err
			}
			return a.print(cmd, out, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "document %s %s\n", id, d.done)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the account")
	who.flag(cmd)
	return cmd
}

func (a *app) perform(cmd *cobra.Command, pool *pgxpool.Pool, d deed, out deedOutput) (deedOutput, error) {
	desk, err := forward.NewDesk(pool, a.forwardAttempts(), hostName())
	if err != nil {
		return out, err
	}
	if err := d.do(desk, cmd, out.Document, out.Who, out.Reason); err != nil {
		return out, documentFault(err)
	}
	after, err := forward.Get(cmd.Context(), pool, out.Document)
	out.State = after.State
	return out, err
}

// documentFault adds what to do.
func documentFault(err error) error {
	if errors.Is(err, forward.ErrNoDocument) {
		return withHint(err, "firstcopy document list shows those that wait; firstcopy ledger show REFERENCE shows those of a reference")
	}
	if state, ok := errors.AsType[*forward.ErrState](err); ok {
		switch state.State {
		case forward.HeldState:
			return withHint(err, "it is held for a decision: firstcopy drift release or firstcopy drift discard")
		case forward.Pending:
			return withHint(err, "the outbox carries it: firstcopy document show %s tells how far it is", state.Document)
		default:
			return withHint(err, "firstcopy document show %s", state.Document)
		}
	}
	return err
}
