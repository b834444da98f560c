package sftpwatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// state of a file's row; migrations/0006_sftp.sql says what each means.
type state string

const (
	claimed    state = "claimed"
	incomplete state = "incomplete"
	taken      state = "taken"
	kept       state = "kept"
	refused    state = "refused"
	stuck      state = "stuck"
)

// known is what the database remembers of a file that lies in the folder.
type known struct {
	version
	state state
	since time.Duration // it was first seen so
	held  bool          // claimed, and the claim has not expired
	job   bool          // one stands behind it
	why   string        // of incomplete, refused and stuck
}

const knownSQL = `
SELECT name, size, mtime, state, now() - seen_at, state = 'claimed' AND expires_at > now(), job_id IS NOT NULL, reason
FROM sftp_file WHERE partner_id = $1`

// known reads all rows of a partner.
func (s *store) known(ctx context.Context, partner int64) (map[string]known, error) {
	rows, err := s.pool.Query(ctx, knownSQL, partner)
	if err != nil {
		return nil, fmt.Errorf("reading known files: %w", err)
	}
	defer rows.Close()
	all := map[string]known{}
	for rows.Next() {
		var name []byte
		var k known
		if err := rows.Scan(&name, &k.size, &k.mtime, &k.state, &k.since, &k.held, &k.job, &k.why); err != nil {
			return nil, fmt.Errorf("reading known files: %w", err)
		}
		all[string(name)] = k
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading known files: %w", err)
	}
	return all, nil
}

// forgetSQL forgets files that lie there no more and of which nothing is due.
const forgetSQL = `
DELETE FROM sftp_file WHERE partner_id = $1 AND name = ANY($2)
  AND (state IN ('kept', 'incomplete', 'refused', 'stuck') OR state = 'claimed' AND expires_at < now())`

func (s *store) forget(ctx context.Context, partner int64, names []string) error {
	if len(names) == 0 {
		return nil
	}
	if _, err := s.pool.Exec(ctx, forgetSQL, partner, octets(names)); err != nil {
		return fmt.Errorf("forgetting files: %w", err)
	}
	return nil
}

func octets(names []string) [][]byte {
	all := make([][]byte, len(names))
	for i, n := range names {
		all[i] = []byte(n)
	}
	return all
}

// claimSQL claims files under a poll's lease. A claim that another holder has not let expire stands.
const claimSQL = `
INSERT INTO sftp_file AS f (partner_id, name, size, mtime, state, owner, fence, expires_at, job_id)
SELECT $1, name, size, mtime, 'claimed', $2, $3, now() + $4::interval, $8
FROM unnest($5::bytea[], $6::bigint[], $7::bigint[]) AS file (name, size, mtime)
WHERE EXISTS (SELECT FROM sftp_poll WHERE partner_id = $1 AND owner = $2 AND fence = $3)
ORDER BY name
ON CONFLICT ON CONSTRAINT sftp_file_pkey DO UPDATE
SET size = excluded.size, mtime = excluded.mtime, state = 'claimed', owner = excluded.owner, fence = excluded.fence,
	expires_at = excluded.expires_at, delivery_id = NULL, job_id = excluded.job_id, digest = NULL,
	moved_to = '', attempts = 0, reason = '',
	seen_at = CASE WHEN f.size = excluded.size AND f.mtime = excluded.mtime THEN f.seen_at ELSE now() END
WHERE f.state <> 'claimed' OR f.expires_at < now()
RETURNING name, now() - seen_at`

// claim claims files, in one transaction with the job that will do what is due of them, and returns those that are ours now,
// with how long their version has been known.
func (s *store) claim(ctx context.Context, outbox Outbox, l lease, files []entry) (ours map[string]time.Duration, job int64, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		jobs, err := outbox.Insert(ctx, tx, []river.InsertManyParams{{Args: settleArgs{Partner: l.partner}}})
		if err != nil {
			return err
		}
		job = jobs[0]
		ours, err = s.claimFor(ctx, tx, l, files, job)
		return err
	})
	return ours, job, err
}

func (s *store) claimFor(ctx context.Context, tx pgx.Tx, l lease, files []entry, job int64) (map[string]time.Duration, error) {
	names, sizes, mtimes := make([][]byte, len(files)), make([]int64, len(files)), make([]int64, len(files))
	for i, f := range files {
		names[i], sizes[i], mtimes[i] = []byte(f.name), f.size, f.mtime
	}
	rows, err := tx.Query(ctx, claimSQL, l.partner, s.owner, l.fence, s.lease, names, sizes, mtimes, job)
	if err != nil {
		return nil, fmt.Errorf("claiming files: %w", err)
	}
	defer rows.Close()
	ours := make(map[string]time.Duration, len(files))
	for rows.Next() {
		var name []byte
		var since time.Duration
		if err := rows.Scan(&name, &since); err != nil {
			return nil, fmt.Errorf("claiming files: %w", err)
		}
		ours[string(name)] = since
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("claiming files: %w", err)
	}
	return ours, nil
}

// fencedSQL makes a claimed file taken or kept, in the ingest transaction. Where the claim has been lost it divides by zero:
// in a pipelined batch only the server can still stop the COMMIT that follows.
const fencedSQL = `
WITH ours AS (
	UPDATE sftp_file SET state = $5, delivery_id = $6, digest = $7
	WHERE partner_id = $1 AND name = $2 AND state = 'claimed' AND owner = $3 AND fence = $4
	RETURNING 1)
SELECT 1 / count(*) FROM ours`

func (s *store) queueTaken(batch *pgx.Batch, l lease, d due) {
	batch.Queue(fencedSQL, l.partner, []byte(d.name), s.owner, l.fence, string(d.state), [16]byte(d.delivery), d.digest)
}

// giveBackSQL ends claims whose files were not taken after all: as if they had not been claimed.
const giveBackSQL = `DELETE FROM sftp_file WHERE partner_id = $1 AND name = ANY($4) AND state = 'claimed' AND owner = $2 AND fence = $3`

func (s *store) giveBack(ctx context.Context, l lease, names []string) error {
	if len(names) == 0 {
		return nil
	}
	if _, err := s.pool.Exec(ctx, giveBackSQL, l.partner, s.owner, l.fence, octets(names)); err != nil {
		return fmt.Errorf("giving claims back: %w", err)
	}
	return nil
}

const setAsideSQL = `
UPDATE sftp_file SET state = $5, reason = left($6, 2000), job_id = nullif($7, 0)
WHERE partner_id = $1 AND name = $2 AND state = 'claimed' AND owner = $3 AND fence = $4`

// setAside notes that a claimed file is not taken, and why: it waits for the rest, or it never became whole. It is an error
// when the claim has been lost: the file is another's to decide.
func (s *store) setAside(ctx context.Context, l lease, name string, to state, why string, job int64) error {
	tag, err := s.pool.Exec(ctx, setAsideSQL, l.partner, []byte(name), s.owner, l.fence, string(to), why, job)
	if err == nil && tag.RowsAffected() != 1 {
		err = errors.New("the claim is lost")
	}
	if err != nil {
		return fmt.Errorf("setting a file aside: %w", err)
	}
	return nil
}
