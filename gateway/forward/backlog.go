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

// AcknowledgementBacklog counts the transmissions of acknowledgements that are pending or stuck.
func AcknowledgementBacklog(ctx context.Context, pool *pgxpool.Pool) (map[TransmissionState]int64, error) {
	counts := map[TransmissionState]int64{TransmissionPending: 0, TransmissionStuck: 0}
	rows, err := pool.Query(ctx, `SELECT state, count(*) FROM acknowledgement_transmission t WHERE state IN ('pending', 'stuck')
		AND NOT EXISTS (SELECT FROM acknowledgement_transmission later WHERE later.acknowledgement_id = t.acknowledgement_id
			AND later.created_at > t.created_at) GROUP BY state`)
	if err != nil {
		return nil, err
	}
	var state TransmissionState
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&state, &n}, func() error { counts[state] = n; return nil })
	return counts, err
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
