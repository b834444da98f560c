package as2

import (
	"sort"
	"strings"

	"firstcopy/mdn"
)

// Header is the part of the HTTP header that AS2 defines or uses.
type Header struct {
	From, To  string // names unquoted, case kept (RFC 4130 §6.2)
	MessageID string // as received, with or without angle brackets
	Version   string // AS2-Version; absent means "1.0" (RFC 4130 §6.1)

	// Subject, Date and the Content fields are as received, in any character
	// set; "" if absent.
	Subject, Date                                     string
	ContentType, TransferEncoding, ContentDisposition string

	Receipt mdn.Request
}

// maxMessageID is the longest identifier a receiver has to store (RFC 4130
// §5.3.3).
const maxMessageID = 998

// ParseHeader reads a message's header. h may be an http.Header; names are
// compared without regard to case. Errors are of [KindMalformed] (AS2-From,
// AS2-To or Message-ID missing, ambiguous or unusable) or
// [KindInvalidMessageID]; Header is filled as far as possible all the same, so
// that a receipt can be addressed.
func ParseHeader(h map[string][]string) (Header, error) {
	f := collect(h)
	out := Header{
		Version:            f.first("as2-version"),
		Subject:            f.first("subject"),
		Date:               f.first("date"),
		ContentType:        f.first("content-type"),
		TransferEncoding:   f.first("content-transfer-encoding"),
		ContentDisposition: f.first("content-disposition"),
		Receipt:            mdn.ParseRequest(h),
	}
	if out.Version == "" {
		out.Version = "1.0"
	}
	var fromErr, toErr, idErr error
	out.From, fromErr = f.name("as2-from", "AS2-From")
	out.To, toErr = f.name("as2-to", "AS2-To")
	out.MessageID, idErr = f.messageID()
	for _, err := range []error{fromErr, toErr, idErr} {
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// fields holds header values by lower-case name.
type fields map[string][]string

// collect gathers the spellings of each name, in an order that does not depend
// on the map's.
func collect(h map[string][]string) fields {
	keys := make([]string, 0, len(h))
	for key := range h {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	f := make(fields, len(h))
	for _, key := range keys {
		name := strings.ToLower(key)
		f[name] = append(f[name], h[key]...)
	}
	return f
}

func (f fields) first(name string) string {
	if len(f[name]) == 0 {
		return ""
	}
	return trimBlanks(f[name][0])
}

// single returns the value of a field that may stand there only once. Equal
// repeats are taken for one: proxies make them.
func (f fields) single(name, spelling string) (string, error) {
	value := f.first(name)
	for _, other := range f[name] {
		if trimBlanks(other) != value {
			return value, refuse(KindMalformed, spelling+" stands in the header twice, with different values.", nil)
		}
	}
	if value == "" {
		return "", refuse(KindMalformed, spelling+" is missing.", nil)
	}
	return value, nil
}

func (f fields) name(name, spelling string) (string, error) {
	value, err := f.single(name, spelling)
	value = unquoteName(value)
	if hasControl(value) {
		return "", refuse(KindMalformed, spelling+" has control characters.", nil)
	}
	if err == nil && value == "" {
		err = refuse(KindMalformed, spelling+" is empty.", nil)
	}
	return value, err
}

// messageID checks no more than RFC 4130 §5.3.3 allows a receiver to: neither
// brackets nor an "@" are demanded.
func (f fields) messageID() (string, error) {
	id, err := f.single("message-id", "Message-ID")
	switch {
	case err != nil:
		return id, err
	case len(id) > maxMessageID:
		return id, refuse(KindInvalidMessageID, "The Message-ID is longer than 998 characters.", nil)
	case hasControl(id):
		return id, refuse(KindInvalidMessageID, "The Message-ID has control characters.", nil)
	}
	return id, nil
}

// trimBlanks takes off what HTTP does not count to a value (RFC 9110 §5.5).
func trimBlanks(s string) string { return strings.Trim(s, " \t\r\n") }

func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return true
		}
	}
	return false
}

// unquoteName reads an AS2-name (RFC 4130 §6.2). Quotes need not be necessary
// and unquoted blanks are let pass. A name without its closing quote is taken
// literally.
func unquoteName(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	var b strings.Builder
	inner := s[1 : len(s)-1]
	for i := 0; i < len(inner); i++ {
		if c := inner[i]; c == '\\' && i+1 < len(inner) && (inner[i+1] == '"' || inner[i+1] == '\\') {
			i++
		}
		b.WriteByte(inner[i])
	}
	return b.String()
}

// QuoteName writes an AS2-name, in quotes only if RFC 4130 §6.2 demands them:
// some receivers compare the quotes too.
func QuoteName(name string) string {
	if name != "" && !strings.ContainsAny(name, " \"\\") {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		if name[i] == '"' || name[i] == '\\' {
			b.WriteByte('\\')
		}
		b.WriteByte(name[i])
	}
	b.WriteByte('"')
	return b.String()
}
