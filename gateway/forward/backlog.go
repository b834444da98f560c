package forward

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Waiting counts the documents in one open state.
type Waiting struct {
	State     State
	Documents int64
	Oldest    time.Duration // age of the oldest
}

const backlogSQL = `
SELECT state, count(*), extract(epoch FROM now() - min(created_at))::float8
FROM document WHERE state IN ('pending', 'stuck', 'held') GROUP BY state`

// Backlog reports what waits, for every open state, also those in which nothing does.
func Backlog(ctx context.Context, pool *pgxpool.Pool) ([]Waiting, error) {
	rows, err := pool.Query(ctx, backlogSQL)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (w Waiting, err error) {
		var age float64
		err = row.Scan(&w.State, &w.Documents, &age)
		w.Oldest = time.Duration(age * float64(time.Second))
		return w, err
	})
	if err != nil {
		return nil, err
	}
	for _, state := range []State{Pending, StuckState, HeldState} {
		if !slices.ContainsFunc(found, func(w Waiting) bool { return w.State == state }) {
			found = append(found, Waiting{State: state})
		}
	}
	return found, nil
}
