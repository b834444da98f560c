package eventhash

import "strings"

// Keys and key qualifiers of GS1 Digital Link by their old names.
var linkNames = map[string]string{
	"gtin": "01", "itip": "8006", "cpid": "8010", "gln": "414", "party": "417", "gsrnp": "8017", "gsrn": "8018", "gcn": "255",
	"sscc": "00", "gdti": "253", "ginc": "401", "gsin": "402", "grai": "8003", "giai": "8004",
	"cpv": "22", "lot": "10", "ser": "21",
}

// A linkKey says how a key looks: how many digits it begins with, how much may
// follow them, and the qualifiers that identify more finely, the finest first.
type linkKey struct {
	digits, more int
	qualifiers   []string
}

var linkKeys = map[string]linkKey{
	"00":   {digits: 18},
	"01":   {digits: 14, qualifiers: []string{"21", "235", "10"}},
	"253":  {digits: 13, more: 17},
	"255":  {digits: 13, more: 12},
	"401":  {more: 30},
	"402":  {digits: 17},
	"414":  {digits: 13, qualifiers: []string{"254"}},
	"417":  {digits: 13},
	"8003": {digits: 14, more: 16},
	"8004": {more: 30},
	"8006": {digits: 18, qualifiers: []string{"21", "10"}},
	"8010": {more: 30, qualifiers: []string{"8011"}},
	"8017": {digits: 18},
	"8018": {digits: 18},
}

// fromLink reads a GS1 Digital Link URI of any domain and path.
func fromLink(to []byte, uri string) ([]byte, bool) {
	_, path, _ := strings.Cut(uri, "://")
	path, _, _ = strings.Cut(path, "#")
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	// The key is the last thing that can be one: a path of the domain's owner
	// may come before it, its qualifiers behind.
	for i := 1; i+1 < len(parts); i++ {
		name, known := parts[i], false
		if long, ok := linkNames[name]; ok {
			name = long
		}
		var k linkKey
		if k, known = linkKeys[name]; !known {
			continue
		}
		value := parts[i+1]
		if name == "01" && digits(value) && (len(value) == 8 || len(value) == 12 || len(value) == 13) {
			value = strings.Repeat("0", 14-len(value)) + value
		}
		if !k.fits(value) {
			continue
		}
		link, ok := k.link(name, value, parts[i+2:])
		return append(to, link...), ok
	}
	return to, false
}

func (k linkKey) fits(value string) bool {
	if len(value) < max(k.digits, 4) || k.digits > 0 && !digits(value[:k.digits]) || len(value)-k.digits > 3*k.more {
		return false
	}
	return len(value) == k.digits || safe(value[k.digits:])
}

// link writes a key with the finest of its qualifiers.
func (k linkKey) link(name, value string, qualifiers []string) (string, bool) {
	link := resolver + name + "/" + value
	if len(qualifiers)%2 != 0 {
		return "", false
	}
	found := map[string]string{}
	for i := 0; i < len(qualifiers); i += 2 {
		q := qualifiers[i]
		if long, ok := linkNames[q]; ok {
			q = long
		}
		if q != "22" && !strings.Contains(" "+strings.Join(k.qualifiers, " ")+" ", " "+q+" ") || !safe(qualifiers[i+1]) {
			return "", false
		}
		found[q] = qualifiers[i+1]
	}
	for _, q := range k.qualifiers {
		if found[q] != "" {
			return link + "/" + q + "/" + found[q], true
		}
	}
	return link, true
}
