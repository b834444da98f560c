package dedup

import (
	"strings"
	"time"
)

// sortable makes digits of a date, and of a time beside it or behind it: YYYYMMDD, and as much of HHMMSS as there is. Standards
// write 261201, 20261201, 202612011015 (DTM 203), 2612011015 (DTM 201) and 2026-12-01T10:15:00Z. What is none of them is
// "": it orders nothing.
func sortable(date, clock string) string {
	if t, err := time.Parse(time.RFC3339, date); err == nil {
		return t.UTC().Format("20060102150405")
	}
	digits := leadingDigits(date)
	if len(date) >= 10 && date[4] == '-' && date[7] == '-' { // ISO 8601, perhaps with a zone
		digits = leadingDigits(date[:4] + date[5:7] + date[8:10])
		if len(date) > 11 && date[10] == 'T' {
			clock = date[11:]
		}
	}
	if len(digits) >= 6 && len(digits) < 14 && !plausible(digits) {
		digits = "20" + digits // YYMMDD…
	}
	if !plausible(digits) {
		return ""
	}
	if len(digits) == 8 {
		digits += clockDigits(clock)
	}
	return digits[:min(len(digits), 14)]
}

// Day is the date of an interchange, written by its sender in six digits or in eight, in eight; "" for what is none.
func Day(date string) string {
	digits := sortable(date, "")
	return digits[:min(len(digits), 8)]
}

// plausible tells whether digits begin with a whole date of our time.
func plausible(digits string) bool {
	if len(digits) < 8 || digits < "1950" || digits > "2100" {
		return false
	}
	_, err := time.Parse("20060102", digits[:8])
	return err == nil
}

func clockDigits(clock string) string {
	digits := leadingDigits(strings.ReplaceAll(clock, ":", ""))
	return digits[:min(len(digits)&^1, 6)]
}

func leadingDigits(s string) string {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return s[:i]
		}
	}
	return s
}
