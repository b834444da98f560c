package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

func TestSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1 MiB", 5 << 30: "5 GiB", 3 << 50: "3072 TiB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestTableCleansCells(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	table := newTable(&b, "A", "B")
	table.row("x\x1b[2J\ty", "")
	table.row("rtl\u202e", 7)
	if err := table.flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "A        B\nx\uFFFD[2J\uFFFDy  -\nrtl\uFFFD     7\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 8, 30, 0, 123e6, time.UTC)
	if got := when(at); got != "2026-03-01 10:30:00 +02:00" {
		t.Errorf("when: %s", got)
	}
	if got := whenExactly(at); got != "2026-03-01 10:30:00.123 +02:00" {
		t.Errorf("whenExactly: %s", got)
	}
	if got := when(time.Time{}); got != "" {
		t.Errorf("no time: %q", got)
	}
	for d, want := range map[time.Duration]string{0: "0 seconds", time.Minute: "1 minute", 90 * time.Minute: "1 hour", 47 * time.Hour: "1 day", 50 * time.Hour: "2 days"} {
		if got := age(d); got != want {
			t.Errorf("age(%s) = %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{time.Second: "1 second", time.Minute: "1 minute", 90 * time.Minute: "2 hours", 24 * time.Hour: "1 day",
		14*24*time.Hour - time.Second: "14 days", 14 * 24 * time.Hour: "14 days"} {
		if got := remaining(d); got != want {
			t.Errorf("remaining(%s) = %q, want %q", d, got, want)
		}
	}
	for text, want := range map[string]time.Time{
		"": {}, "7d": at.AddDate(0, 0, -7), "36h": at.Add(-36 * time.Hour),
		"2026-02-01": time.Date(2026, 1, 31, 22, 0, 0, 0, time.UTC), "2026-02-01T09:00:00+01:00": time.Date(2026, 2, 1, 8, 0, 0, 0, time.UTC),
	} {
		if got, err := parseSince(text, at); err != nil || !got.Equal(want) {
			t.Errorf("since %q: %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	h := hash{0xab, 0xcd, 1, 2, 3, 4, 5}
	text, err := json.Marshal(map[string]hash{"h": h})
	if err != nil || string(text) != `{"h":"abcd0102030405"}` {
		t.Errorf("%s, %v", text, err)
	}
	if h.short() != "abcd01020304" || (hash{1}).short() != "01" {
		t.Errorf("short: %s", h.short())
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	if got := summary([]string{"INVOIC", "DESADV", "INVOIC"}); got != "2 INVOIC, DESADV" {
		t.Errorf("got %q", got)
	}
	for pair, want := range map[[2]string]int{{"acme", "acme"}: 0, {"acme", "acne"}: 1, {"", "abc"}: 3, {"kitten", "sitting"}: 3} {
		if got := edits(pair[0], pair[1]); got != want {
			t.Errorf("edits%v = %d, want %d", pair, got, want)
		}
	}
}
