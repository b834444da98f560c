package mdn

import (
	"sort"
	"strings"
)

// The request headers of RFC 4130 §7.3, spelled as they are written.
const (
	headerTo      = "Disposition-Notification-To"
	headerOptions = "Disposition-Notification-Options"
	headerAsync   = "Receipt-Delivery-Option"
)

// pkcs7Signature is the one signed-receipt-protocol that RFC 4130 §7.3 defines.
const pkcs7Signature = "pkcs7-signature"

// Request is the receipt a sender asks for (RFC 4130 §7.3).
type Request struct {
	// Wanted says that Disposition-Notification-To is present. Its value is
	// never judged: addresses, URLs, AS2 names and nothing at all are seen there.
	Wanted bool
	// To is that value. SetHeader writes it, so give it one there: some products
	// take an empty header for none.
	To string
	// Signed says that a signed receipt is asked for: one of the two signing
	// parameters is present. RFC 4130 §7.3 demands both, senders do not.
	Signed bool
	// Required says that one of the signing parameters has the importance
	// "required".
	Required bool
	// Protocol is the signature format named, in lower case and without the
	// prefixes "x-" and "application/"; "" if none is. If several are listed and
	// "pkcs7-signature" is among them, it is that.
	Protocol string
	// MICAlgorithms are the digests asked for in order of preference, spelled as
	// the sender spells them; see [ChooseMIC].
	MICAlgorithms []string
	// AsyncURL is where the receipt shall be posted. It comes from the sender
	// and has not been checked in any way. "" asks for it in the HTTP response.
	AsyncURL string
}

// ParseRequest reads the request from a message header, which may be an
// http.Header; names are compared without regard to case. There is no malformed
// request: what cannot be understood is not asked for (RFC 4130 §7.3.1 rule 3).
func ParseRequest(h map[string][]string) Request {
	var r Request
	to := headerValues(h, headerTo)
	r.Wanted = len(to) > 0
	r.To = firstNonBlank(to)
	r.AsyncURL = firstNonBlank(headerValues(h, headerAsync))
	r.parseOptions(strings.Join(headerValues(h, headerOptions), ";"))
	return r
}

// parseOptions reads Disposition-Notification-Options. The grammar is
// attribute "=" importance "," value *("," value) between semicolons, but
// senders forget the importance, quote values, end with a semicolon or use a
// comma for it. Only parameters have "=", so both separators may be taken for
// one and every "=" starts a new parameter.
func (r *Request) parseOptions(s string) {
	s = strings.ReplaceAll(s, `"`, "")
	var attribute string
	for _, token := range strings.FieldsFunc(s, func(c rune) bool { return c == ';' || c == ',' }) {
		value := trimSpace(token)
		if name, rest, found := strings.Cut(token, "="); found {
			attribute, value = strings.ToLower(trimSpace(name)), trimSpace(rest)
		}
		switch attribute {
		case "signed-receipt-protocol":
			r.Signed = true
			if !r.importance(value) {
				r.addProtocol(value)
			}
		case "signed-receipt-micalg":
			r.Signed = true
			if value != "" && !r.importance(value) {
				r.MICAlgorithms = append(r.MICAlgorithms, value)
			}
		}
	}
}

// importance reports whether value is one (RFC 8098 §2.2) and notes "required".
func (r *Request) importance(value string) bool {
	switch strings.ToLower(value) {
	case "required":
		r.Required = true
		return true
	case "optional":
		return true
	}
	return false
}

func (r *Request) addProtocol(value string) {
	value = strings.ToLower(value)
	value = strings.TrimPrefix(value, "application/")
	value = strings.TrimPrefix(value, "x-")
	if r.Protocol == "" || value == pkcs7Signature {
		r.Protocol = value
	}
}

// SetHeader hands the request's headers to set, one call a header; set may be
// http.Header.Set. Nothing is set for a receipt that is not wanted. Both
// signing parameters are always written together (RFC 4130 §7.3), with
// pkcs7-signature and sha-256 where the request names none.
func (r Request) SetHeader(set func(name, value string)) {
	if !r.Wanted {
		return
	}
	set(headerTo, clean(r.To))
	if r.Signed {
		set(headerOptions, clean(r.options()))
	}
	if r.AsyncURL != "" {
		set(headerAsync, clean(r.AsyncURL))
	}
}

func (r Request) options() string {
	importance, protocol, algorithms := "optional", r.Protocol, r.MICAlgorithms
	if r.Required {
		importance = "required"
	}
	if protocol == "" {
		protocol = pkcs7Signature
	}
	if len(algorithms) == 0 {
		algorithms = []string{NameOf(defaultHash)}
	}
	return "signed-receipt-protocol=" + importance + ", " + protocol +
		"; signed-receipt-micalg=" + importance + ", " + strings.Join(algorithms, ", ")
}

// headerValues collects the values of every spelling of name, in an order that
// does not depend on the map's.
func headerValues(h map[string][]string, name string) []string {
	var spellings []string
	for key := range h {
		if strings.EqualFold(key, name) {
			spellings = append(spellings, key)
		}
	}
	sort.Strings(spellings)
	var values []string
	for _, key := range spellings {
		values = append(values, h[key]...)
	}
	return values
}

func firstNonBlank(values []string) string {
	for _, v := range values {
		if v = trimSpace(v); v != "" {
			return v
		}
	}
	return ""
}
