package eventhash

import "strings"

const resolver = "https://id.gs1.org/"

// canonicalKey returns the constrained canonical GS1 Digital Link URI for a URI
// that holds a GS1 key, if it does (CBV 2.0 §8.9.2; GS1 Digital Link 1.2 §4.11).
func canonicalKey(uri string) (string, bool) {
	switch {
	case strings.HasPrefix(uri, "urn:epc:"):
		return fromURN(uri[len("urn:epc:"):])
	case strings.HasPrefix(uri, "https://"), strings.HasPrefix(uri, "http://"):
		return fromLink(uri)
	}
	return "", false
}

// A scheme of EPC Tag Data Standard §6.3 has a company prefix and a reference,
// of so many digits together, and maybe more.
type scheme struct {
	digits     int    // 0: the reference is not numeric
	key        string // of the GS1 key
	indicator  bool   // the first digit of the reference precedes the prefix
	zero       bool   // a zero precedes the prefix
	check      bool
	serial     string // the key qualifier of what follows
	mandatory  bool   // something follows
	fixed      int    // how many parts of two digits precede the serial
	alphabetic bool   // the reference may have letters, in parts of their own
}

var schemes = map[string]scheme{
	"sgtin": {digits: 13, key: "01/", indicator: true, check: true, serial: "/21/", mandatory: true},
	"lgtin": {digits: 13, key: "01/", indicator: true, check: true, serial: "/10/", mandatory: true},
	"upui":  {digits: 13, key: "01/", indicator: true, check: true, serial: "/235/", mandatory: true},
	"itip":  {digits: 13, key: "8006/", indicator: true, check: true, serial: "/21/", mandatory: true, fixed: 2},
	"sscc":  {digits: 17, key: "00/", indicator: true, check: true},
	"sgln":  {digits: 12, key: "414/", check: true, serial: "/254/", mandatory: true},
	"pgln":  {digits: 12, key: "417/", check: true},
	"grai":  {digits: 12, key: "8003/", zero: true, check: true, mandatory: true},
	"gdti":  {digits: 12, key: "253/", check: true, mandatory: true},
	"sgcn":  {digits: 12, key: "255/", check: true, mandatory: true},
	"gsrn":  {digits: 17, key: "8018/", check: true},
	"gsrnp": {digits: 17, key: "8017/", check: true},
	"gsin":  {digits: 16, key: "402/", check: true},
	"giai":  {key: "8004/"},
	"ginc":  {key: "401/"},
	"cpi":   {key: "8010/", serial: "/8011/", mandatory: true, alphabetic: true},
}

// fromURN reads "id:sgtin:4012345.011111.987", "class:lgtin:…" and patterns,
// "idpat:sgtin:4012345.011111.*".
func fromURN(rest string) (string, bool) {
	form, rest, _ := strings.Cut(rest, ":")
	name, body, ok := strings.Cut(rest, ":")
	s, known := schemes[name]
	if !ok || !known || (form == "class") != (name == "lgtin") || form != "id" && form != "idpat" && form != "class" {
		return "", false
	}
	prefix, body, ok := strings.Cut(body, ".")
	if !ok || !digits(prefix) || len(prefix) < 6 || len(prefix) > 12 {
		return "", false
	}
	var b strings.Builder
	b.WriteString(resolver + s.key)
	if s.digits == 0 && !s.alphabetic {
		if form != "id" || body == "" || !safe(body) {
			return "", false
		}
		b.WriteString(prefix + escaped(body))
		return b.String(), true
	}
	reference, serial, more := strings.Cut(body, ".")
	if more != s.mandatory {
		return "", false
	}
	if s.alphabetic {
		if reference == "" || !safe(reference) {
			return "", false
		}
		b.WriteString(prefix + escaped(reference))
	} else {
		key := prefix + reference
		if len(key) != s.digits || !digits(key) {
			return "", false
		}
		if s.indicator {
			key = reference[:1] + prefix + reference[1:]
		}
		if s.zero {
			b.WriteByte('0')
		}
		b.WriteString(key)
		b.WriteByte(checkDigit(key))
	}
	for range s.fixed {
		var part string
		if part, serial, ok = strings.Cut(serial, "."); !ok || len(part) != 2 || !digits(part) {
			return "", false
		}
		b.WriteString(part)
	}
	switch {
	case form == "idpat":
		return b.String(), serial == "*"
	case !s.mandatory:
		return b.String(), true
	case serial == "" || !safe(serial):
		return "", false
	case name == "sgln" && serial == "0": // no extension
		return b.String(), true
	}
	b.WriteString(s.serial + escaped(serial))
	return b.String(), true
}

// checkDigit is that of GS1 General Specifications §7.9.1.
func checkDigit(key string) byte {
	sum := 0
	for i := range len(key) {
		weight := 1 + 2*((len(key)-i)%2)
		sum += weight * int(key[i]-'0')
	}
	return '0' + byte((10-sum%10)%10)
}

// safe tells whether a serial has only characters of GS1's set 82, some of them
// escaped.
func safe(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7F || strings.IndexByte(`"#$&/<>?@[\]^`+"`{|}~", c) >= 0 {
			return false
		}
	}
	return len(s) <= 3*30
}

// escaped escapes what a Digital Link URI cannot have (GS1 Digital Link 1.2 §4.1).
func escaped(s string) string { return escapes.Replace(s) }

var escapes = strings.NewReplacer("!", "%21", "(", "%28", ")", "%29", "*", "%2A", "+", "%2B", ",", "%2C", ":", "%3A")
