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

// ready reports whether a file has come to rest. A done file says so at once.
func (s sightings) ready(f entry, terms *partners.SFTP, now time.Time) bool {
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
