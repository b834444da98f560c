package sftpwatch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A poll is leased in Postgres, so that a partner is polled by one node at a time and by another when that one dies. The node
// that polled last has the first chance, since it has the connection and has seen the files; one that is too busy loses it.

// store reads and writes sftp_poll and sftp_file.
type store struct {
	pool  *pgxpool.Pool
	owner string        // this process; another on the same node is another owner
	lease time.Duration // how long a lease lasts without renewal
}

// affinity is how long a due poll is left to the node that polled last.
const affinity = 2 * time.Second

const (
	knowSQL = `INSERT INTO sftp_poll (partner_id) SELECT unnest($1::bigint[]) ON CONFLICT DO NOTHING`

	leaseSQL = `
UPDATE sftp_poll SET owner = $1, fence = fence + 1, expires_at = now() + $2::interval
WHERE partner_id IN (
	SELECT partner_id FROM sftp_poll
	WHERE partner_id = ANY($3) AND expires_at < now()
	  AND due_at <= now() - CASE WHEN owner IN ($1, '') THEN interval '0' ELSE $4::interval END
	ORDER BY due_at LIMIT $5 FOR UPDATE SKIP LOCKED)
RETURNING partner_id, fence, failures`

	// A lease that its poll has given back since the heartbeat looked is renewed for nobody: the partner would not be polled
	// until it expired.
	renewSQL = `
UPDATE sftp_poll p SET expires_at = now() + $2::interval
FROM unnest($3::bigint[], $4::bigint[]) AS held (partner_id, fence)
WHERE p.partner_id = held.partner_id AND p.fence = held.fence AND p.owner = $1 AND p.expires_at > '-infinity'
RETURNING p.partner_id`

	renewFilesSQL = `
UPDATE sftp_file f SET expires_at = now() + $2::interval
FROM unnest($3::bigint[], $4::bigint[]) AS held (partner_id, fence)
WHERE f.partner_id = held.partner_id AND f.fence = held.fence AND f.owner = $1 AND f.state = 'claimed'`

	releaseSQL = `
UPDATE sftp_poll SET expires_at = '-infinity', due_at = now() + $4::interval, last_poll_at = now(),
	error_kind = $5, last_error = left($6, 2000),
	failures = CASE WHEN $5 = '' THEN 0 ELSE failures + 1 END, last_good_at = CASE WHEN $5 = '' THEN now() ELSE last_good_at END,
	last_file_at = CASE WHEN $7 > 0 THEN now() ELSE last_file_at END,
	listed = CASE WHEN $5 = '' THEN $8 ELSE listed END, waiting = CASE WHEN $5 = '' THEN $9 ELSE waiting END,
	oldest_at = CASE WHEN $5 = '' THEN now() - $10::interval ELSE oldest_at END
WHERE partner_id = $1 AND owner = $2 AND fence = $3`
)

// lease is the right to poll a partner, until it expires.
type lease struct {
	partner  int64
	fence    int64
	failures int // polls in a row that had gone wrong
}

// know makes rows for partners that are polled for the first time.
func (s *store) know(ctx context.Context, partners []int64) error {
	if _, err := s.pool.Exec(ctx, knowSQL, partners); err != nil {
		return fmt.Errorf("noting polled partners: %w", err)
	}
	return nil
}

// take leases polls that are due, of some partners, most overdue first.
func (s *store) take(ctx context.Context, partners []int64, limit int) ([]lease, error) {
	rows, err := s.pool.Query(ctx, leaseSQL, s.owner, s.lease, partners, affinity, limit)
	if err != nil {
		return nil, fmt.Errorf("leasing polls: %w", err)
	}
	taken, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l lease, err error) {
		err = row.Scan(&l.partner, &l.fence, &l.failures)
		return l, err
	})
	if err != nil {
		return nil, fmt.Errorf("leasing polls: %w", err)
	}
	return taken, nil
}

// renew prolongs leases and the claims under them, and returns the partners whose leases still stand.
func (s *store) renew(ctx context.Context, held []lease) (map[int64]bool, error) {
	partners, fences := make([]int64, len(held)), make([]int64, len(held))
	for i, l := range held {
		partners[i], fences[i] = l.partner, l.fence
	}
	standing := map[int64]bool{}
	var batch pgx.Batch
	batch.Queue(renewSQL, s.owner, s.lease, partners, fences).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				return err
			}
			standing[id] = true
		}
		return rows.Err()
	})
	batch.Queue(renewFilesSQL, s.owner, s.lease, partners, fences)
	if err := s.pool.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, fmt.Errorf("renewing leases: %w", err)
	}
	return standing, nil
}

// abandonSQL gives a lease back as if there had been no poll: the next one, of this node or another, is due at once.
const abandonSQL = `UPDATE sftp_poll SET expires_at = '-infinity', due_at = now() WHERE partner_id = $1 AND owner = $2 AND fence = $3`

func (s *store) abandon(ctx context.Context, l lease, _ report) error {
	if _, err := s.pool.Exec(ctx, abandonSQL, l.partner, s.owner, l.fence); err != nil {
		return fmt.Errorf("abandoning a poll: %w", err)
	}
	return nil
}

// renewTermsSQL makes polls due whose terms have changed, and forgets the faults that they had by the old ones. A poll under way
// would overwrite that at its end, so its turn comes after it.
const renewTermsSQL = `
UPDATE sftp_poll SET due_at = now(), failures = 0, error_kind = '', last_error = ''
WHERE partner_id = ANY($1) AND expires_at < now()
RETURNING partner_id`

// renewTerms takes the partners out of changed that are due now.
func (s *store) renewTerms(ctx context.Context, changed map[int64]bool) error {
	if len(changed) == 0 {
		return nil
	}
	rows, err := s.pool.Query(ctx, renewTermsSQL, slices.Sorted(maps.Keys(changed)))
	if err != nil {
		return fmt.Errorf("making polls due by new terms: %w", err)
	}
	due, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("making polls due by new terms: %w", err)
	}
	for _, id := range due {
		delete(changed, id)
	}
	return nil
}

// report is what a poll has found.
type report struct {
	again   time.Duration // until the next poll
	err     error
	taken   int           // files committed
	listed  int           // entries of the folder
	waiting int           // files not taken yet
	oldest  time.Duration // how long the oldest of them has been seen
}

// release ends a lease and says what came of it. It is no error when somebody else has taken it over.
func (s *store) release(ctx context.Context, l lease, r report) error {
	kind, text := string(kindOf(r.err)), ""
	if r.err != nil {
		text = shown(r.err.Error())
	}
	var oldest *time.Duration
	if r.waiting > 0 {
		oldest = &r.oldest
	}
	_, err := s.pool.Exec(ctx, releaseSQL, l.partner, s.owner, l.fence, r.again, kind, text, r.taken, r.listed, r.waiting, oldest)
	if err != nil {
		return fmt.Errorf("ending a poll: %w", err)
	}
	return nil
}
