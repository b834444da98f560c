package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/dedup/interchange/difference"
	"firstcopy/gateway/forward"
)

// driftOutput is a held document beside what was accepted in its place.
type driftOutput struct {
	Held     documentOutput      `json:"held"`
	Accepted *documentOutput     `json:"accepted"` // null if there is nothing to compare it with
	Unit     string              `json:"unit"`     // segment or line
	Changes  [][]difference.Edit `json:"changes"`  // with three units around each
	Equal    bool                `json:"equal"`    // but for line breaks, separators and the like
	Cut      bool                `json:"cut"`      // one of the two is too long to be compared whole
}

// maxCompared bounds the octets of each content that are compared.
const maxCompared = 16 << 20

// around is how many equal units are shown beside different ones.
const around = 3

func newDriftShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show where a held document differs from the accepted one",
		Long: "Compares a held document with the first copy under its reference, or, if its documents came too late, with the newest of\n" +
			"their numbers: segment by segment for EDIFACT and X12, else line by line. Lines with - are of the accepted content alone,\n" +
			"lines with + of the held one. Separators, releases and line breaks are no difference.",
		Args: oneArgument("a document's id"),
		RunE: a.about("document", func(cmd *cobra.Command, pool *pgxpool.Pool, id uuid.UUID) error {
			out, err := compareHeld(cmd.Context(), pool, partnersByID(cmd, pool), id)
			if err != nil {
				return documentFault(err)
			}
			return a.print(cmd, out, out.write)
		}),
	}
}

func compareHeld(ctx context.Context, pool *pgxpool.Pool, names registry, id uuid.UUID) (driftOutput, error) {
	held, err := forward.Get(ctx, pool, id)
	if err != nil {
		return driftOutput{}, err
	}
	out := driftOutput{Held: documentOf(held, names), Unit: "line", Changes: [][]difference.Edit{}}
	other, err := dedup.Counterpart(ctx, pool, held.Reference, held.Key, held.ID)
	if err != nil || other == uuid.Nil {
		return out, err
	}
	accepted, err := forward.Get(ctx, pool, other)
	if err != nil {
		return out, err
	}
	shown := documentOf(accepted, names)
	out.Accepted = &shown
	return out, out.compare(ctx, pool)
}

func (o *driftOutput) compare(ctx context.Context, pool *pgxpool.Pool) error {
	before, cutBefore, segmentsBefore, err := unitsOf(ctx, pool, o.Accepted.ID)
	if err != nil {
		return err
	}
	after, cutAfter, segmentsAfter, err := unitsOf(ctx, pool, o.Held.ID)
	if err != nil {
		return err
	}
	if segmentsBefore && segmentsAfter {
		o.Unit = "segment"
	}
	o.Cut = cutBefore || cutAfter
	if hunks := difference.Hunks(difference.Between(before, after), around); len(hunks) > 0 {
		o.Changes = hunks
	}
	o.Equal = len(o.Changes) == 0 && !o.Cut
	return nil
}

// unitsOf reads a document's octets, as many as are compared, and takes them apart.
func unitsOf(ctx context.Context, pool *pgxpool.Pool, id uuid.UUID) (units []difference.Unit, cut, segments bool, err error) {
	octets, err := io.ReadAll(io.LimitReader(forward.Octets(ctx, pool, id), maxCompared+1))
	if err != nil {
		return nil, false, false, err
	}
	if cut = len(octets) > maxCompared; cut {
		octets = octets[:maxCompared]
	}
	separators, err := separatorsOf(octets)
	if err != nil {
		return nil, false, false, err
	}
	units, whole := difference.Split(octets, separators)
	return units, cut || !whole, separators.Terminator != 0, nil
}

func (o *driftOutput) write(w io.Writer) error {
	fmt.Fprintf(w, "Document %s of partner %s, reference %s, %s\n", o.Held.ID, o.Held.Partner, printable(o.Held.Reference), standing(&o.Held))
	for _, line := range lineageLines(o.Held.Lineage) {
		fmt.Fprintf(w, "  %s %s\n", line.name, printable(line.text))
	}
	if o.Accepted == nil {
		_, err := fmt.Fprintln(w, "Nothing was accepted in its place that it could be compared with.")
		return err
	}
	fmt.Fprintf(w, "Document %s, reference %s, %s\n\n", o.Accepted.ID, printable(o.Accepted.Reference), standing(o.Accepted))
	fmt.Fprintf(w, "--- accepted %s\n+++ %s %s\n", o.Accepted.ID, o.Held.State, o.Held.ID)
	for _, hunk := range o.Changes {
		fmt.Fprintf(w, "@@ %s %d @@\n", o.Unit, hunk[0].At)
		for _, e := range hunk {
			fmt.Fprintf(w, "%s %s\n", e.Op, printable(e.Text))
		}
	}
	if o.Equal {
		fmt.Fprintln(w, "They differ in line breaks, separators, or the dates of their envelopes alone.")
	}
	if o.Cut {
		fmt.Fprintf(w, "\nThey are too long to be compared whole: only the first %s and %d %ss of each were.\n", size(maxCompared), difference.MaxUnits, o.Unit)
	}
	return nil
}

// standing is how a document came, and how it stands: only being held began when it arrived.
func standing(d *documentOutput) string {
	if d.State == forward.HeldState {
		return fmt.Sprintf("is held as %s since %s", d.Verdict, when(d.CreatedAt))
	}
	return fmt.Sprintf("arrived %s as %s, is now %s", when(d.CreatedAt), d.Verdict, d.State)
}

// separatorsOf finds the service characters that a content begins with.
func separatorsOf(octets []byte) (interchange.Separators, error) {
	found, err := interchange.Scan(bytes.NewReader(octets[:min(len(octets), 64<<10)]))
	if err != nil || len(found) == 0 {
		return interchange.Separators{}, err
	}
	return found[0].Separators, nil
}
