package eventhash

import (
	"bytes"
	"strings"
)

const resolver = "https://id.gs1.org/"

// appendKey adds the constrained canonical GS1 Digital Link URI for a URI that
// holds a GS1 key, if it does (CBV 2.0 §8.9.2; GS1 Digital Link 1.2 §4.11).
// What it returns otherwise is not to be used.
func appendKey(to, uri []byte) ([]byte, bool) {
	const urn = "urn:epc:"
	switch {
	case bytes.HasPrefix(uri, []byte(urn)):
		return fromURN(to, uri[len(urn):])
	case bytes.HasPrefix(uri, []byte("https://")), bytes.HasPrefix(uri, []byte("http://")):
		return fromLink(to, string(uri))
	}
	return to, false
}

// A scheme of EPC Tag Data Standard §6.3 has a company prefix and a reference,
// of so many digits together, and maybe more.
type scheme struct {
	key       string // of the GS1 key
	digits    int    // 0: the reference may have letters
	indicator bool   // the first digit of the reference precedes the prefix
	zero      bool   // a zero precedes the prefix
	more      bool   // a serial follows
	serial    string // its key qualifier
	fixed     int    // how many parts of two digits precede the serial
}

var schemes = map[string]scheme{
	"sgtin": {key: "01/", digits: 13, indicator: true, more: true, serial: "/21/"},
	"lgtin": {key: "01/", digits: 13, indicator: true, more: true, serial: "/10/"},
	"upui":  {key: "01/", digits: 13, indicator: true, more: true, serial: "/235/"},
	"itip":  {key: "8006/", digits: 13, indicator: true, more: true, serial: "/21/", fixed: 2},
	"sscc":  {key: "00/", digits: 17, indicator: true},
	"sgln":  {key: "414/", digits: 12, more: true, serial: "/254/"},
	"pgln":  {key: "417/", digits: 12},
	"grai":  {key: "8003/", digits: 12, zero: true, more: true},
	"gdti":  {key: "253/", digits: 12, more: true},
	"sgcn":  {key: "255/", digits: 12, more: true},
	"gsrn":  {key: "8018/", digits: 17},
	"gsrnp": {key: "8017/", digits: 17},
	"gsin":  {key: "402/", digits: 16},
	"giai":  {key: "8004/"},
	"ginc":  {key: "401/"},
	"cpi":   {key: "8010/", more: true, serial: "/8011/"},
}

// fromURN reads "id:sgtin:4012345.011111.987", "class:lgtin:…" and patterns,
// "idpat:sgtin:4012345.011111.*".
func fromURN(to, urn []byte) ([]byte, bool) {
	form, rest, _ := bytes.Cut(urn, []byte(":"))
	name, body, ok := bytes.Cut(rest, []byte(":"))
	s, known := schemes[string(name)]
	if !ok || !known {
		return to, false
	}
	pattern := string(form) == "idpat"
	if class := string(form) == "class"; class != (string(name) == "lgtin") || !class && !pattern && string(form) != "id" {
		return to, false
	}
	prefix, body, ok := bytes.Cut(body, []byte("."))
	if !ok || !digits(prefix) || len(prefix) < 6 || len(prefix) > 12 {
		return to, false
	}
	reference, serial := body, []byte(nil)
	if s.more {
		if reference, serial, ok = bytes.Cut(body, []byte(".")); !ok {
			return to, false
		}
	}
	to = append(append(to, resolver...), s.key...)
	if to, ok = s.appendReference(to, prefix, reference); !ok {
		return to, false
	}
	for range s.fixed {
		var part []byte
		if part, serial, ok = bytes.Cut(serial, []byte(".")); !ok || len(part) != 2 || !digits(part) {
			return to, false
		}
		to = append(to, part...)
	}
	switch {
	case pattern:
		return to, string(serial) == "*"
	case !s.more, string(name) == "sgln" && string(serial) == "0": // no extension
		return to, true
	case len(serial) == 0 || !safe(serial):
		return to, false
	}
	return appendEscaped(append(to, s.serial...), serial), true
}

// appendReference adds a company prefix and a reference, with the check digit.
func (s *scheme) appendReference(to, prefix, reference []byte) ([]byte, bool) {
	if s.digits == 0 {
		return appendEscaped(append(to, prefix...), reference), len(reference) > 0 && safe(reference)
	}
	if len(prefix)+len(reference) != s.digits || len(reference) > 0 && !digits(reference) || s.indicator && len(reference) == 0 {
		return to, false
	}
	if s.zero {
		to = append(to, '0')
	}
	start := len(to)
	if s.indicator {
		to = append(to, reference[0])
		reference = reference[1:]
	}
	to = append(append(to, prefix...), reference...)
	return append(to, checkDigit(to[start:])), true
}

// checkDigit is that of GS1 General Specifications §7.9.1.
func checkDigit(key []byte) byte {
	sum := 0
	for i, c := range key {
		weight := 1 + 2*((len(key)-i)%2)
		sum += weight * int(c-'0')
	}
	return '0' + byte((10-sum%10)%10)
}

// unsafe are the characters that GS1's set 82 does not have, or only escaped.
const unsafe = `"#$&/<>?@[\]^` + "`{|}~"

// safe tells whether a serial has only characters of GS1's set 82, some of them
// escaped.
func safe[T []byte | string](s T) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7F || strings.IndexByte(unsafe, c) >= 0 {
			return false
		}
	}
	return len(s) <= 3*30
}

// appendEscaped escapes what a Digital Link URI cannot have (GS1 Digital Link
// 1.2 §4.1).
func appendEscaped(to, b []byte) []byte {
	const hex = "0123456789ABCDEF"
	for _, c := range b {
		switch c {
		case '!', '(', ')', '*', '+', ',', ':':
			to = append(to, '%', hex[c>>4], hex[c&15])
		default:
			to = append(to, c)
		}
	}
	return to
}
