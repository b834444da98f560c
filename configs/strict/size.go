package strict

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of octets. In a file it is a whole number with a unit:
// "512B", "64KiB", "1MiB", "1GiB", "2TiB", or the decimal "10kB", "10MB",
// "10GB"; a bare number is octets.
type Size int64

// Binary units, for code that needs one.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
	TiB Size = 1 << 40
)

// units in the order in which a size is written: the largest that divides it.
var units = []struct {
	name string
	size Size
}{
	{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB},
	{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// ParseSize reads a size; the unit's case does not matter. Fractions, signs
// and sizes beyond 63 bits are errors.
func ParseSize(s string) (Size, error) {
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit := s[len(digits):]
	factor := Size(1)
	if unit != "" {
		factor = 0
		for _, u := range units {
			if strings.EqualFold(u.name, unit) {
				factor = u.size
			}
		}
	}
	n, err := strconv.ParseUint(strings.TrimRight(digits, " "), 10, 63)
	if err != nil || factor == 0 {
		return 0, fmt.Errorf("%q is not a size like 64KiB, 10MiB, 1GiB", s)
	}
	if n > math.MaxInt64/uint64(factor) {
		return 0, fmt.Errorf("size %q is too large", s)
	}
	return Size(n) * factor, nil
}

// String writes the size with the largest binary unit that divides it, and
// octets otherwise; ParseSize reads it back.
func (s Size) String() string {
	for _, u := range units[:4] {
		if s != 0 && s%u.size == 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// MarshalText is String.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseSize.
func (s *Size) UnmarshalText(text []byte) error {
	n, err := ParseSize(string(text))
	if err == nil {
		*s = n
	}
	return err
}
