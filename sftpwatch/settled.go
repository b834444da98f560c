package sftpwatch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

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

// The queries by job name the condition of sftp_file_job_idx, although what they ask for implies it.
const dueSQL = `
SELECT name, size, mtime, state, delivery_id, digest, moved_to, attempts FROM sftp_file
WHERE partner_id = $1 AND job_id = $2 AND state <> 'kept' AND state IN ('taken', 'refused', 'stuck') ORDER BY name`

// due reads the files that a job is for and of which something is due still.
func (s *store) due(ctx context.Context, partner, job int64) ([]due, error) {
	rows, err := s.pool.Query(ctx, dueSQL, partner, job)
	if err != nil {
		return nil, fmt.Errorf("reading what is due: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (due, error) {
		d := due{job: job}
		var name, movedTo []byte
		var delivery *[16]byte
		err := row.Scan(&name, &d.version.size, &d.version.mtime, &d.state, &delivery, &d.digest, &movedTo, &d.attempts)
		if delivery != nil {
			d.delivery = *delivery
		}
		d.name, d.movedTo = string(name), string(movedTo)
		return d, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading what is due: %w", err)
	}
	return all, nil
}

const busySQL = `
SELECT EXISTS (SELECT FROM sftp_file
	WHERE partner_id = $1 AND job_id = $2 AND state <> 'kept' AND state = 'claimed' AND expires_at > now())`

// busy reports whether the poll that a job belongs to takes files still.
func (s *store) busy(ctx context.Context, partner, job int64) (busy bool, err error) {
	if err = s.pool.QueryRow(ctx, busySQL, partner, job).Scan(&busy); err != nil {
		return false, fmt.Errorf("looking for claims: %w", err)
	}
	return busy, nil
}

// doneSQL takes back a job that waits and has nothing to do.
const doneSQL = `
DELETE FROM river_job WHERE id = $2 AND state IN ('scheduled', 'available')
  AND NOT EXISTS (SELECT FROM sftp_file WHERE partner_id = $1 AND job_id = $2 AND state <> 'kept')`

func (s *store) done(ctx context.Context, partner, job int64) error {
	if _, err := s.pool.Exec(ctx, doneSQL, partner, job); err != nil {
		return fmt.Errorf("taking a job back: %w", err)
	}
	return nil
}

// stepBack has a job come again in a moment, behind those of partners of whom none is at work.
func (s *store) stepBack(ctx context.Context, job int64) error {
	if _, err := s.pool.Exec(ctx, `UPDATE river_job SET priority = 4 WHERE id = $1`, job); err != nil {
		return fmt.Errorf("putting a job back: %w", err)
	}
	return river.JobSnooze(2*time.Second + rand.N(2*time.Second))
}

// settledSQL forgets files of which nothing is due any more.
const settledSQL = `
DELETE FROM sftp_file f USING unnest($2::bytea[], $3::bigint[]) AS done (name, job_id)
WHERE f.partner_id = $1 AND f.name = done.name AND f.job_id = done.job_id AND f.state IN ('taken', 'refused', 'stuck')`

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
