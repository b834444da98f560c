package partners

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Window is how long, from the first copy on, a reference is protected. The
// zero value is no window: it is never part of an agreement.
type Window struct {
	Duration time.Duration // whole seconds; 0 if Infinite
	Infinite bool          // for ever (Peppol)
}

// Windows are a partner's windows: one for all standards, and exceptions.
type Windows struct {
	Default  Window
	Standard map[string]Window // by a name from Standards
}

// DefaultWindow is that of an agreement which names none: retries of eight
// days after the fact are known, and a weekend may come on top.
var DefaultWindow = Window{Duration: 14 * day}

// MinimumAS2 is how long draft-duker-as2-reliability §7 wants the Message-ID
// of a message remembered; a window below it gets a warning.
const MinimumAS2 = 5 * day

const day = 24 * time.Hour

// Standards are the names a window can be given for: those of package
// dedup/interchange.
func Standards() []string {
	return []string{"as4", "cii", "content", "cxml", "edifact", "epcis", "gs1", "hl7", "sbdh", "tradacoms", "ubl", "vda", "x12"}
}

// Window is the one that protects the references of a standard: its own, or
// the partner's default.
func (a *Agreement) Window(standard string) Window {
	if w, ok := a.Windows.Standard[standard]; ok {
		return w
	}
	return a.Windows.Default
}

// windowUnits from the one that canonical text prefers; weeks are only read.
var windowUnits = []struct {
	name byte
	unit time.Duration
}{{'d', day}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}, {'w', 7 * day}}

// ParseWindow reads "14d", "36h", "1w2d" (whole numbers of w, d, h, m and s,
// each followed by its unit) or "infinity". Zero is refused: a window that
// protects nothing would let every retry through as a first copy. The longest
// finite one is 292 years.
func ParseWindow(s string) (Window, error) {
	if s == "infinity" {
		return Window{Infinite: true}, nil
	}
	bad := fmt.Errorf("%q is not a window like 14d, 36h, 1w2d, infinity", s)
	var sum time.Duration
	for rest := s; rest != ""; {
		end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if end < 1 {
			return Window{}, bad
		}
		unit := unitOf(rest[end])
		n, err := strconv.ParseInt(rest[:end], 10, 64)
		if err != nil || unit == 0 {
			return Window{}, bad
		}
		if n > int64(math.MaxInt64-sum)/int64(unit) {
			return Window{}, fmt.Errorf("window %q is too long: write infinity", s)
		}
		sum += time.Duration(n) * unit
		rest = rest[end+1:]
	}
	if s == "" {
		return Window{}, bad
	}
	if sum == 0 {
		return Window{}, errors.New("a window of 0 protects nothing")
	}
	return Window{Duration: sum}, nil
}

func unitOf(name byte) time.Duration {
	for _, u := range windowUnits {
		if u.name == name {
			return u.unit
		}
	}
	return 0
}

// String is the canonical text: the largest of d, h, m, s that divides the
// window, or "infinity". ParseWindow reads it back.
func (w Window) String() string {
	if w.Infinite {
		return "infinity"
	}
	for _, u := range windowUnits[:4] {
		if w.Duration%u.unit == 0 && w.Duration != 0 {
			return strconv.FormatInt(int64(w.Duration/u.unit), 10) + string(u.name)
		}
	}
	return w.Duration.String()
}

// MarshalText is String.
func (w Window) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText is ParseWindow.
func (w *Window) UnmarshalText(text []byte) error {
	parsed, err := ParseWindow(string(text))
	if err == nil {
		*w = parsed
	}
	return err
}

// valid refuses what ParseWindow would not have made, for windows that come
// from a program.
func (w Window) valid() error {
	if w.Infinite && w.Duration == 0 {
		return nil
	}
	if w.Infinite || w.Duration <= 0 || w.Duration%time.Second != 0 {
		return errors.New("a window is a positive number of whole seconds, or infinity")
	}
	return nil
}

// warning says why a window is unwise, or "".
func (w Window) warning() string {
	if w.Infinite || w.Duration >= MinimumAS2 {
		return ""
	}
	return fmt.Sprintf("window of %s: AS2 asks for at least %s, and a later retry would be forwarded again", w, Window{Duration: MinimumAS2})
}

// rows are the windows as stored: standard "" is the default, and no seconds
// is infinity.
func (w Windows) rows() (standards []string, seconds []*int64) {
	add := func(standard string, one Window) {
		standards = append(standards, standard)
		if one.Infinite {
			seconds = append(seconds, nil)
			return
		}
		n := int64(one.Duration / time.Second)
		seconds = append(seconds, &n)
	}
	add("", w.Default)
	for _, standard := range slices.Sorted(maps.Keys(w.Standard)) {
		add(standard, w.Standard[standard])
	}
	return standards, seconds
}

// windowsOf is the reverse of rows.
func windowsOf(rows map[string]*int64) Windows {
	var w Windows
	for standard, seconds := range rows {
		one := Window{Infinite: true}
		if seconds != nil {
			one = Window{Duration: time.Duration(*seconds) * time.Second}
		}
		switch {
		case standard == "":
			w.Default = one
		case w.Standard == nil:
			w.Standard = map[string]Window{standard: one}
		default:
			w.Standard[standard] = one
		}
	}
	return w
}
