package partners_test

import (
	"strings"
	"testing"
	"time"

	"firstcopy/partners"
)

const day = 24 * time.Hour

func TestParseWindow(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]struct {
		w    partners.Window
		text string
	}{
		"14d":      {partners.Window{Duration: 14 * day}, "14d"},
		"2w":       {partners.Window{Duration: 14 * day}, "14d"},
		"36h":      {partners.Window{Duration: 36 * time.Hour}, "36h"},
		"1w2d":     {partners.Window{Duration: 9 * day}, "9d"},
		"1d1s":     {partners.Window{Duration: day + time.Second}, "86401s"},
		"90m":      {partners.Window{Duration: 90 * time.Minute}, "90m"},
		"0d1h":     {partners.Window{Duration: time.Hour}, "1h"},
		"106751d":  {partners.Window{Duration: 106751 * day}, "106751d"},
		"infinity": {partners.Window{Infinite: true}, "infinity"},
	} {
		got, err := partners.ParseWindow(in)
		if err != nil || got != want.w || got.String() != want.text {
			t.Errorf("ParseWindow(%q) = %v (%s), %v; want %v (%s)", in, got, got, err, want.w, want.text)
		}
	}
	for in, says := range map[string]string{
		"": "is not a window", "14": "is not a window", "d": "is not a window", "14 d": "is not a window",
		"-1d": "is not a window", "+1d": "is not a window", "1.5d": "is not a window", "1y": "is not a window",
		"Infinity": "is not a window", "1D": "is not a window", "0": "is not a window", "1é": "is not a window",
		"99999999999999999999s": "is not a window",
		"0d":                    "protects nothing", "0s0m": "protects nothing",
		"106752d": "too long", "106751d1w": "too long", "9223372036854775807w": "too long",
	} {
		if got, err := partners.ParseWindow(in); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("ParseWindow(%q) = %v, %v; want an error saying %q", in, got, err, says)
		}
	}
}

func TestWindowOfStandard(t *testing.T) {
	t.Parallel()
	a := partners.Agreement{Windows: partners.Windows{
		Default:  partners.Window{Duration: day},
		Standard: map[string]partners.Window{"x12": {Infinite: true}},
	}}
	if got := a.Window("x12"); !got.Infinite {
		t.Errorf("x12: %s", got)
	}
	if got := a.Window("edifact"); got.Duration != day {
		t.Errorf("edifact: %s", got)
	}
}

func FuzzParseWindow(f *testing.F) {
	for _, s := range []string{"14d", "1w2d", "infinity", "0d", "106752d", "9223372036854775807s", "1d1d1d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w, err := partners.ParseWindow(s)
		if err != nil {
			if w != (partners.Window{}) {
				t.Fatalf("%q: %v beside an error", s, w)
			}
			return
		}
		if !w.Infinite && w.Duration < time.Second {
			t.Fatalf("%q gives %v", s, w)
		}
		if again, err := partners.ParseWindow(w.String()); err != nil || again != w {
			t.Fatalf("%q gives %v, whose text %q gives %v (%v)", s, w, w.String(), again, err)
		}
	})
}
