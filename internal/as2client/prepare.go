package as2client

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/google/uuid"

	"firstcopy/as2"
	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

// Prepared is a message ready to be posted, as often as needed. It is never
// changed.
type Prepared struct {
	URL       string
	MessageID string
	// Header and Body are what is sent; Content-Length is the transport's. Body is
	// nil where [PrepareLarge] has put it into a file.
	Header []mdn.Field
	Body   []byte
	// Receipt is what was asked for.
	Receipt mdn.Request

	mics    map[crypto.Hash][]byte // expected content digests
	signers []*x509.Certificate
	large   *scratch // nil: Body is all
}

// Prepare builds the message in memory. Errors are those of the address, the
// names, the keys and the algorithms.
func Prepare(p Partner, payload []byte, o Options) (Prepared, error) {
	var body bytes.Buffer
	prepared, err := prepare(p, as2.Octets(payload), o, &body, nil)
	prepared.Body = body.Bytes()
	return prepared, err
}

// PrepareLarge builds the message in a temporary file without a name, in memory
// that does not depend on its size. The file is there until Close.
func PrepareLarge(p Partner, payload as2.Content, o Options) (Prepared, error) {
	var compressed []io.Closer
	defer func() {
		for _, c := range compressed {
			c.Close()
		}
	}()
	body, err := newScratch()
	if err != nil {
		return Prepared{}, err
	}
	prepared, err := prepare(p, payload, o, body, func() (smime.Spool, error) {
		s, err := newScratch()
		compressed = append(compressed, s)
		return s, err
	})
	if err == nil {
		err = body.flush()
	}
	if err != nil {
		body.Close()
		return Prepared{}, err
	}
	prepared.large = body
	return prepared, nil
}

// Close gives the message's file back, if it has one.
func (p Prepared) Close() error {
	if p.large == nil {
		return nil
	}
	return p.large.Close()
}

// content is what is posted.
func (p Prepared) content() as2.Content {
	if p.large != nil {
		return p.large
	}
	return as2.Octets(p.Body)
}

func prepare(p Partner, payload as2.Content, o Options, body io.Writer, newSpool func() (smime.Spool, error)) (Prepared, error) {
	if err := checkURL(p.URL); err != nil {
		return Prepared{}, err
	}
	if o.MessageID == "" {
		o.MessageID = "<" + uuid.NewString() + "@firstcopy>"
	}
	if o.ContentType == "" {
		var err error
		if o.ContentType, err = guess(payload); err != nil {
			return Prepared{}, err
		}
	}
	if o.Date.IsZero() {
		o.Date = time.Now()
	}
	if p.Receipt.To == "" {
		p.Receipt.To = p.From
	}
	message, err := as2.Write(body, as2.Draft{
		From: p.From, To: p.To, MessageID: o.MessageID, Subject: o.Subject, Date: o.Date,
		ContentType: o.ContentType, FileName: o.FileName, Payload: payload, Receipt: p.Receipt,
		SignWith: p.SignKey, Digest: p.Digest, Compress: p.Compress, EncryptFor: p.EncryptFor, Cipher: p.Cipher,
		NewSpool: newSpool,
	})
	if err != nil {
		return Prepared{}, fmt.Errorf("building the message: %w", err)
	}
	mics, err := expectedMICs(message, p.Receipt)
	if err != nil {
		return Prepared{}, fmt.Errorf("digesting the payload: %w", err)
	}
	return Prepared{URL: p.URL, MessageID: o.MessageID, Header: message.Header, Receipt: p.Receipt, mics: mics, signers: p.ReceiptSigners}, nil
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
func expectedMICs(m as2.Message, r mdn.Request) (map[crypto.Hash][]byte, error) {
	mics := map[crypto.Hash][]byte{}
	if !r.Wanted {
		return mics, nil
	}
	hashes := []crypto.Hash{crypto.SHA1, crypto.SHA256, m.SignatureDigest}
	for _, name := range r.MICAlgorithms {
		if h, ok := mdn.HashByName(name); ok {
			hashes = append(hashes, h)
		}
	}
	for _, h := range hashes {
		if h == 0 || mics[h] != nil {
			continue
		}
		var err error
		if mics[h], err = m.MIC(h); err != nil {
			return nil, err
		}
	}
	return mics, nil
}

// guess looks at the beginning of the payload.
func guess(payload as2.Content) (string, error) {
	r, err := payload.Open()
	if err != nil {
		return "", fmt.Errorf("reading the payload: %w", err)
	}
	start, err := io.ReadAll(io.LimitReader(r, 1<<10))
	if err != nil {
		return "", fmt.Errorf("reading the payload: %w", err)
	}
	return GuessContentType(start), nil
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
