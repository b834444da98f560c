package mdn

import (
	"bytes"
	"errors"
	"strings"
)

// ErrNoReport means that an entity holds no disposition notification: no
// receipt, but perhaps a proxy's error page.
var ErrNoReport = errors.New("mdn: no disposition notification found")

var errNoSignature = errors.New("mdn: multipart/signed without a signature")

// maxDepth bounds the nesting of multiparts; a receipt needs two.
const maxDepth = 4

// Parsed is a receipt as read.
type Parsed struct {
	// Report is what the receipt says; its Text is HumanText.
	Report
	// Signed says that the receipt came as multipart/signed with a signature.
	// Nobody has verified it.
	Signed bool
	// SignedContent are the octets the signature is over, a slice of the body
	// given to Parse: the first part with its header, without the line end before
	// the delimiter. The Report comes from nowhere else.
	SignedContent []byte
	// Signature is the detached CMS SignedData, DER or BER.
	Signature []byte
	// MICAlg is the micalg parameter as spelled: a hint, since the CMS structure
	// names its digest itself.
	MICAlg string
	// HumanText is the first text part, transfer-decoded; in the charset the
	// sender chose, so not always valid UTF-8.
	HumanText string
}

// IsReport reports whether an entity of this Content-Type is an unsigned
// receipt. A signed one is plain multipart/signed from outside: its first part
// must be looked at, which Parse does.
func IsReport(contentType string) bool {
	m := parseMediaType(contentType)
	switch m.name {
	case "message/disposition-notification":
		return true
	case "multipart/report":
		kind := m.parameters["report-type"]
		return kind == "" || strings.EqualFold(kind, "disposition-notification")
	}
	return false
}

// Parse reads a receipt: multipart/report, alone or in multipart/signed. It is
// lenient about everything products are known to do differently: field names in
// any case, folded lines, LF for CRLF, encoded parts, missing text, recipient or
// boundary parameter. A content digest that cannot be read is no error but a
// zero MIC. Errors are [ErrNoReport], a multipart/signed without signature, and
// a notification without Disposition; what could be read is returned with them.
func Parse(contentType string, body []byte) (Parsed, error) {
	var p Parsed
	m := parseMediaType(contentType)
	if m.name != "multipart/signed" {
		return p, p.read(m, entity{body: body}, 0)
	}
	p.MICAlg = m.parameters["micalg"]
	parts := splitParts(body, m.parameters["boundary"])
	if len(parts) == 0 {
		return p, ErrNoReport
	}
	content := parts[0]
	err := p.read(content.mediaType(), content, 1)
	if errors.Is(err, ErrNoReport) {
		return p, err // a signed message, not a receipt
	}
	der, signatureErr := findSignature(parts[1:])
	if signatureErr != nil {
		return p, errors.Join(signatureErr, err)
	}
	p.Signed, p.SignedContent, p.Signature = true, content.raw, der
	return p, err
}

// findSignature takes the part that says it is the signature, else the first
// one: its label is not always right. RFC 1847 §2.1 allows no further parts;
// those are not looked at, so they can do no harm.
func findSignature(parts []entity) ([]byte, error) {
	if len(parts) == 0 {
		return nil, errNoSignature
	}
	for _, e := range parts {
		if strings.HasSuffix(e.mediaType().name, pkcs7Signature) {
			return e.signature()
		}
	}
	return parts[0].signature()
}

func (e entity) mediaType() mediaType { return parseMediaType(e.header.get("Content-Type")) }

// read looks for the notification in an entity of type m, and for the first text
// beside it.
func (p *Parsed) read(m mediaType, e entity, depth int) error {
	switch {
	case strings.HasSuffix(m.name, "disposition-notification"):
		content, err := e.content()
		if err != nil {
			return err
		}
		return p.readNotification(content)
	case strings.HasPrefix(m.name, "multipart/") && depth < maxDepth:
		content, err := e.content()
		if err != nil {
			return err
		}
		for _, part := range splitParts(content, m.parameters["boundary"]) {
			if err := p.read(part.mediaType(), part, depth+1); !errors.Is(err, ErrNoReport) {
				return err
			}
		}
	case m.name == "" || strings.HasPrefix(m.name, "text/"):
		p.readText(e)
	}
	return ErrNoReport
}

// readText keeps the first text; an encoding that is broken is no reason to
// refuse the receipt.
func (p *Parsed) readText(e entity) {
	if p.HumanText != "" {
		return
	}
	content, err := e.content()
	if err != nil {
		content = e.body
	}
	p.HumanText = string(bytes.TrimRight(content, " \t\r\n"))
	p.Text = p.HumanText
}

// readNotification reads the fields of RFC 8098 §3.1 and RFC 4130 §7.4.3.
func (p *Parsed) readNotification(content []byte) error {
	h := parseHeader(content)
	p.ReportingUA = h.get("Reporting-UA")
	p.OriginalRecipient = parseRecipient(h.get("Original-Recipient"))
	p.FinalRecipient = parseRecipient(h.get("Final-Recipient"))
	p.OriginalMessageID = h.get("Original-Message-ID")
	if mic, err := ParseMIC(h.get("Received-content-MIC")); err == nil {
		p.MIC = mic
	}
	d, err := ParseDisposition(h.get("Disposition"))
	if err != nil {
		return err
	}
	p.Disposition = d.withFields(h)
	return nil
}

// withFields takes the reason from an Error, Warning or Failure field where the
// Disposition names none (the pure RFC 8098 form, RFC 4130 §7.5.6).
func (d Disposition) withFields(h header) Disposition {
	modifier := d.Modifier
	if modifier == "" && d.Type == "failed" {
		modifier = "failure"
	}
	switch modifier {
	case "error", "warning", "failure":
		if reason := h.get(modifier); reason != "" && d.Text == "" {
			return Disposition{Type: d.Type, Modifier: modifier, Text: reason}.canonical()
		}
	}
	return d
}
