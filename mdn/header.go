package mdn

import (
	"bytes"
	"strings"
)

// trimSpace cuts off the linear white space of RFC 5322. Not strings.TrimSpace:
// that also cuts octets which belong to a value in UTF-8.
func trimSpace(s string) string { return strings.Trim(s, " \t\r\n") }

// unquote cuts off white space and quotes, paired or not.
func unquote(s string) string { return trimSpace(strings.Trim(trimSpace(s), `"`)) }

// clean makes a value fit for one header line: control characters other than a
// tab become "?", so that no value ends its line. Octets above ASCII stay.
func clean(s string) string {
	out := []byte(s)
	for i, c := range out {
		if c < ' ' && c != '\t' || c == 0x7f {
			out[i] = '?'
		}
	}
	return string(out)
}

// ascii is clean and without octets above ASCII, one "?" for each character.
func ascii(s string) string {
	return clean(strings.Map(func(c rune) rune {
		if c > '~' {
			return '?'
		}
		return c
	}, s))
}

// header is a header block. Lookup ignores case and takes the first field of a
// name.
type header []Field

func (h header) get(name string) string {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// parseHeader reads header lines ended by CRLF or LF. Folded lines are joined
// with one space; blank lines and lines without a colon are skipped.
func parseHeader(b []byte) header {
	var h header
	var unfolded []byte
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		unfolded = append(unfolded, line...)
		if len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
			unfolded = append(bytes.TrimRight(unfolded, " \t"), ' ')
			b = bytes.TrimLeft(b, " \t")
			continue
		}
		name, value, found := strings.Cut(string(unfolded), ":")
		if name = trimSpace(name); found && name != "" {
			h = append(h, Field{Name: name, Value: trimSpace(value)})
		}
		unfolded = unfolded[:0]
	}
	return h
}

// cutLine returns the first line of b without its line end, and the rest.
func cutLine(b []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(b, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'}), rest
}

// mediaType is a Content-Type read with tolerance: mime.ParseMediaType drops
// every parameter for an unquoted "=" or "/", a doubled semicolon or an empty
// value, all of which AS2 products send.
type mediaType struct {
	name       string            // in lower case, without the "x-" of the subtype
	parameters map[string]string // by name in lower case, first one of a name
}

func parseMediaType(s string) mediaType {
	s = trimSpace(s)
	if len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' && strings.Contains(s, "/") {
		s = strings.ReplaceAll(s[1:len(s)-1], `\"`, `"`) // a value quoted as a whole
	}
	name, rest := cutParameter(s)
	m := mediaType{
		name:       strings.Replace(strings.ToLower(name), "/x-", "/", 1),
		parameters: map[string]string{},
	}
	for rest != "" {
		var parameter string
		parameter, rest = cutParameter(rest)
		key, value, _ := strings.Cut(parameter, "=")
		key = strings.ToLower(trimSpace(key))
		if _, seen := m.parameters[key]; !seen && key != "" {
			m.parameters[key] = unquoteParameter(value)
		}
	}
	return m
}

// cutParameter splits at the first semicolon outside quotes.
func cutParameter(s string) (parameter, rest string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '\\' && quoted:
			i++
		case s[i] == ';' && !quoted:
			return trimSpace(s[:i]), s[i+1:]
		}
	}
	return trimSpace(s), ""
}

// unquoteParameter takes the quotes and backslashes off a quoted-string
// (RFC 2045 §5.1); a value without quotes is taken whole.
func unquoteParameter(s string) string {
	s = trimSpace(s)
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	var out strings.Builder
	for i := 1; i < len(s) && s[i] != '"'; i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		out.WriteByte(s[i])
	}
	return out.String()
}
