package sftpwatch

import (
	"time"

	"firstcopy/partners"
)

// sightings remember since when the files of a folder have been as they are, by our own monotonic clock: partners' clocks
// are wrong, and times that they set may lie in the past or stand still.
type sightings map[string]sighting

type sighting struct {
	version
	since time.Time
	polls int // that saw it so

	failures int       // to take it as it is
	again    time.Time // not before
}

// see notes one poll's listing, and forgets what is no longer there.
func (s *sightings) see(files []entry, now time.Time) {
	next := make(sightings, len(files))
	for _, f := range files {
		seen, known := (*s)[f.name]
		if !known || seen.version != f.version() {
			seen = sighting{version: f.version(), since: now}
		}
		seen.polls++
		next[f.name] = seen
	}
	*s = next
}

// datesTell is after how long a rewrite has another date: servers tell whole seconds. Where files are kept, nothing else tells
// a rewrite of the same size from what has been taken.
const datesTell = 2 * time.Second

// ready reports whether a file has come to rest, and is not to be left alone after a failure. A done file says so at once.
func (s sightings) ready(f entry, terms *partners.SFTP, now time.Time) bool {
	if now.Before(s[f.name].again) {
		return false
	}
	if terms.Ready.Done != "" {
		return f.done != ""
	}
	quiet := terms.Ready.Quiet.Duration()
	if terms.After == partners.AfterKeep {
		quiet = max(quiet, datesTell)
	}
	seen := s[f.name]
	return seen.version == f.version() && seen.polls >= 2 && now.Sub(seen.since) >= quiet
}

// failed notes that a file could not be taken. It is tried again later and later, and after the others: one that never can be
// taken, or that makes the server close the connection, must not cost the rest their turn.
func (s sightings) failed(name string, interval time.Duration, now time.Time) {
	seen, known := s[name]
	if !known {
		return
	}
	wait := interval << min(seen.failures, 10)
	seen.failures++
	seen.again = now.Add(min(wait, max(interval, failedMost)))
	s[name] = seen
}

// pardon forgets all failures.
func (s sightings) pardon() {
	for name, seen := range s {
		seen.failures, seen.again = 0, time.Time{}
		s[name] = seen
	}
}

// failedMost is the longest that a file is left alone after a failure.
const failedMost = 10 * time.Minute
