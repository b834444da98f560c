package sftpwatch

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// execer is a pool or a transaction.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// due is a file of which something is due: what a post-action works on.
type due struct {
	name     string
	version  version
	state    state
	delivery uuid.UUID // Nil for a refused file
	digest   []byte    // SHA-256 of what was taken; nil for a refused file
	movedTo  string    // where an attempt before has meant to put it
	attempts int
	job      int64
}

const dueSQL = `
SELECT size, mtime, state, delivery_id, digest, moved_to, attempts, coalesce(job_id, 0) FROM sftp_file
WHERE partner_id = $1 AND name = $2 AND state IN ('taken', 'refused', 'stuck')`

// due reads a file of which something is due; false if nothing is any more.
func (s *store) due(ctx context.Context, partner int64, name string) (d due, found bool, err error) {
	d.name = name
	var movedTo []byte
	var delivery *[16]byte
	err = s.pool.QueryRow(ctx, dueSQL, partner, []byte(name)).Scan(&d.version.size, &d.version.mtime, &d.state, &delivery, &d.digest, &movedTo, &d.attempts, &d.job)
	if err == pgx.ErrNoRows {
		return d, false, nil
	}
	if err != nil {
		return d, false, fmt.Errorf("reading what is due: %w", err)
	}
	if delivery != nil {
		d.delivery = *delivery
	}
	d.movedTo = string(movedTo)
	return d, true, nil
}

// settledSQL forgets files of which nothing is due any more, and takes back the jobs that wait to do it. A job that runs
// already finds no row.
const settledSQL = `
WITH gone AS (
	DELETE FROM sftp_file f USING unnest($2::bytea[], $3::bigint[]) AS done (name, job_id)
	WHERE f.partner_id = $1 AND f.name = done.name AND f.job_id = done.job_id AND f.state IN ('taken', 'refused', 'stuck')
	RETURNING f.job_id)
DELETE FROM river_job j USING gone WHERE j.id = gone.job_id AND j.state IN ('scheduled', 'available')`

func (s *store) settled(ctx context.Context, partner int64, files []due) error {
	if len(files) == 0 {
		return nil
	}
	names, jobs := make([][]byte, len(files)), make([]int64, len(files))
	for i, f := range files {
		names[i], jobs[i] = []byte(f.name), f.job
	}
	if _, err := s.pool.Exec(ctx, settledSQL, partner, names, jobs); err != nil {
		return fmt.Errorf("settling files: %w", err)
	}
	return nil
}

// alarmAfter is how many failed attempts make a file stuck: shown, with an alarm. It is tried on all the same.
const alarmAfter = 3

const failedSQL = `
UPDATE sftp_file SET attempts = attempts + 1, reason = left($4, 2000), state = CASE WHEN attempts + 1 >= $5 THEN 'stuck' ELSE state END
WHERE partner_id = $1 AND name = $2 AND job_id = $3
RETURNING attempts`

// failed notes a failed attempt and returns how many there have been.
func (s *store) failed(ctx context.Context, partner int64, d due, cause error) (attempts int, err error) {
	err = s.pool.QueryRow(ctx, failedSQL, partner, []byte(d.name), d.job, shown(cause.Error()), alarmAfter).Scan(&attempts)
	if err != nil && err != pgx.ErrNoRows {
		return 0, fmt.Errorf("noting a failed attempt: %w", err)
	}
	return attempts, nil
}

const movingSQL = `UPDATE sftp_file SET moved_to = $4 WHERE partner_id = $1 AND name = $2 AND job_id = $3`

// moving notes where a file is about to be put when that is not its own name, so that a later attempt finds it there.
func (s *store) moving(ctx context.Context, partner int64, d due, to string) error {
	if _, err := s.pool.Exec(ctx, movingSQL, partner, []byte(d.name), d.job, []byte(to)); err != nil {
		return fmt.Errorf("noting where a file goes: %w", err)
	}
	return nil
}
