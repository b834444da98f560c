package as2client

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"

	"firstcopy/as2"
	"firstcopy/mdn"
)

// Prepared is a message ready to be posted, as often as needed. It is never
// changed.
type Prepared struct {
	URL       string
	MessageID string
	// Header and Body are what is sent; Content-Length is the transport's.
	Header []mdn.Field
	Body   []byte
	// Receipt is what was asked for.
	Receipt mdn.Request

	mics    map[crypto.Hash][]byte // expected content digests
	signers []*x509.Certificate
}

// Prepare builds the message. Errors are those of the address, the names, the
// keys and the algorithms.
func Prepare(p Partner, payload []byte, o Options) (Prepared, error) {
	if err := checkURL(p.URL); err != nil {
		return Prepared{}, err
	}
	if o.MessageID == "" {
		o.MessageID = "<" + uuid.NewString() + "@firstcopy>"
	}
	if o.ContentType == "" {
		o.ContentType = GuessContentType(payload)
	}
	if o.Date.IsZero() {
		o.Date = time.Now()
	}
	if p.Receipt.To == "" {
		p.Receipt.To = p.From
	}
	message, err := as2.Build(as2.Draft{
		From: p.From, To: p.To, MessageID: o.MessageID, Subject: o.Subject, Date: o.Date,
		ContentType: o.ContentType, FileName: o.FileName, Payload: payload, Receipt: p.Receipt,
		SignWith: p.SignKey, Digest: p.Digest, Compress: p.Compress, EncryptFor: p.EncryptFor, Cipher: p.Cipher,
	})
	if err != nil {
		return Prepared{}, fmt.Errorf("building the message: %w", err)
	}
	return Prepared{
		URL: p.URL, MessageID: o.MessageID, Header: message.Header, Body: message.Body, Receipt: p.Receipt,
		mics: expectedMICs(message, p.Receipt), signers: p.ReceiptSigners,
	}, nil
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil {
		return fmt.Errorf("the address to post to: %w", errors.Unwrap(err)) // the outer error repeats it, password included
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("the address to post to is not an http or https URL: %q", u.Redacted())
	}
	return nil
}

// expectedMICs computes the digests a receiver may rightly report: those asked
// for, the signature's, and the defaults of RFC 4130 §7.4.3 and its revision.
func expectedMICs(m as2.Message, r mdn.Request) map[crypto.Hash][]byte {
	mics := map[crypto.Hash][]byte{}
	if !r.Wanted {
		return mics
	}
	hashes := []crypto.Hash{crypto.SHA1, crypto.SHA256, m.SignatureDigest}
	for _, name := range r.MICAlgorithms {
		if h, ok := mdn.HashByName(name); ok {
			hashes = append(hashes, h)
		}
	}
	for _, h := range hashes {
		if h != 0 && mics[h] == nil {
			mics[h] = m.MIC(h)
		}
	}
	return mics
}

// GuessContentType tells the media type of a payload from its first octets:
// application/EDIFACT, application/EDI-X12 (RFC 1767), application/xml, else
// application/octet-stream.
func GuessContentType(payload []byte) string {
	start := bytes.TrimPrefix(payload, []byte("\xef\xbb\xbf")) // UTF-8 byte order mark
	start = bytes.TrimLeft(start, " \t\r\n")
	switch {
	case bytes.HasPrefix(start, []byte("UNA")), bytes.HasPrefix(start, []byte("UNB")):
		return "application/EDIFACT"
	case bytes.HasPrefix(start, []byte("ISA")):
		return "application/EDI-X12"
	case bytes.HasPrefix(start, []byte("<")):
		return "application/xml"
	}
	return "application/octet-stream"
}
