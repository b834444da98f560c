package functional

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"firstcopy/dedup/interchange"
)

// isEDIFACT and isX12 go by the header: an interchange that lost its trailer is of
// Standard Content, and its sender waits all the same; and an interactive one
// (UIB) gets no CONTRL. One whose header is no longer there, as of the last of
// very many, is due an answer that cannot be composed.
func isEDIFACT(x *interchange.Interchange) bool { return begins(x, "UNB", interchange.EDIFACT) }

func isX12(x *interchange.Interchange) bool { return begins(x, "ISA", interchange.X12) }

func begins(x *interchange.Interchange, tag string, standard interchange.Standard) bool {
	return bytes.HasPrefix(x.Header, []byte(tag)) || len(x.Header) == 0 && x.Standard == standard
}

// octets undoes interchange.Text.
func octets(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			b.WriteByte(text[i])
			continue
		}
		if i+3 < len(text) && text[i+1] == 'x' {
			if n, err := strconv.ParseUint(text[i+2:i+4], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		i++ // a backslash is doubled
		b.WriteByte('\\')
	}
	return b.String()
}

// fits tells whether a value can stand in an element of at most longest
// characters: of an unknown character set, so octets beyond ASCII are taken for
// characters, as UTF-8 if they are that. Control characters stand nowhere.
func fits(value string, longest int) bool {
	n := len(value)
	if utf8.ValidString(value) {
		n = utf8.RuneCountInString(value)
	}
	return n <= longest && strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r == 0x7F }) < 0
}

// party is an identity and its qualifier as one text.
func party(id, qualifier string) string {
	id, qualifier = strings.TrimSpace(id), strings.TrimSpace(qualifier)
	if qualifier == "" {
		return id
	}
	return id + ":" + qualifier
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
