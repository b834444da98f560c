package eventhash

import (
	"bytes"
	"strings"
	"time"
)

// Vocabulary that is written in another way.
var vocabularies = []struct{ as, is string }{
	{"urn:epcglobal:cbv:bizstep:", cbv + "BizStep-"},
	{"urn:epcglobal:cbv:disp:", cbv + "Disp-"},
	{"urn:epcglobal:cbv:btt:", cbv + "BTT-"},
	{"urn:epcglobal:cbv:sdt:", cbv + "SDT-"},
	{"urn:epcglobal:cbv:er:", cbv + "ER-"},
	{"gs1:", voc},
	{"cbv:", cbv},
}

// appendValue adds a value in its canonical form (CBV 2.0 §8.9.2).
func (e *Event) appendValue(to, value []byte, vocabulary string) []byte {
	if e.Bare && vocabulary != "" && bytes.IndexByte(value, ':') < 0 {
		return append(append(to, vocabulary...), value...)
	}
	if c := value[0]; c >= '0' && c <= '9' || c == '-' || c == '+' {
		if n, ok := appendNumber(to, value); ok {
			return n
		}
	}
	if bytes.IndexByte(value, ':') < 0 {
		return append(to, value...)
	}
	for _, v := range vocabularies {
		if bytes.HasPrefix(value, []byte(v.as)) {
			return append(append(to, v.is...), value[len(v.as):]...)
		}
	}
	if uri, ok := appendKey(to, value); ok {
		return uri
	}
	return append(to, value...)
}

// appendNumber adds a decimal number without what does not count. Digits are
// never lost, so that long numbers stay different; an exponent is no number.
func appendNumber(to, b []byte) ([]byte, bool) {
	negative := b[0] == '-'
	if negative || b[0] == '+' {
		b = b[1:]
	}
	whole, fraction, pointed := bytes.Cut(b, []byte("."))
	if !digits(whole) || pointed && !digits(fraction) {
		return to, false
	}
	whole, fraction = bytes.TrimLeft(whole, "0"), bytes.TrimRight(fraction, "0")
	if len(whole) == 0 {
		whole = []byte("0")
	}
	if negative && (len(fraction) > 0 || whole[0] != '0') {
		to = append(to, '-')
	}
	to = append(to, whole...)
	if len(fraction) > 0 {
		to = append(append(to, '.'), fraction...)
	}
	return to, true
}

func digits[T []byte | string](s T) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) > 0
}

// AppendTime adds a point in time as UTC with three decimals, of which the last
// is rounded up from a fourth of 5; what is none is added as it stands.
func AppendTime(to, value []byte) []byte {
	const layout = "2006-01-02T15:04:05.000Z"
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(string(value)))
	if err != nil || len(value) > 64 || len(value) == len(layout) && value[len(value)-1] == 'Z' && value[10] == 'T' {
		return append(to, value...) // in the last case it is canonical
	}
	return t.UTC().Round(time.Millisecond).AppendFormat(to, layout)
}
