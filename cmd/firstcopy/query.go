package main

import (
	"encoding/hex"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"firstcopy/partners"
)

// sinceFlag adds --since to a command that lists.
func sinceFlag(cmd *cobra.Command, since *string, of string) {
	cmd.Flags().StringVar(since, "since", "", "only "+of+" since `WHEN`: 7d or 36h ago, a date, or a time by RFC 3339")
}

func limitFlag(cmd *cobra.Command, limit *int) {
	cmd.Flags().IntVar(limit, "limit", 100, "at most `N`")
}

func checkLimit(limit int) error {
	if limit < 1 || limit > 100_000 {
		return usagef("--limit %d: from 1 to 100000", limit)
	}
	return nil
}

// parseSince reads a length of time before now, a day in the local zone, or a
// moment. Empty is the beginning of time.
func parseSince(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if w, err := partners.ParseWindow(s); err == nil && !w.Infinite {
		return now.Add(-w.Duration), nil
	}
	return time.Time{}, usagef("--since %q: a length of time like 7d or 36h, a date like 2026-03-01, or a time like 2026-03-01T09:30:00Z", s)
}

// parseHash reads a whole SHA-256 in hexadecimal.
func parseHash(s string) ([]byte, error) {
	if s == "" {
		return nil, nil
	}
	b, err := hex.DecodeString(strings.TrimPrefix(strings.ToLower(s), "sha256:"))
	if err != nil || len(b) != 32 {
		return nil, usagef("--hash %q: a SHA-256 has 64 hexadecimal digits", s)
	}
	return b, nil
}

// parseID reads a whole UUID, as every table shows them.
func parseID(s, of string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil || len(s) != 36 {
		return uuid.Nil, usagef("%q is no id of a %s: it is a whole UUID, as firstcopy %s list shows it", s, of, of)
	}
	return id, nil
}

// about makes the run of a command about the one thing that its argument names
// by id: "delivery", "document".
func (a *app) about(what string, run func(cmd *cobra.Command, pool *pgxpool.Pool, id uuid.UUID) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := parseID(args[0], what)
		if err != nil {
			return err
		}
		pool, err := a.open(cmd.Context())
		if err != nil {
			return err
		}
		defer pool.Close()
		return run(cmd, pool, id)
	}
}
