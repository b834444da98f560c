package smime

import (
	"net/url"
	"strconv"
	"strings"
)

// maxParams bounds the parameters read from one value.
const maxParams = 64

// ParseContentType reads a Content-Type or Content-Disposition value: the type
// in lower case and its parameters by lower-case name, the first of equal ones
// winning; RFC 2231 extensions and continuations are decoded and put under the
// plain name. params is never nil.
//
// It takes what partners send where mime.ParseMediaType drops every parameter:
// values that should be quoted but are not ("boundary=----=_1", "name=my
// file.edi"), empty values, stray or missing semicolons, octets beyond ASCII,
// and a value quoted as a whole.
func ParseContentType(s string) (mediatype string, params map[string]string) {
	params = map[string]string{}
	s = strings.TrimSpace(s)
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' && strings.Contains(s, "/") {
		s, _ = unquote(s)
	}
	mediatype, rest, _ := strings.Cut(s, ";")
	mediatype = strings.TrimSpace(mediatype)
	if i := strings.IndexAny(mediatype, " \t\r\n"); i >= 0 { // the semicolon is missing
		mediatype, rest = mediatype[:i], s[i:]
	}
	for rest = trimSeparators(rest); rest != "" && len(params) < maxParams; rest = trimSeparators(rest) {
		var name, value string
		name, value, rest = cutParam(rest)
		if _, seen := params[name]; !seen && name != "" {
			params[name] = value
		}
	}
	decodeExtended(params)
	return strings.ToLower(mediatype), params
}

func trimSeparators(s string) string { return strings.TrimLeft(s, "; \t\r\n") }

// cutParam takes the first parameter off s, which has one.
func cutParam(s string) (name, value, rest string) {
	i := strings.IndexAny(s, "=;")
	if i < 0 {
		return "", "", ""
	}
	if s[i] == ';' { // a word without a value
		return "", "", s[i:]
	}
	name = strings.ToLower(strings.TrimSpace(s[:i]))
	s = strings.TrimLeft(s[i+1:], " \t\r\n")
	if strings.HasPrefix(s, `"`) {
		value, rest = unquote(s)
		return name, value, rest
	}
	value, rest, _ = strings.Cut(s, ";")
	return name, strings.TrimSpace(value), rest
}

// unquote reads the quoted string that s begins with. Only quotes and
// backslashes are unescaped, so that a Windows path survives. Without a
// closing quote everything is the value.
func unquote(s string) (value, rest string) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:]
		case c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// decodeExtended joins "name*0", "name*1*" … and decodes "name*" (RFC 2231 §3
// and §4).
func decodeExtended(params map[string]string) {
	for key, value := range params {
		switch base, mark, _ := strings.Cut(key, "*"); {
		case base == "" || base == key:
		case mark == "":
			params[base] = decodeCharset(value, true)
		case mark == "0" || mark == "0*":
			if _, whole := params[base+"*"]; !whole {
				params[base] = joinContinuations(params, base)
			}
		}
	}
}

func joinContinuations(params map[string]string, base string) string {
	var joined strings.Builder
	extended := false
	for i := 0; ; i++ {
		key := base + "*" + strconv.Itoa(i)
		if value, ok := params[key]; ok {
			joined.WriteString(url.PathEscape(value))
		} else if value, ok := params[key+"*"]; ok {
			extended = extended || i == 0
			joined.WriteString(value)
		} else {
			return decodeCharset(joined.String(), extended)
		}
	}
}

// decodeCharset decodes the percent escapes of charset'language'text, or of
// plain text if not labelled. ISO 8859-1 becomes UTF-8; other character sets
// are left as they are.
func decodeCharset(s string, labelled bool) string {
	charset := ""
	if labelled {
		var rest string
		var ok bool
		if charset, rest, ok = strings.Cut(s, "'"); ok {
			if _, text, ok := strings.Cut(rest, "'"); ok {
				s = text
			}
		}
	}
	if decoded, err := url.PathUnescape(s); err == nil {
		s = decoded
	}
	if strings.EqualFold(charset, "iso-8859-1") {
		return latin1(s)
	}
	return s
}

func latin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
