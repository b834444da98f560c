package forward

import (
	"context"
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
SELECT s.state, count(d.document_id), coalesce(extract(epoch FROM now() - min(d.created_at)), 0)::float8
FROM unnest(ARRAY['pending', 'stuck', 'held']) AS s (state) LEFT JOIN document d ON d.state = s.state
GROUP BY s.state`

// Backlog reports what waits, for every open state, also those in which nothing does.
func Backlog(ctx context.Context, pool *pgxpool.Pool) ([]Waiting, error) {
	rows, err := pool.Query(ctx, backlogSQL)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (w Waiting, err error) {
		var age float64
		err = row.Scan(&w.State, &w.Documents, &age)
		w.Oldest = time.Duration(age * float64(time.Second))
		return w, err
	})
}
