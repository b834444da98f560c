package dedup_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/internal/pgtest"
)

// shelf is the model's state for porcupine: an archive that is never changed, and what tells it from others.
type shelf struct {
	archive archive
	story   string
}

func (s shelf) take(p paper) (dedup.Verdict, shelf) {
	next := shelf{archive: archive{uses: map[string][]*use{}, seen: maps.Clone(s.archive.seen), docs: s.archive.docs}}
	for number, uses := range s.archive.uses {
		next.archive.uses[number] = slices.Clone(uses)
	}
	verdict := next.archive.take(p)
	next.story = s.story + fmt.Sprintf("%s %s %s %s;", p.effect, p.content, p.date, verdict)
	return verdict, next
}

// linearLineage is the lineage of one number as seen by one client at a time.
var linearLineage = porcupine.Model{
	Partition: partition(func(p paper) string { return p.number }),
	Init:      func() any { return shelf{archive: archive{uses: map[string][]*use{}, seen: map[string][]string{}}} },
	Step: func(state, input, output any) (bool, any) {
		verdict, next := state.(shelf).take(input.(paper))
		return verdict == output.(dedup.Verdict), next
	},
	Equal:             func(a, b any) bool { return a.(shelf).story == b.(shelf).story },
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %v", input, output) },
}

// Workers register overlapping payloads of originals, replacements and cancels in any order, some roll back: the verdicts on each
// number are those of some order one after the other, nobody deadlocks, and each chain is whole.
func TestConcurrentLineageIsLinearizable(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	const workers, rounds, numbers = 8, 40, 10
	var references atomic.Int64
	history := concurrently(t, pool, workers, rounds, func(random *rand.Rand) (papers []paper, entries []dedup.Entry) {
		for _, n := range random.Perm(numbers)[:1+random.IntN(3)] {
			p := paper{ref: fmt.Sprint("R", references.Add(1)), number: fmt.Sprint("N", n), content: fmt.Sprint(random.IntN(50)),
				effect: []interchange.Effect{interchange.New, interchange.Supersede, interchange.Supersede, interchange.Cancel}[random.IntN(4)],
				date:   fmt.Sprint(20261201 + random.IntN(28))}
			papers, entries = append(papers, p), append(entries, p.entry(0))
		}
		return papers, entries
	})
	linearizable(t, linearLineage, history)
	if broken := column[string](t, pool, `SELECT number FROM document_lineage GROUP BY number
		HAVING max(seq) <> count(*) OR coalesce(max(rank), 0) <> count(*) FILTER (WHERE rank > 0) OR count(DISTINCT rank) FILTER (WHERE rank > 0)
		<> count(*) FILTER (WHERE rank > 0)`); len(broken) > 0 {
		t.Errorf("chains with gaps or ties: %v", broken)
	}
	if n := column[int64](t, pool, `SELECT count(*) FROM document_lineage WHERE relation <> 'reserved'`)[0]; n != int64(len(history)) {
		t.Errorf("%d uses are recorded, want %d", n, len(history))
	}
}

// Payloads that hold the same references and numbers in opposite orders end one after the other.
func TestOppositePayloadsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for round := range 30 {
		var wait sync.WaitGroup
		for w := range 4 {
			wait.Go(func() {
				var entries []dedup.Entry
				for i := range 6 {
					n := i
					if w%2 == 1 {
						n = 5 - i
					}
					p := paper{ref: fmt.Sprint("R", round, "-", n), number: fmt.Sprint("N", round, "-", 5-n, "-", w), content: fmt.Sprint(n), effect: interchange.New}
					entries = append(entries, p.entry(0))
				}
				if _, err := tryRegister(context.Background(), pool, registration(1, entries...), true); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		wait.Wait()
	}
}

// Payloads of plain originals meet in numbers that nobody knew: several interchanges each, one with several, and an amendment
// among originals. Whatever order they name them in, all end.
func TestNewNumbersInOppositeOrdersDoNotDeadlock(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	var references atomic.Int64
	for round := range 30 {
		var wait sync.WaitGroup
		for w := range 4 {
			wait.Go(func() {
				random := rand.New(rand.NewPCG(uint64(round), uint64(w)))
				var entries []dedup.Entry
				for _, n := range random.Perm(8) {
					p := paper{ref: fmt.Sprint("R", references.Add(1)), number: fmt.Sprint("N", round, "-", n), content: fmt.Sprint(w), effect: interchange.New}
					if w == 3 && n%3 == 0 {
						p.effect, p.about = interchange.Supersede, []string{fmt.Sprint("N", round, "-", 7-n)}
					}
					entries = append(entries, p.entry(0))
				}
				if w == 2 {
					for i := range entries[1:] {
						entries[0].Messages = append(entries[0].Messages, entries[i+1].Messages...)
					}
					entries = entries[:1]
				}
				if _, err := tryRegister(context.Background(), pool, registration(1, entries...), true); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		wait.Wait()
	}
	if broken := column[string](t, pool, `SELECT number FROM document_lineage GROUP BY number HAVING max(seq) <> count(*)
		OR count(*) FILTER (WHERE relation <> 'reserved') < 4`); len(broken) > 0 {
		t.Errorf("numbers with gaps: %v", broken)
	}
}

// A payload with one numbered interchange beside one without a number, and payloads with two, take numbers and references in the
// same order.
func TestOneNumberBesideAPlainInterchangeDoesNotDeadlock(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for round := range 60 {
		var wait sync.WaitGroup
		for w := range 4 {
			wait.Go(func() {
				plain := paper{ref: fmt.Sprint("U", round), content: "u"}
				number := paper{ref: fmt.Sprint("D", round, "-", w), number: fmt.Sprint("N", round), content: fmt.Sprint(w), effect: interchange.New}
				entries := []dedup.Entry{plain.entry(0), number.entry(0)}
				if w%2 == 1 {
					other := paper{ref: fmt.Sprint("E", round, "-", w), number: fmt.Sprint("O", round, "-", w), content: "o", effect: interchange.New}
					entries = append(entries, other.entry(0))
				}
				if _, err := tryRegister(context.Background(), pool, registration(1, entries...), true); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		wait.Wait()
	}
}
