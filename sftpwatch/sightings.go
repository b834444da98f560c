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

// ready reports whether a file has come to rest. A done file says so at once.
func (s sightings) ready(f entry, terms *partners.SFTP, now time.Time) bool {
	if terms.Ready.Done != "" {
		return f.done != ""
	}
	seen := s[f.name]
	return seen.version == f.version() && seen.polls >= 2 && now.Sub(seen.since) >= terms.Ready.Quiet.Duration()
}
