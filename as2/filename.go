package as2

import (
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"

	"firstcopy/as2/smime"
)

// maxFileName is the longest name that file systems commonly take, in octets.
const maxFileName = 255

// fileName finds the name of a payload: the payload's own disposition comes
// first, then its Content-Type, then the message's disposition, unless that
// only names the envelope.
func fileName(e *entity, outerDisposition string) string {
	name := e.rawName()
	if name == "" && outerDisposition != "" {
		_, params := smime.ParseContentType(outerDisposition)
		name = params["filename"]
		if strings.HasPrefix(strings.ToLower(name), "smime.p7") {
			name = ""
		}
	}
	return safeName(decodeWords(name))
}

// decodeWords decodes RFC 2047 words. RFC 2047 §5 forbids them in parameters,
// which keeps nobody from putting them there.
func decodeWords(s string) string {
	if strings.Contains(s, "=?") {
		var d mime.WordDecoder
		if decoded, err := d.DecodeHeader(s); err == nil {
			s = decoded
		}
	}
	if utf8.ValidString(s) {
		return s
	}
	runes := make([]rune, len(s)) // raw octets beyond ASCII are mostly Latin-1
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

// safeName leaves of a name what cannot be a path: no separators, nothing
// invisible, no leading dots or blanks.
func safeName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r) && r >= 0x80:
			return ' '
		}
		return -1
	}, s)
	if i := strings.LastIndexAny(s, `/\`); i >= 0 {
		s = s[i+1:]
	}
	s = strings.TrimRight(strings.TrimLeft(s, ". "), " ")
	if len(s) <= maxFileName {
		return s
	}
	cut := maxFileName
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}
