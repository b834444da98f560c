package main

import (
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"firstcopy/gateway/forward"
)

func newDriftCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "drift",
		Short: "What is held for a decision, new content under a known reference or documents that came too late: list, show, release, discard",
	},
		newDriftListCommand(a),
		newDriftShowCommand(a),
		newDeedCommand(a, deed{
			use: "release ID", short: "Forward a held document", done: "is released and on its way", reason: true,
			long: "For content that is legitimate: the partner used the reference again, or sent a correction under it.",
			do: func(d *forward.Desk, cmd *cobra.Command, id uuid.UUID, who, reason string) error {
				return d.Release(cmd.Context(), id, who, reason)
			},
		}),
		newDeedCommand(a, deed{
			use: "discard ID", short: "Drop a held document", done: "is discarded; its octets and its account stay", reason: true,
			long: "For content that must not be forwarded. Further copies of it are duplicates of the discarded one.",
			do: func(d *forward.Desk, cmd *cobra.Command, id uuid.UUID, who, reason string) error {
				return d.Discard(cmd.Context(), id, who, reason)
			},
		}),
	)
}

func newDriftListCommand(a *app) *cobra.Command {
	var only chosen
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what is held, the oldest first",
		Long: "Lists the documents that are held: drift, which is other content than before under the same reference, inside the partner's\n" +
			"window; stale ones, which are older than what has been forwarded of them; and, by agreement, duplicates in another interchange.\n" +
			"Compare them (firstcopy drift show), ask the partner, then release or discard each.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			docs, err := a.documentsInState(cmd, []forward.State{forward.HeldState}, &only, limit)
			if err != nil {
				return err
			}
			return a.print(cmd, docs, func(w io.Writer) error {
				t := newTable(w, "DOCUMENT", "VERDICT", "HELD SINCE", "FOR", "PARTNER", "REFERENCE", "MESSAGES", "SIZE", "OCTETS")
				for _, d := range docs {
					t.row(d.ID, d.Verdict, when(d.CreatedAt), age(time.Since(d.CreatedAt)), d.Partner, d.Reference, summary(d.MessageTypes), size(d.Size), d.Raw.short())
				}
				return t.flush()
			})
		},
	}
	only.flags(cmd)
	limitFlag(cmd, &limit)
	return cmd
}
