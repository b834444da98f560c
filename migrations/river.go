package migrations

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/rivermigrate"
)

func riverName(version int) string { return fmt.Sprintf("river/%04d", version) }

// riverStatus adds River's migrations to st. It reads River's own record, so
// that a database migrated by River's tool is understood.
func (s *sequence) riverStatus(ctx context.Context, q querier, st *State) error {
	done, err := readRiver(ctx, q)
	if err != nil {
		return err
	}
	last := 0
	for _, r := range done {
		if !slices.ContainsFunc(s.river, func(m rivermigrate.Migration) bool { return m.Version == r.version }) {
			return fmt.Errorf("migration %s: %w", riverName(r.version), ErrNewer)
		}
		last = r.version
		st.Applied = append(st.Applied, Applied{riverName(r.version), r.appliedAt})
	}
	for _, m := range s.river {
		if m.Version > last { // River's are applied in order, without gaps
			st.Pending = append(st.Pending, riverName(m.Version))
		}
	}
	return nil
}

func readRiver(ctx context.Context, q querier) ([]record, error) {
	exists, err := tableExists(ctx, q, "river_migration")
	if err != nil || !exists {
		return nil, err
	}
	var lines bool
	if err := q.QueryRow(ctx, riverLineSQL).Scan(&lines); err != nil {
		return nil, fmt.Errorf("reading river_migration: %w", err)
	}
	sql := riverOldSQL
	if lines {
		sql = riverSQL
	}
	rows, err := q.Query(ctx, sql)
	if err != nil {
		return nil, fmt.Errorf("reading river_migration: %w", err)
	}
	done, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r record, err error) {
		err = row.Scan(&r.version, &r.appliedAt)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading river_migration: %w", err)
	}
	return done, nil
}
