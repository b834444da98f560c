package interchange_test

import (
	"testing"
	"unicode/utf8"

	"firstcopy/dedup/interchange"

	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                   "",
		"4012345 ~":          "4012345 ~",
		"M\u00fcller \u20ac": "M\u00fcller \u20ac",
		"M\xFCller":          `M\xFCller`,
		"\x00\n\x7F":         `\x00\x0A\x7F`,
		`a\x00`:              `a\\x00`,
		"\u0085\u00A0\u200B": `\xC2\x85\xC2\xA0\xE2\x80\x8B`,
		"\u202Eevil\uFEFF":   `\xE2\x80\xAEevil\xEF\xBB\xBF`,
		"\uFFFD":             "\uFFFD",
		"\xED\xA0\x80":       `\xED\xA0\x80`,
	} {
		if got := interchange.Text([]byte(in)); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestTextProperties: valid UTF-8 without control characters, and no two octet
// strings have one text.
func TestTextProperties(t *testing.T) {
	t.Parallel()
	octets := rapid.SliceOfN(rapid.SampledFrom([]byte(`\x0A`+"a0\x00\x0A\xC3\xBC\xFC")), 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		a, b := octets.Draw(t, "a"), octets.Draw(t, "b")
		textA, textB := interchange.Text(a), interchange.Text(b)
		if (textA == textB) != (string(a) == string(b)) {
			t.Fatalf("%q and %q become %q and %q", a, b, textA, textB)
		}
		if !utf8.ValidString(textA) {
			t.Fatalf("%q is not UTF-8", textA)
		}
		for _, r := range textA {
			if r < ' ' {
				t.Fatalf("control character in %q", textA)
			}
		}
	})
}
