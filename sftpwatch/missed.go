package sftpwatch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"firstcopy/partners"
)

// missedSQL notes a day on which the expected file has not come, once over all nodes.
const missedSQL = `
UPDATE sftp_poll SET alarmed_on = $2 WHERE partner_id = $1 AND (alarmed_on IS NULL OR alarmed_on < $2)
  AND (last_file_at IS NULL OR last_file_at < $3)`

// missed raises the alarm when a file that is expected every day by some hour has not come.
func (w *Watcher) missed(ctx context.Context, a *partners.Agreement, now time.Time) error {
	midnight, by, expected := deadline(&a.SFTP.Expect, now)
	if !expected || now.Before(by) || a.UpdatedAt.After(by) {
		return nil
	}
	tag, err := w.store.pool.Exec(ctx, missedSQL, a.ID, midnight.Format(time.DateOnly), midnight)
	if err != nil {
		return fmt.Errorf("noting a missed file: %w", err)
	}
	if tag.RowsAffected() == 1 {
		w.observer.SetAside(a.Name, "missed")
		w.log.ErrorContext(ctx, "expected file has not come", "partner", a.Name, "by", by)
	}
	return nil
}

// deadline is when a file must have come on the day of now, and when that day began; false on other days.
func deadline(e *partners.Expect, now time.Time) (midnight, by time.Time, expected bool) {
	if e.By == "" {
		return midnight, by, false
	}
	zone, err := time.LoadLocation(e.Zone)
	hour, wrong := time.Parse("15:04", e.By)
	if err != nil || wrong != nil { // not after the agreement was checked
		return midnight, by, false
	}
	now = now.In(zone)
	if len(e.Days) > 0 && !slices.Contains(e.Days, strings.ToLower(now.Weekday().String()[:3])) {
		return midnight, by, false
	}
	midnight = time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, zone)
	return midnight, time.Date(now.Year(), now.Month(), now.Day(), hour.Hour(), hour.Minute(), 0, 0, zone), true
}
