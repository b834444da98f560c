package xmltoken

// Classes of octets. Letters beyond ASCII are all taken for parts of names.
var (
	white    [256]bool // XML 1.0 §2.3 S
	nameByte [256]bool // may stand in a name
	namePart [256]bool // may not begin one
	// textByte and valueByte stand for themselves, in text and in the value of
	// an attribute.
	textByte, valueByte [256]bool
)

func init() {
	for c := range 256 {
		digit := c >= '0' && c <= '9'
		letter := c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c == ':' || c >= 0x80
		namePart[c] = digit || c == '-' || c == '.'
		nameByte[c] = letter || namePart[c]
		white[c] = c == ' ' || c == '\t' || c == '\r' || c == '\n'
		valueByte[c] = c >= ' ' && c < 0x7F && c != '<' && c != '&'
		textByte[c] = valueByte[c] || c == '\t' || c == '\n'
	}
}

// forbidden tells control characters that XML 1.0 does not have (§2.2).
func forbidden(c byte) bool { return c < ' ' && !white[c] }

// legal tells whether XML 1.0 has a character (§2.2).
func legal(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD ||
		r >= 0x10000 && r <= 0x10FFFF
}
