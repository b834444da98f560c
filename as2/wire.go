package as2

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"io"
	"mime"
	"strings"

	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

// wirePart is a MIME entity being built.
type wirePart struct {
	header []mdn.Field
	body   Content
}

func (p wirePart) octets() Content {
	var b []byte
	for _, f := range p.header {
		b = append(b, f.Name...)
		b = append(b, ": "...)
		b = append(b, f.Value...)
		b = append(b, "\r\n"...)
	}
	return sequence{inMemory(append(b, "\r\n"...)), p.body}
}

func (d *Draft) payloadPart() wirePart {
	contentType := d.ContentType
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	payload := d.Payload
	if payload == nil {
		payload = inMemory(nil)
	}
	p := wirePart{body: payload, header: []mdn.Field{{Name: "Content-Type", Value: contentType}}}
	if d.FileName != "" {
		value := mime.FormatMediaType("attachment", map[string]string{"filename": d.FileName})
		p.header = append(p.header, mdn.Field{Name: "Content-Disposition", Value: value})
	}
	p.header = append(p.header, mdn.Field{Name: "Content-Transfer-Encoding", Value: "binary"})
	return p
}

func sign(content Content, key smime.Key, h crypto.Hash) (wirePart, error) {
	r, err := content.Open()
	if err != nil {
		return wirePart{}, err
	}
	der, err := smime.Sign(r, key, h)
	if err != nil {
		return wirePart{}, err
	}
	boundary := "=_" + rand.Text()
	signature := wirePart{body: inMemory(base64Lines(der)), header: []mdn.Field{
		{Name: "Content-Type", Value: `application/pkcs7-signature; name="smime.p7s"`},
		{Name: "Content-Transfer-Encoding", Value: "base64"},
		{Name: "Content-Disposition", Value: `attachment; filename="smime.p7s"`},
	}}
	body := sequence{inMemory("--" + boundary + "\r\n"), content, inMemory("\r\n--" + boundary + "\r\n"), signature.octets(),
		inMemory("\r\n--" + boundary + "--\r\n")}
	contentType := `multipart/signed; protocol="application/pkcs7-signature"; micalg="` +
		mdn.NameOf(h) + `"; boundary="` + boundary + `"`
	return wirePart{[]mdn.Field{{Name: "Content-Type", Value: contentType}}, body}, nil
}

// encrypt writes the envelope and returns the header that belongs to it.
func encrypt(body io.Writer, content Content, to []*x509.Certificate, cipher string) ([]mdn.Field, error) {
	if cipher == "" {
		cipher = "aes-256-cbc"
	}
	smimeType := "enveloped-data"
	if strings.HasSuffix(cipher, "-gcm") {
		smimeType = "authEnveloped-data" // RFC 8551 §3.2.2
	}
	r, err := content.Open()
	if err != nil {
		return nil, err
	}
	if err := smime.Encrypt(body, sized{r, int(content.Size())}, to, cipher); err != nil {
		return nil, err
	}
	return []mdn.Field{
		{Name: "Content-Type", Value: `application/pkcs7-mime; smime-type=` + smimeType + `; name="smime.p7m"`},
		{Name: "Content-Disposition", Value: `attachment; filename="smime.p7m"`},
		{Name: "Content-Transfer-Encoding", Value: "binary"},
	}, nil
}

func (d *Draft) compress(content Content) (wirePart, error) {
	newSpool := d.NewSpool
	if newSpool == nil {
		newSpool = smime.NewMemorySpool
	}
	spool, err := newSpool()
	if err != nil {
		return wirePart{}, err
	}
	r, err := content.Open()
	if err != nil {
		return wirePart{}, err
	}
	body := &spooled{Spool: spool}
	if err := smime.Compress(body, r); err != nil {
		return wirePart{}, err
	}
	return wirePart{body: body, header: []mdn.Field{
		{Name: "Content-Type", Value: `application/pkcs7-mime; smime-type=compressed-data; name="smime.p7z"`},
		{Name: "Content-Disposition", Value: `attachment; filename="smime.p7z"`},
		{Name: "Content-Transfer-Encoding", Value: "binary"},
	}}, nil
}

// base64Lines encodes in lines of 64, which every receiver takes.
func base64Lines(b []byte) []byte {
	text := base64.StdEncoding.EncodeToString(b)
	var out bytes.Buffer
	for len(text) > 0 {
		n := min(64, len(text))
		out.WriteString(text[:n])
		out.WriteString("\r\n")
		text = text[n:]
	}
	return out.Bytes()
}
