package dedup_test

import (
	"testing"
	"time"

	"firstcopy/dedup"
)

func TestDay(t *testing.T) {
	t.Parallel()
	for date, want := range map[string]string{
		"20261201": "20261201", "261201": "20261201", "202612011015": "20261201", "20261201101530": "20261201", "2612011015": "20261201",
		"202612011015CET": "20261201", "2026-12-01": "20261201", "2026-12-01+01:00": "20261201", "2026-12-01T23:30:00-05:00": "20261202",
		"2026-12-01T10:15:00": "20261201", "20260230": "", "261301": "", "18991231": "", "": "", "unknown": "", "2026": "", "2026-1-1": "",
	} {
		if got := dedup.Day(date); got != want {
			t.Errorf("%q is the day %q, want %q", date, got, want)
		}
	}
}

func FuzzDay(f *testing.F) {
	for _, date := range []string{"261201", "20261201", "2026-12-01T10:15:00Z", "2612011015", "2026-12-01T1", "\x002026"} {
		f.Add(date)
	}
	f.Fuzz(func(t *testing.T, date string) {
		day := dedup.Day(date)
		if _, err := time.Parse("20060102", day); day != "" && err != nil {
			t.Errorf("%q is the day %q", date, day)
		}
		if again := dedup.Day(day); again != day {
			t.Errorf("%q is the day %q, which is %q", date, day, again)
		}
	})
}
