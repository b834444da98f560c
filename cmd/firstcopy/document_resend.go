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
	"firstcopy/partners"
)

// resend is one call of the command: one document, or all that are stuck.
type resend struct {
	stuck  bool
	only   chosen
	limit  int
	who    actor
	reason string
}

func newDocumentResendCommand(a *app) *cobra.Command {
	var r resend
	cmd := &cobra.Command{
		Use:   "resend {ID | --stuck}",
		Short: "Forward a stuck or forwarded document again, or all stuck ones, under their old ids",
		Long: "Forwards a stuck or forwarded document again; with --stuck, all that are stuck, the oldest first, as after a sink was\n" +
			"down for long. The sink gets each under the id it had, so that a consumer which has it already can tell.\n" +
			"The act is recorded in the account of each document's reference.",
		Args: func(cmd *cobra.Command, args []string) error {
			if r.stuck {
				return noArguments(cmd, args)
			}
			return oneArgument("a document's id, or --stuck")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.reason = strings.TrimSpace(r.reason); r.stuck {
				return a.resendStuck(cmd, &r)
			}
			if r.only.name != "" {
				return usagef("--partner goes with --stuck")
			}
			id, err := parseID(args[0], "document")
			if err != nil {
				return err
			}
			pool, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer pool.Close()
			out, err := a.resendAll(cmd, pool, []uuid.UUID{id}, &r)
			if err != nil {
				return err
			}
			return a.print(cmd, out[0], func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "document %s is on its way again\n", id)
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&r.stuck, "stuck", false, "all documents whose last attempt has failed")
	cmd.Flags().StringVar(&r.reason, "reason", "", "why, for the account")
	r.only.flags(cmd)
	limitFlag(cmd, &r.limit)
	r.who.flag(cmd)
	return cmd
}

func (a *app) resendStuck(cmd *cobra.Command, r *resend) error {
	if err := checkLimit(r.limit); err != nil {
		return err
	}
	pool, err := a.open(cmd.Context())
	if err != nil {
		return err
	}
	defer pool.Close()
	partner, err := r.only.id(cmd.Context(), partners.NewStore(pool))
	if err != nil {
		return err
	}
	docs, err := forward.InState(cmd.Context(), pool, forward.StuckState, partner, r.limit)
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, len(docs))
	for i := range docs {
		ids[i] = docs[i].ID
	}
	out, err := a.resendAll(cmd, pool, ids, r)
	if err != nil {
		return err
	}
	return a.print(cmd, out, func(w io.Writer) error {
		words := "no document is stuck"
		if len(out) > 0 {
			words = count(len(out), "document is", "documents are") + " on the way again"
		}
		if len(docs) == r.limit {
			words += fmt.Sprintf("; there may be more, since --limit is %d", r.limit)
		}
		_, err := fmt.Fprintln(w, words)
		return err
	})
}

// resendAll sends documents again, each in a transaction of its own. Of several, those that somebody else has sent again
// meanwhile are passed over.
func (a *app) resendAll(cmd *cobra.Command, pool *pgxpool.Pool, ids []uuid.UUID, r *resend) ([]deedOutput, error) {
	desk, err := forward.NewDesk(pool, a.forwardAttempts(), hostName())
	if err != nil {
		return nil, err
	}
	out := []deedOutput{}
	for _, id := range ids {
		err := desk.Resend(cmd.Context(), id, r.who.name(), r.reason)
		if _, moved := errors.AsType[*forward.ErrState](err); moved && r.stuck {
			continue
		}
		if err != nil {
			return out, documentFault(err)
		}
		out = append(out, deedOutput{Document: id, State: forward.Pending, Who: r.who.name(), Reason: r.reason})
	}
	return out, nil
}
