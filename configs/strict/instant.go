package strict

import (
	"fmt"
	"time"
)

// Instant is a point in time of a file: "2027-02-01T12:00:00+01:00" (RFC 3339),
// or "2027-02-01", which stands for that whole day in UTC. The zero Instant is
// not given. Time is the instant, or the day's beginning, in UTC.
type Instant struct {
	time.Time
	day bool
}

// End is the instant as an exclusive end: something that ends on a day is used
// through that day.
func (i Instant) End() time.Time {
	if i.day {
		return i.AddDate(0, 0, 1)
	}
	return i.Time
}

// UnmarshalText refuses years before 1970 and after 9000, which are slips and
// which not every part of the way can hold.
func (i *Instant) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.DateOnly, string(text))
	day := err == nil
	if !day {
		t, err = time.Parse(time.RFC3339, string(text))
	}
	if err != nil {
		return fmt.Errorf("%q is not a date like 2027-02-01 or a time like 2027-02-01T12:00:00Z", text)
	}
	if t.Year() < 1970 || t.Year() > 9000 {
		return fmt.Errorf("%q: the year is out of range", text)
	}
	*i = Instant{t.UTC().Truncate(time.Second), day}
	return nil
}
