package pgtest

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// WithDatabase is looked at from outside the API.
var WithDatabase = withDatabase

// MakeTemplate does what each process does once, on the shared server.
func MakeTemplate(ctx context.Context, checksum string, up func(context.Context, *pgxpool.Pool) error) (string, error) {
	s, err := shared()
	if err != nil {
		return "", err
	}
	return (&server{url: s.url}).makeTemplate(ctx, checksum, up)
}

// Execute runs a statement on the maintenance database.
func Execute(ctx context.Context, sql string) error {
	s, err := shared()
	if err != nil {
		return err
	}
	return s.execute(ctx, sql)
}
