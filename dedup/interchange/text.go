package interchange

import (
	"strings"
	"unicode/utf8"
)

// Text makes octets storable and displayable without losing any: valid UTF-8
// stays, a backslash is doubled, and control characters, invisible or
// direction-changing characters and octets that are not UTF-8 become \xNN, octet
// by octet. Different octets give different texts, so a Text can be a key.
func Text(b []byte) string {
	if plainText(b) {
		return string(b)
	}
	var t strings.Builder
	t.Grow(len(b) + 16)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == '\\':
			t.WriteString(`\\`)
		case r == utf8.RuneError && n == 1, hidden(r):
			for _, c := range b[:n] {
				const digits = "0123456789ABCDEF"
				t.WriteString(`\x`)
				t.WriteByte(digits[c>>4])
				t.WriteByte(digits[c&15])
			}
		default:
			t.Write(b[:n])
		}
		b = b[n:]
	}
	return t.String()
}

func plainText(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return true
}

// hidden names fixed ranges instead of asking package unicode: its tables grow
// with every Go release, and a key must not change with the compiler.
func hidden(r rune) bool {
	switch {
	case r < ' ', r >= 0x7F && r <= 0x9F: // C0, DEL, C1
	case r == 0xA0, r == 0xAD: // no-break space, soft hyphen
	case r >= 0x200B && r <= 0x200F, r >= 0x2028 && r <= 0x202E:
	case r >= 0x2060 && r <= 0x206F, r == 0xFEFF:
	default:
		return false
	}
	return true
}
