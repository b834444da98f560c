package dedup_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/dedup"
	"firstcopy/internal/pgtest"
)

type copied struct {
	reference, content string
}

// sequential is the ledger as seen by one client at a time, without passing time: porcupine looks for an order of the
// concurrent operations on each reference that it would have allowed.
var sequential = porcupine.Model{
	Partition: partition(func(c copied) string { return c.reference }),
	Init:      func() any { return "" }, // the contents seen, one letter each
	Step: func(state, input, output any) (bool, any) {
		seen, content, verdict := state.(string), input.(copied).content, output.(dedup.Verdict)
		switch {
		case seen == "":
			return verdict == dedup.First, content
		case strings.Contains(seen, content):
			return verdict == dedup.Duplicate, seen
		default:
			return verdict == dedup.Drift, seen + content
		}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprint(input, " -> ", output) },
}

// partition cuts a history by what operations have in common.
func partition[I any](by func(I) string) func([]porcupine.Operation) [][]porcupine.Operation {
	return func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := by(op.Input.(I))
			parts[key] = append(parts[key], op)
		}
		return slices.Collect(maps.Values(parts))
	}
}

// concurrently has workers register what is drawn for them, round after round, of which one in five is rolled back, and returns the
// history of what was committed: an operation an entry.
func concurrently[I any](t *testing.T, pool *pgxpool.Pool, workers, rounds int, draw func(*rand.Rand) ([]I, []dedup.Entry)) (history []porcupine.Operation) {
	t.Helper()
	var mu sync.Mutex
	start := time.Now()
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 7))
			for range rounds {
				inputs, entries := draw(random)
				commit := random.IntN(5) > 0
				call := time.Since(start).Nanoseconds()
				decisions, err := tryRegister(context.Background(), pool, registration(1, entries...), commit)
				returned := time.Since(start).Nanoseconds()
				if err != nil {
					t.Error(err)
					return
				}
				if !commit {
					continue
				}
				mu.Lock()
				for i, d := range decisions {
					history = append(history, porcupine.Operation{ClientId: w, Input: inputs[i], Output: d.Verdict, Call: call, Return: returned})
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return history
}

func linearizable(t *testing.T, model porcupine.Model, history []porcupine.Operation) {
	t.Helper()
	if result, info := porcupine.CheckOperationsVerbose(model, history, time.Minute); result != porcupine.Ok {
		t.Errorf("history of %d operations is not linearizable: %v %v", len(history), result, info)
	}
}

// Workers register overlapping bundles in any order, some roll back: the committed verdicts on each reference are those
// of some order one after the other, and nobody deadlocks.
func TestConcurrentVerdictsAreLinearizable(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	const workers, rounds, references = 8, 60, 12
	history := concurrently(t, pool, workers, rounds, func(random *rand.Rand) (ops []copied, entries []dedup.Entry) {
		for _, k := range random.Perm(references)[:1+random.IntN(4)] {
			op := copied{fmt.Sprint("R", k), string("abc"[random.IntN(3)])}
			e := entry(reference(op.reference), op.content, op.content, fortnight)
			e.Seen = random.IntN(2) == 0
			ops, entries = append(ops, op), append(entries, e)
		}
		return ops, entries
	})
	linearizable(t, sequential, history)
	firsts := column[int64](t, pool, `SELECT count(*) FROM ledger_event WHERE kind = 'first' GROUP BY key_id`)
	for _, n := range firsts {
		if n != 1 {
			t.Errorf("a reference has %d first copies", n)
		}
	}
	if len(firsts) != references {
		t.Errorf("%d references have a first copy, want %d", len(firsts), references)
	}
}

// Copies that all guess the reference to be known, while it becomes so: the guess must not be taken for knowledge, and a copy
// that looks while another commits must not be taken for drift.
func TestAWrongGuessDecidesNothing(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for round := range 60 {
		verdicts := make(chan dedup.Verdict, 12)
		var wait sync.WaitGroup
		for range cap(verdicts) {
			wait.Go(func() {
				e := entry(reference(fmt.Sprint("R", round)), "a", "a", fortnight)
				e.Seen = true
				decisions, err := tryRegister(context.Background(), pool, registration(1, e), true)
				if err != nil {
					t.Error(err)
					return
				}
				verdicts <- decisions[0].Verdict
			})
		}
		wait.Wait()
		close(verdicts)
		counts := map[dedup.Verdict]int{}
		for v := range verdicts {
			counts[v]++
		}
		if counts[dedup.First] != 1 || counts[dedup.Duplicate] != 11 {
			t.Fatalf("round %d: %v", round, counts)
		}
	}
}

// Many nodes see the window of a reference end at once: one of them arms the next epoch.
func TestOneConcurrentReuseWins(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	register(t, pool, 1, entry(reference("R"), "old", "old", fortnight))
	pass(t, pool, fortnight+time.Hour)
	verdicts := make(chan dedup.Decision, 16)
	var wait sync.WaitGroup
	for range cap(verdicts) {
		wait.Go(func() {
			decisions, err := tryRegister(context.Background(), pool, registration(1, entry(reference("R"), "new", "new", fortnight)), true)
			if err != nil {
				t.Error(err)
				return
			}
			verdicts <- decisions[0]
		})
	}
	wait.Wait()
	close(verdicts)
	counts := map[dedup.Verdict]int{}
	for d := range verdicts {
		counts[d.Verdict]++
		if d.Epoch != 2 {
			t.Errorf("%s in epoch %d, want 2", d.Verdict, d.Epoch)
		}
	}
	if counts[dedup.Reuse] != 1 || counts[dedup.Duplicate] != 15 {
		t.Errorf("got %v, want one reuse and 15 duplicates", counts)
	}
}

// While one transaction holds a new reference, a copy waits for it, and a lock timeout ends the wait without a verdict.
func TestWaitingCopyIsBounded(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	ctx := context.Background()
	tx, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx)
	if _, err := registration(1, entry(reference("R"), "a", "a", fortnight)).Register(ctx, tx); err != nil {
		t.Fatal(err)
	}
	other, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback(ctx)
	if _, err := other.Exec(ctx, `SET LOCAL lock_timeout = '50ms'`); err != nil {
		t.Fatal(err)
	}
	if d, err := registration(1, entry(reference("R"), "a", "a", fortnight)).Register(ctx, other); err == nil {
		t.Errorf("decided %v while the first copy was not committed", d)
	}
}
