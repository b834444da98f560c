package sftpwatch

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"firstcopy/internal/pgtest"
	"firstcopy/internal/sftptest"
	"firstcopy/partners"
)

// While a job of a partner is at work, its others step back, and those of other partners do not.
func TestOneJobOfAPartner(t *testing.T) {
	t.Parallel()
	s := &settleWorker{watcher: &Watcher{store: &store{pool: pgtest.New(t)}}}
	work := func(partner int64) error {
		return s.Work(t.Context(), &river.Job[settleArgs]{JobRow: &rivertype.JobRow{ID: 1}, Args: settleArgs{Partner: partner}})
	}
	s.busy.Store(int64(7), true)
	var snooze *river.JobSnoozeError
	if err := work(7); !errors.As(err, &snooze) {
		t.Errorf("beside a job of the same partner: %v", err)
	}
	if err := work(8); err != nil {
		t.Errorf("beside a job of another partner: %v", err)
	}
	s.busy.Delete(int64(7))
	for range 2 {
		if err := work(7); err != nil {
			t.Errorf("alone: %v", err)
		}
	}
}

// A run that copies files has the time that a file may take; a node that dies is replaced at others the sooner.
func TestSettleTimeout(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		quirks []partners.Quirk
		want   time.Duration
	}{
		{nil, settleFor + 20*time.Second},
		{[]partners.Quirk{partners.QuirkNoRename}, settleFor + 20*time.Second + patient.File.Duration()},
	} {
		_, directory, a := agreed(t, sftptest.StartScripted(t, sftptest.Script{}), test.quirks...)
		s := &settleWorker{watcher: &Watcher{partners: directory}}
		if got := s.Timeout(&river.Job[settleArgs]{Args: settleArgs{Partner: a.ID}}); got != test.want {
			t.Errorf("%v: %s, want %s", test.quirks, got, test.want)
		}
	}
}

// What a job asks for is found by an index, however many files a partner keeps in place.
func TestFilesOfAJobAreIndexed(t *testing.T) {
	t.Parallel()
	pool, _, a := agreed(t, sftptest.StartScripted(t, sftptest.Script{}))
	if err := (&store{pool: pool}).know(t.Context(), []int64{a.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `INSERT INTO sftp_file (partner_id, name, size, mtime, state, owner, fence, expires_at, delivery_id, job_id)
		SELECT $1, n::text::bytea, 1, 1, CASE WHEN n < 10 THEN 'taken' ELSE 'kept' END, '', 1, now(), gen_random_uuid(), n
		FROM generate_series(1, 5000) AS n`, a.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `ANALYZE sftp_file`); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{dueSQL, busySQL, doneSQL} {
		literal := strings.NewReplacer("$1", strconv.FormatInt(a.ID, 10), "$2", "3").Replace(sql)
		rows, err := pool.Query(t.Context(), "EXPLAIN "+literal)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if plan := strings.Join(lines, "\n"); err != nil || !strings.Contains(plan, "sftp_file_job_idx") {
			t.Errorf("%s\nis planned as\n%s, %v", literal, plan, err)
		}
	}
}
