package sftpwatch

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Status is how a partner's folder stands.
type Status struct {
	Partner    string    `json:"partner"`
	Tenant     string    `json:"tenant"`
	Node       string    `json:"node"` // that polled last
	Polling    bool      `json:"polling"`
	DueAt      time.Time `json:"due_at"` // the next poll
	LastPoll   time.Time `json:"last_poll,omitzero"`
	LastGood   time.Time `json:"last_good_poll,omitzero"`
	LastFile   time.Time `json:"last_file,omitzero"` // committed
	Failures   int       `json:"failures"`           // in a row
	Kind       string    `json:"error_kind"`         // of the last poll; empty when it was good
	Error      string    `json:"error"`
	Listed     int       `json:"listed"` // entries of the folder at the last good poll
	Waiting    int       `json:"waiting"`
	Oldest     time.Time `json:"oldest_waiting,omitzero"`
	Incomplete int       `json:"incomplete"`
	Due        int       `json:"post_actions_due"`
	Refused    int       `json:"refused"`
	Stuck      int       `json:"stuck"`
}

// OldestAge is how long the oldest waiting file has been seen.
func (s *Status) OldestAge(now time.Time) time.Duration {
	if s.Oldest.IsZero() {
		return 0
	}
	return now.Sub(s.Oldest)
}

const statusSQL = `
SELECT p.name, p.tenant, regexp_replace(s.owner, '/[^/]*$', ''), s.expires_at > now(), s.due_at, coalesce(s.last_poll_at, '0001-01-01'),
	coalesce(s.last_good_at, '0001-01-01'), coalesce(s.last_file_at, '0001-01-01'), s.failures, s.error_kind, s.last_error,
	s.listed, s.waiting, coalesce(s.oldest_at, '0001-01-01'), coalesce(f.incomplete, 0), coalesce(f.due, 0), coalesce(f.refused, 0), coalesce(f.stuck, 0)
FROM sftp_poll s JOIN partner p USING (partner_id)
LEFT JOIN (SELECT partner_id, count(*) FILTER (WHERE state = 'incomplete') AS incomplete, count(*) FILTER (WHERE state = 'taken') AS due,
	count(*) FILTER (WHERE state = 'refused') AS refused, count(*) FILTER (WHERE state = 'stuck') AS stuck
	FROM sftp_file GROUP BY partner_id) f USING (partner_id)
WHERE p.removed_at IS NULL AND p.agreement ? 'sftp'
ORDER BY p.tenant, p.name`

// Statuses reads how all partners' folders stand.
func Statuses(ctx context.Context, pool *pgxpool.Pool) ([]Status, error) {
	rows, err := pool.Query(ctx, statusSQL)
	if err != nil {
		return nil, fmt.Errorf("reading the state of SFTP: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s Status, err error) {
		err = row.Scan(&s.Partner, &s.Tenant, &s.Node, &s.Polling, &s.DueAt, &s.LastPoll, &s.LastGood, &s.LastFile, &s.Failures,
			&s.Kind, &s.Error, &s.Listed, &s.Waiting, &s.Oldest, &s.Incomplete, &s.Due, &s.Refused, &s.Stuck)
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the state of SFTP: %w", err)
	}
	return all, nil
}

// FileStatus is one file in work, or remembered.
type FileStatus struct {
	Partner  string    `json:"partner"`
	Tenant   string    `json:"tenant"`
	Name     string    `json:"file"` // made displayable
	Octets   []byte    `json:"name"` // as the server has it; base64
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	State    string    `json:"state"`
	SeenAt   time.Time `json:"first_seen"`
	Attempts int       `json:"attempts"`
	Reason   string    `json:"reason"`
}

const filesSQL = `
SELECT p.name, p.tenant, f.name, f.size, f.mtime, f.state, f.seen_at, f.attempts, f.reason
FROM sftp_file f JOIN partner p USING (partner_id)
WHERE f.state <> 'kept' AND ($1 = 0 OR f.partner_id = $1)
ORDER BY p.tenant, p.name, f.seen_at LIMIT $2`

// Files lists the files in work, oldest first, at most limit; partner 0 means every partner.
func Files(ctx context.Context, pool *pgxpool.Pool, partner int64, limit int) ([]FileStatus, error) {
	rows, err := pool.Query(ctx, filesSQL, partner, limit)
	if err != nil {
		return nil, fmt.Errorf("reading files in work: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f FileStatus, err error) {
		var mtime int64
		err = row.Scan(&f.Partner, &f.Tenant, &f.Octets, &f.Size, &mtime, &f.State, &f.SeenAt, &f.Attempts, &f.Reason)
		f.Name, f.Modified = shown(string(f.Octets)), time.Unix(mtime, 0).UTC()
		return f, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading files in work: %w", err)
	}
	return all, nil
}
