package interop

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Throughput is what a receiver did under load.
type Throughput struct {
	Receiver, Version string
	Accepted, Sent    int
	Elapsed           time.Duration
	CPU               time.Duration // of the receiving process
	Database          time.Duration // of the database server beside it
}

// clockTick is the unit of times in /proc: USER_HZ, which is 100 on every
// architecture that Go knows.
const clockTick = 10 * time.Millisecond

// ProcessTime is the CPU time of a process, and of those of its children that
// have ended, on Linux.
func ProcessTime(pid int) (own, children time.Duration, err error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("measuring a process: %w", err)
	}
	// The second field is a name in parentheses, which may have blanks in it.
	fields := strings.Fields(string(content[strings.LastIndexByte(string(content), ')')+1:]))
	const utime = 11 // the fields are counted from the third
	if len(fields) < utime+4 {
		return 0, 0, fmt.Errorf("measuring a process: %d fields", len(fields))
	}
	var ticks [4]int64
	for i := range ticks {
		if ticks[i], err = strconv.ParseInt(fields[utime+i], 10, 64); err != nil {
			return 0, 0, fmt.Errorf("measuring a process: %w", err)
		}
	}
	return time.Duration(ticks[0]+ticks[1]) * clockTick, time.Duration(ticks[2]+ticks[3]) * clockTick, nil
}

// ThroughputSection is the heading of the section in docs/performance.md.
const ThroughputSection = "## Against other receivers"

// ThroughputMarkdown is the section, from its heading on.
func ThroughputMarkdown(results []Throughput, load string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `%s

Written by `+"`make peerbench`"+`. The load: %s. A third as many messages go before, unmeasured.

The others' receivers open the message, verify it, digest the payload and answer; they store nothing and log nothing.
firstcopy runs as shipped: it stores message, payload, receipt and the verdict on duplicates in PostgreSQL, which flushes to
disk, forwards to a folder, and logs a line for each exchange. Sender, receiver and database share the machine's cores, so
what counts is the CPU time, not the rate.

| receiver | version | accepted | rate /s | CPU of the process, ms each | messages per CPU second | of the database besides, ms each |
|---|---|--:|--:|--:|--:|--:|
`, ThroughputSection, load)
	for _, r := range results {
		each := func(d time.Duration) float64 {
			return float64(d) / float64(time.Millisecond) / float64(max(r.Accepted, 1))
		}
		database := "–"
		if r.Database > 0 {
			database = fmt.Sprintf("%.2f", each(r.Database))
		}
		fmt.Fprintf(&b, "| %s | %s | %d of %d | %.0f | %.2f | %.0f | %s |\n", r.Receiver, r.Version, r.Accepted, r.Sent,
			float64(r.Accepted)/r.Elapsed.Seconds(), each(r.CPU), float64(r.Accepted)/r.CPU.Seconds(), database)
	}
	return b.String()
}

// ReplaceSection puts a section in the place of the one with the same heading,
// or at the end of the document.
func ReplaceSection(document, heading, section string) string {
	before, rest, found := strings.Cut(document, heading+"\n")
	if !found {
		return strings.TrimRight(document, "\n") + "\n\n" + section
	}
	after := ""
	if i := strings.Index(rest, "\n## "); i >= 0 {
		after = rest[i:]
	}
	return before + section + after
}
