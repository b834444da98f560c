package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/dedup"
	"firstcopy/gateway/forward"
)

// useOutput is one time that a document number was used.
type useOutput struct{ dedup.Use }

// lineageOf reads what became of the numbers of the given documents.
func lineageOf(ctx context.Context, pool *pgxpool.Pool, docs []forward.Document) ([]useOutput, error) {
	ids := make([]uuid.UUID, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	uses, err := dedup.Chain(ctx, pool, ids...)
	if err != nil {
		return nil, err
	}
	out := make([]useOutput, len(uses))
	for i, u := range uses {
		u.Seen = u.Seen.UTC()
		out[i] = useOutput{u}
	}
	return out, nil
}

// byColumn is the place of the number of the document that was the use, where any has another than what it is about.
const byColumn = 3

// writeLineage writes the chain of every number that was used more than once:
// an original that nothing followed has no story.
func writeLineage(w io.Writer, uses []useOutput) error {
	var told []useOutput
	for i, u := range uses {
		if !single(uses, i) {
			told = append(told, u)
		}
	}
	if len(told) == 0 {
		return nil
	}
	columns := []string{"DOCUMENT NUMBER", "SEEN", "REFERENCE", "FUNCTION", "VERSION", "DATE", "RELATION", "STANDING", "DOCUMENT"}
	others := slices.ContainsFunc(told, func(u useOutput) bool { return u.By != u.Number })
	if others {
		columns = slices.Insert(columns, byColumn, "BY")
	}
	t := newTable(w, columns...)
	for _, u := range told {
		cells := []any{u.Family + " " + u.Number, whenExactly(u.Seen), u.Reference, u.Function, u.Revision, u.Date, u.Relation, u.standing(), u.Document}
		if others {
			cells = slices.Insert(cells, byColumn, any(u.by()))
		}
		t.row(cells...)
	}
	if err := t.flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// single tells whether a use is the only one of its number, and nothing but an original.
func single(uses []useOutput, i int) bool {
	same := func(j int) bool {
		return j >= 0 && j < len(uses) && uses[j].Number == uses[i].Number && uses[j].Family == uses[i].Family && uses[j].Standard == uses[i].Standard
	}
	return !same(i-1) && !same(i+1) && uses[i].Relation == "original"
}

// by is the number of a document that is about another's.
func (u *useOutput) by() string {
	if u.By == u.Number {
		return ""
	}
	return u.By
}

func (u *useOutput) standing() string {
	switch state := forward.State(u.State); {
	case u.Newest:
		return "newest"
	case u.Forwarded:
		return "forwarded"
	case state == forward.HeldState, state == forward.DiscardState:
		return u.State
	}
	return "not forwarded"
}

type namedLine struct{ name, text string }

// lineageLines describe what is told of an interchange's documents.
func lineageLines(l *dedup.Lineage) []namedLine {
	if l == nil {
		return nil
	}
	var lines []namedLine
	for _, s := range l.Supersedes {
		lines = append(lines, namedLine{relationTo(l, s), fmt.Sprintf("%s, document %s", s.Number, s.Document)})
	}
	if len(l.Stale) > 0 {
		lines = append(lines, namedLine{"stale", strings.Join(l.Stale, ", ")})
	}
	if len(l.Flags) > 0 {
		lines = append(lines, namedLine{"flags", join(l.Flags, ", ")})
	}
	return lines
}

// relationTo is what an interchange does to a document: supersedes, changes or cancels.
func relationTo(l *dedup.Lineage, s dedup.Superseded) string {
	for _, r := range l.Documents {
		if slices.Contains(r.Supersedes, s) {
			return r.Relation
		}
	}
	return "supersedes"
}

// maxNamed bounds the numbers that one line names.
const maxNamed = 5

// amends says in one line what an amendment does to which numbers.
func amends(l *dedup.Lineage) string {
	numbers := map[string][]string{}
	if l != nil {
		for _, s := range l.Supersedes {
			relation := relationTo(l, s)
			if !slices.Contains(numbers[relation], s.Number) {
				numbers[relation] = append(numbers[relation], s.Number)
			}
		}
	}
	var parts []string
	for _, relation := range []string{"supersedes", "changes", "cancels"} {
		named := numbers[relation]
		if more := len(named) - maxNamed; more > 0 {
			named = append(named[:maxNamed:maxNamed], fmt.Sprintf("%d more", more))
		}
		if len(named) > 0 {
			parts = append(parts, relation+" "+strings.Join(named, ", "))
		}
	}
	if parts == nil {
		return "replaces, changes or cancels what is known"
	}
	return strings.Join(parts, ", ")
}

func explainLineage(l *dedup.Lineage) []string {
	var texts []string
	for _, line := range lineageLines(l) {
		texts = append(texts, line.name+" "+line.text)
	}
	return texts
}
