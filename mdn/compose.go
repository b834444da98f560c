package mdn

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

// dateLayout is a date of RFC 5322 that is one of HTTP too (RFC 9110 §5.6.7),
// since the receipt's Date is the HTTP response's.
const dateLayout = "Mon, 02 Jan 2006 15:04:05 GMT"

// base64Columns is the longest line RFC 2045 §6.8 allows.
const base64Columns = 76

// Compose writes the receipt for r (RFC 4130 §7.4.2): with sign == nil a
// multipart/report, else multipart/signed around one, h being the signature's
// digest. An empty FinalRecipient, which is mandatory, becomes e.From, an empty
// OriginalRecipient the final one. Nothing a partner sent makes Compose fail:
// control characters become "?", and no header line is folded, not even one with
// a Message-ID of 990 octets. Errors are those of sign, a Disposition without a
// valid Type, a MIC without algorithm, and an h that [NameOf] cannot name.
func Compose(r Report, e Envelope, sign Sign, h crypto.Hash) (Receipt, error) {
	if r.Disposition.Type != "processed" && r.Disposition.Type != "failed" {
		return Receipt{}, fmt.Errorf("mdn: disposition type %q is not one of AS2", r.Disposition.Type)
	}
	if !r.MIC.IsZero() && r.MIC.Algorithm == "" {
		return Receipt{}, errors.New("mdn: content digest without algorithm")
	}
	if r.FinalRecipient == "" {
		r.FinalRecipient = e.From
	}
	if r.OriginalRecipient == "" {
		r.OriginalRecipient = r.FinalRecipient
	}
	contentType, body := composeReport(r)
	if sign != nil {
		var err error
		if contentType, body, err = composeSigned(contentType, body, sign, h); err != nil {
			return Receipt{}, err
		}
	}
	return Receipt{Header: e.header(contentType), Body: body}, nil
}

// header is built from nothing but the envelope: copying the request's headers
// into the answer breaks partners (duplicated Message-ID, Content-Type).
func (e Envelope) header(contentType string) []Field {
	fields := []Field{{"AS2-Version", Version}}
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, Field{name, clean(value)})
		}
	}
	add("AS2-From", quoteName(e.From))
	add("AS2-To", quoteName(e.To))
	add("MIME-Version", "1.0")
	add("Message-ID", e.MessageID)
	if !e.Date.IsZero() {
		add("Date", formatDate(e.Date))
	}
	add("Subject", ascii(e.Subject))
	add("Content-Type", contentType)
	return fields
}

func formatDate(t time.Time) string { return t.UTC().Format(dateLayout) }

// composeReport writes the multipart/report: the text for people, then the
// fields for machines (RFC 3462 §2).
func composeReport(r Report) (contentType string, body []byte) {
	boundary := newBoundary("report")
	notification := composeNotification(r)
	var b bytes.Buffer
	startPart(&b, boundary)
	writeField(&b, "Content-Type", "text/plain; charset=us-ascii")
	writeField(&b, "Content-Transfer-Encoding", "7bit")
	b.WriteString("\r\n")
	writeText(&b, r.text())
	b.WriteString("\r\n")
	startPart(&b, boundary)
	writeField(&b, "Content-Type", "message/disposition-notification")
	writeField(&b, "Content-Transfer-Encoding", bitsOf(notification))
	b.WriteString("\r\n")
	b.Write(notification)
	b.WriteString("\r\n")
	endParts(&b, boundary)
	return `multipart/report; report-type=disposition-notification; boundary="` + boundary + `"`, b.Bytes()
}

// composeNotification writes the fields in the order of the grammar in
// RFC 4130 §7.4.2.
func composeNotification(r Report) []byte {
	var b bytes.Buffer
	if r.ReportingUA != "" {
		writeField(&b, "Reporting-UA", ascii(r.ReportingUA))
	}
	if r.OriginalRecipient != "" {
		writeField(&b, "Original-Recipient", recipient(r.OriginalRecipient))
	}
	writeField(&b, "Final-Recipient", recipient(r.FinalRecipient))
	if r.OriginalMessageID != "" {
		writeField(&b, "Original-Message-ID", r.OriginalMessageID)
	}
	writeField(&b, "Disposition", ascii(r.Disposition.String()))
	if !r.MIC.IsZero() {
		writeField(&b, "Received-content-MIC", r.MIC.String())
	}
	return b.Bytes()
}

// bitsOf is the transfer encoding of text with lines: 8bit only if a partner's
// name or Message-ID has octets above ASCII. They are echoed, not encoded:
// several products cannot decode this part.
func bitsOf(text []byte) string {
	for _, c := range text {
		if c >= 0x80 {
			return "8bit"
		}
	}
	return "7bit"
}

// composeSigned wraps the report in multipart/signed (RFC 1847 §2.1). What sign
// gets and what is sent are the same octets.
func composeSigned(contentType string, body []byte, sign Sign, h crypto.Hash) (string, []byte, error) {
	micalg := NameOf(h)
	if micalg == "" {
		return "", nil, errors.New("mdn: signature digest has no name")
	}
	var content bytes.Buffer
	writeField(&content, "Content-Type", contentType)
	content.WriteString("\r\n")
	content.Write(body)
	der, err := sign(bytes.Clone(content.Bytes()), h)
	if err != nil {
		return "", nil, fmt.Errorf("mdn: signing receipt: %w", err)
	}
	if len(der) == 0 {
		return "", nil, errors.New("mdn: signing receipt: empty signature")
	}
	boundary := newBoundary("signed")
	var b bytes.Buffer
	startPart(&b, boundary)
	b.Write(content.Bytes())
	b.WriteString("\r\n") // belongs to the delimiter, not to what is signed
	startPart(&b, boundary)
	writeField(&b, "Content-Type", `application/pkcs7-signature; name="smime.p7s"`)
	writeField(&b, "Content-Transfer-Encoding", "base64")
	writeField(&b, "Content-Disposition", `attachment; filename="smime.p7s"`)
	b.WriteString("\r\n")
	writeBase64(&b, der)
	endParts(&b, boundary)
	return `multipart/signed; protocol="application/pkcs7-signature"; micalg=` + micalg +
		`; boundary="` + boundary + `"`, b.Bytes(), nil
}

// newBoundary uses letters, digits and a dash only, and no label begins with the
// other one: careless parsers trip over less.
func newBoundary(label string) string { return label + "-" + strings.ToLower(rand.Text()) }

func startPart(b *bytes.Buffer, boundary string) { b.WriteString("--" + boundary + "\r\n") }

func endParts(b *bytes.Buffer, boundary string) { b.WriteString("--" + boundary + "--\r\n") }

func writeBase64(b *bytes.Buffer, der []byte) {
	encoded := base64.StdEncoding.EncodeToString(der)
	for len(encoded) > 0 {
		n := min(base64Columns, len(encoded))
		b.WriteString(encoded[:n] + "\r\n")
		encoded = encoded[n:]
	}
}
