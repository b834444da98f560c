package as2

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"time"

	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

// Draft is a message to be built.
type Draft struct {
	From, To  string // AS2 names, unquoted
	MessageID string // with its angle brackets
	Subject   string // "" leaves the field out, as does the zero Date
	Date      time.Time

	ContentType string // of the payload; "" means application/octet-stream
	FileName    string // "" sends none
	Payload     Content
	Receipt     mdn.Request

	SignWith *smime.Key  // nil: unsigned
	Digest   crypto.Hash // of the signature; 0 means SHA-256

	Compress   Compression
	EncryptFor []*x509.Certificate // none: unencrypted
	Cipher     string              // see [smime.Encrypt]; "" means "aes-256-cbc"

	// NewSpool makes what holds compressed content on the way; nil keeps it in
	// memory. Spools are the caller's to close, when it needs no more of the
	// message's MIC.
	NewSpool func() (smime.Spool, error)
}

// Compression says whether and where a message is compressed. RFC 5402 §3
// allows it once, inside the signature or around it.
type Compression uint8

// The places. Receivers have to take both (RFC 5402 §3); an unsigned message is
// the same either way.
const (
	Uncompressed Compression = iota
	CompressBeforeSigning
	CompressAfterSigning
)

// Message is a message as it goes on the wire.
type Message struct {
	// Header is in order and without Content-Length, which the transport sets.
	Header []mdn.Field
	Body   []byte // nil if it was written elsewhere, by [Write]
	// MIC computes the digest that the receipt's Received-content-MIC has to
	// have, with the algorithm that it names. An error is the payload's.
	MIC func(crypto.Hash) ([]byte, error)
	// SignatureDigest is the signature's, 0 if unsigned.
	SignatureDigest crypto.Hash
}

// Build makes a message in memory, see [Write].
func Build(d Draft) (Message, error) {
	var body bytes.Buffer
	m, err := Write(&body, d)
	m.Body = body.Bytes()
	return m, err
}

// Write makes a message and writes its body: payload, then compression and
// signature in the order wanted, then envelope, as far as wanted (RFC 4130 §4.2,
// RFC 5402 §3). Nothing is held in memory but what the payload and the spools
// hold. Errors are those of the keys and algorithms, of names and fields that
// cannot stand in a header, of payload, spool and writer.
func Write(body io.Writer, d Draft) (Message, error) {
	if err := d.check(); err != nil {
		return Message{}, err
	}
	m, err := d.write(body)
	if err != nil {
		return Message{}, fmt.Errorf("as2: %w", err)
	}
	return m, nil
}

func (d *Draft) write(body io.Writer) (m Message, err error) {
	part := d.payloadPart()
	covered := part.octets() // RFC 5402 §4.2: the MIC is over what is not compressed yet
	if d.SignWith == nil && len(d.EncryptFor) == 0 && d.Compress == Uncompressed {
		covered = part.body // RFC 4130 §7.3.1: a plain message without its header
	}
	if d.Compress == CompressBeforeSigning {
		if part, err = d.compress(part.octets()); err != nil {
			return m, err
		}
		if d.SignWith != nil {
			covered = part.octets() // RFC 5402 §4.1: over what is signed
		}
	}
	if d.SignWith != nil {
		m.SignatureDigest = cmp.Or(d.Digest, crypto.SHA256)
		if part, err = sign(covered, *d.SignWith, m.SignatureDigest); err != nil {
			return m, err
		}
	}
	if d.Compress == CompressAfterSigning {
		if part, err = d.compress(part.octets()); err != nil {
			return m, err
		}
	}
	if len(d.EncryptFor) > 0 {
		part.header, err = encrypt(body, part.octets(), d.EncryptFor, d.Cipher)
	} else {
		err = copyTo(body, part.body)
	}
	m.Header = append(d.header(), part.header...)
	m.MIC = func(h crypto.Hash) ([]byte, error) {
		sum := h.New()
		err := copyTo(sum, covered)
		return sum.Sum(nil), err
	}
	return m, err
}

// check refuses what would break the header apart.
func (d *Draft) check() error {
	for _, f := range []mdn.Field{
		{Name: "AS2-From", Value: d.From}, {Name: "AS2-To", Value: d.To}, {Name: "Message-ID", Value: d.MessageID},
	} {
		if f.Value == "" {
			return fmt.Errorf("as2: a message needs a %s", f.Name)
		}
	}
	for _, s := range []string{d.From, d.To, d.MessageID, d.Subject, d.ContentType} {
		if hasControl(s) {
			return fmt.Errorf("as2: control characters in header value %q", s)
		}
	}
	if len(d.From) > 128 || len(d.To) > 128 {
		return errors.New("as2: a name is longer than 128 characters") // RFC 4130 §6.2
	}
	return nil
}

// header is in the order of RFC 4130 appendix A.
func (d *Draft) header() []mdn.Field {
	h := []mdn.Field{
		{Name: "AS2-Version", Value: mdn.Version},
		{Name: "AS2-From", Value: QuoteName(d.From)},
		{Name: "AS2-To", Value: QuoteName(d.To)},
		{Name: "Message-ID", Value: d.MessageID},
	}
	set := func(name, value string) { h = append(h, mdn.Field{Name: name, Value: value}) }
	if !d.Date.IsZero() {
		set("Date", d.Date.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
	}
	if d.Subject != "" {
		set("Subject", mime.QEncoding.Encode("utf-8", d.Subject))
	}
	set("MIME-Version", "1.0")
	d.Receipt.SetHeader(set)
	return h
}
