package migrations

import (
	"context"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"
)

// UpFrom is Up of another set of files.
func UpFrom(ctx context.Context, pool *pgxpool.Pool, fsys fs.FS) error {
	s, err := newSequence(fsys)
	if err != nil {
		return err
	}
	return s.up(ctx, pool)
}

// StatusFrom is Status against another set of files.
func StatusFrom(ctx context.Context, pool *pgxpool.Pool, fsys fs.FS) (State, error) {
	s, err := newSequence(fsys)
	if err != nil {
		return State{}, err
	}
	return s.status(ctx, pool)
}
