package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"firstcopy/gateway/forward"
	"firstcopy/partners"
)

// documentOutput is a document with its digests and its partner's name.
type documentOutput struct {
	forward.Document
	Partner string `json:"partner"`
	Raw     hash   `json:"raw_sha256"`
	Content hash   `json:"content_sha256"`
}

func documentOf(d forward.Document, names registry) documentOutput {
	d.CreatedAt = d.CreatedAt.UTC()
	if !d.ForwardedAt.IsZero() {
		d.ForwardedAt = d.ForwardedAt.UTC()
	}
	return documentOutput{Document: d, Partner: names.name(d.PartnerID), Raw: d.Raw, Content: d.Content}
}

func documentsOf(docs []forward.Document, names registry) []documentOutput {
	out := make([]documentOutput, len(docs))
	for i, d := range docs {
		out[i] = documentOf(d, names)
	}
	return out
}

func newDocumentCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "document",
		Short: "Documents on their way to the sinks: list, show, resend, cat",
	},
		newDocumentListCommand(a),
		newDocumentShowCommand(a),
		newDocumentResendCommand(a),
		newDocumentCatCommand(a),
	)
}

func newDocumentListCommand(a *app) *cobra.Command {
	var stuck, pending, held bool
	var only chosen
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the documents that wait",
		Long: "Lists documents that have not been forwarded, the oldest first: stuck ones, whose last attempt has failed, pending\n" +
			"ones, which the outbox carries, and held ones, which wait for a decision. Without a flag, all three.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var states []forward.State
			for _, s := range []struct {
				wanted bool
				state  forward.State
			}{{stuck, forward.StuckState}, {pending, forward.Pending}, {held, forward.HeldState}} {
				if s.wanted || !stuck && !pending && !held {
					states = append(states, s.state)
				}
			}
			docs, err := a.documentsInState(cmd, states, &only, limit)
			if err != nil {
				return err
			}
			return a.print(cmd, docs, func(w io.Writer) error { return listDocuments(w, docs) })
		},
	}
	cmd.Flags().BoolVar(&stuck, "stuck", false, "the last attempt failed")
	cmd.Flags().BoolVar(&pending, "pending", false, "on the way")
	cmd.Flags().BoolVar(&held, "held", false, "waiting for a decision")
	only.flags(cmd)
	limitFlag(cmd, &limit)
	return cmd
}

// documentsInState lists the documents of each state in turn.
func (a *app) documentsInState(cmd *cobra.Command, states []forward.State, only *chosen, limit int) ([]documentOutput, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	pool, err := a.open(cmd.Context())
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	partner, err := only.id(cmd.Context(), partners.NewStore(pool))
	if err != nil {
		return nil, err
	}
	names := partnersByID(cmd, pool)
	out := []documentOutput{}
	for _, state := range states {
		docs, err := forward.InState(cmd.Context(), pool, state, partner, limit-len(out))
		if err != nil {
			return nil, err
		}
		out = append(out, documentsOf(docs, names)...)
		if len(out) == limit {
			break
		}
	}
	return out, nil
}

func listDocuments(w io.Writer, docs []documentOutput) error {
	t := newTable(w, "DOCUMENT", "STATE", "SINCE", "PARTNER", "REFERENCE", "MESSAGES", "SIZE", "ATTEMPTS", "LAST ERROR")
	for _, d := range docs {
		t.row(d.ID, d.State, when(d.CreatedAt), d.Partner, d.Reference, summary(d.MessageTypes), size(d.Size), d.Attempts, brief(d.LastError))
	}
	return t.flush()
}

// summary lists message types, each once, with how often it occurs.
func summary(types []string) string {
	var order []string
	times := map[string]int{}
	for _, t := range types {
		if times[t]++; times[t] == 1 {
			order = append(order, t)
		}
	}
	for i, t := range order {
		if times[t] > 1 {
			order[i] = count(times[t], t, t)
		}
	}
	return strings.Join(order, ", ")
}

// brief keeps an error within a table: its beginning, which says what was
// tried, and its end, which says why it failed.
func brief(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:29]) + "…" + string(r[len(r)-50:])
	}
	return s
}

func newDocumentShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a document and its state",
		Args:  oneArgument("a document's id"),
		RunE: a.about("document", func(cmd *cobra.Command, pool *pgxpool.Pool, id uuid.UUID) error {
			d, err := forward.Get(cmd.Context(), pool, id)
			if err != nil {
				return documentFault(err)
			}
			out := documentOf(d, partnersByID(cmd, pool))
			return a.print(cmd, out, out.write)
		}),
	}
}

// write describes a document.
func (d *documentOutput) write(w io.Writer) error {
	fmt.Fprintf(w, "Document %s is %s\n\n", d.ID, d.State)
	t := newTable(w)
	t.pair("partner", d.Partner)
	t.pair("reference", fmt.Sprintf("%s, epoch %d", d.Reference, d.Epoch))
	t.pair("verdict", d.Verdict)
	for _, line := range lineageLines(d.Lineage) {
		t.pair(line.name, line.text)
	}
	t.pair("interchange", strings.Join(slices.DeleteFunc([]string{d.Standard, d.Version, summary(d.MessageTypes)}, empty), " "))
	t.pair("from", d.Sender)
	t.pair("to", d.Recipient)
	if len(d.Functions) > 0 {
		t.pair("functions", summary(d.Functions))
	}
	t.pair("test", yesNo(d.Test))
	if len(d.Irregular) > 0 {
		t.pair("irregular", strings.Join(d.Irregular, "; "))
	}
	t.pair("octets", fmt.Sprintf("%s, sha256 %x", size(d.Size), []byte(d.Raw)))
	t.pair("content", fmt.Sprintf("sha256 %x", []byte(d.Content)))
	if d.FileName != "" {
		t.pair("file name", d.FileName)
	}
	t.pair("delivery", fmt.Sprintf("%s, number %d of its interchanges", d.Delivery, d.Ordinal))
	t.pair("stored", when(d.CreatedAt))
	t.pair("attempts", d.Attempts)
	if d.LastError != "" {
		t.pair("last error", d.LastError)
	}
	if !d.ForwardedAt.IsZero() {
		t.pair("forwarded", when(d.ForwardedAt)+" to "+d.ForwardedTo)
	}
	return t.flush()
}

func empty(s string) bool { return s == "" }

func newDocumentCatCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "cat ID",
		Short: "Write a document's octets to standard output, as they came",
		Args:  oneArgument("a document's id"),
		RunE: a.about("document", func(cmd *cobra.Command, pool *pgxpool.Pool, id uuid.UUID) error {
			if _, err := forward.Get(cmd.Context(), pool, id); err != nil {
				return documentFault(err)
			}
			_, err := io.Copy(cmd.OutOrStdout(), forward.Octets(cmd.Context(), pool, id))
			return err
		}),
	}
}

// remaining is how long something still is, rounded up: a window that has just begun is not a day short.
func remaining(d time.Duration) string {
	for _, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute} {
		if d >= unit {
			return age((d + unit - 1).Truncate(unit))
		}
	}
	return age(d)
}

// age is how long ago something was, in the largest two units.
func age(d time.Duration) string {
	switch days := int(d.Hours()) / 24; {
	case days > 0:
		return count(days, "day", "days")
	case d >= time.Hour:
		return count(int(d.Hours()), "hour", "hours")
	case d >= time.Minute:
		return count(int(d.Minutes()), "minute", "minutes")
	}
	return count(int(d.Seconds()), "second", "seconds")
}
