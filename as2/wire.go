package as2

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"mime"
	"slices"
	"strings"

	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

// wirePart is a MIME entity being built.
type wirePart struct {
	header []mdn.Field
	body   []byte
}

func (p wirePart) octets() []byte {
	size := len(p.body) + 2
	for _, f := range p.header {
		size += len(f.Name) + len(f.Value) + 4
	}
	b := make([]byte, 0, size)
	for _, f := range p.header {
		b = append(b, f.Name...)
		b = append(b, ": "...)
		b = append(b, f.Value...)
		b = append(b, "\r\n"...)
	}
	b = append(b, "\r\n"...)
	return append(b, p.body...)
}

func (d *Draft) payloadPart() wirePart {
	contentType := d.ContentType
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	p := wirePart{body: d.Payload, header: []mdn.Field{{Name: "Content-Type", Value: contentType}}}
	if d.FileName != "" {
		value := mime.FormatMediaType("attachment", map[string]string{"filename": d.FileName})
		p.header = append(p.header, mdn.Field{Name: "Content-Disposition", Value: value})
	}
	p.header = append(p.header, mdn.Field{Name: "Content-Transfer-Encoding", Value: "binary"})
	return p
}

func sign(content []byte, key smime.Key, h crypto.Hash) (wirePart, error) {
	der, err := smime.Sign(bytes.NewReader(content), key, h)
	if err != nil {
		return wirePart{}, err
	}
	boundary := "=_" + rand.Text()
	signature := wirePart{body: base64Lines(der), header: []mdn.Field{
		{Name: "Content-Type", Value: `application/pkcs7-signature; name="smime.p7s"`},
		{Name: "Content-Transfer-Encoding", Value: "base64"},
		{Name: "Content-Disposition", Value: `attachment; filename="smime.p7s"`},
	}}
	delimiter := []byte("\r\n--" + boundary)
	crlf := []byte("\r\n")
	body := slices.Concat(delimiter[2:], crlf, content, delimiter, crlf, signature.octets(), delimiter, []byte("--\r\n"))
	contentType := `multipart/signed; protocol="application/pkcs7-signature"; micalg="` +
		mdn.NameOf(h) + `"; boundary="` + boundary + `"`
	return wirePart{[]mdn.Field{{Name: "Content-Type", Value: contentType}}, body}, nil
}

func encrypt(content []byte, to []*x509.Certificate, cipher string) (wirePart, error) {
	if cipher == "" {
		cipher = "aes-256-cbc"
	}
	smimeType := "enveloped-data"
	if strings.HasSuffix(cipher, "-gcm") {
		smimeType = "authEnveloped-data" // RFC 8551 §3.2.2
	}
	var body bytes.Buffer
	if err := smime.Encrypt(&body, bytes.NewReader(content), to, cipher); err != nil {
		return wirePart{}, err
	}
	return wirePart{body: body.Bytes(), header: []mdn.Field{
		{Name: "Content-Type", Value: `application/pkcs7-mime; smime-type=` + smimeType + `; name="smime.p7m"`},
		{Name: "Content-Disposition", Value: `attachment; filename="smime.p7m"`},
		{Name: "Content-Transfer-Encoding", Value: "binary"},
	}}, nil
}

func compress(content []byte) (wirePart, error) {
	var body bytes.Buffer
	if err := smime.Compress(&body, bytes.NewReader(content)); err != nil {
		return wirePart{}, err
	}
	return wirePart{body: body.Bytes(), header: []mdn.Field{
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
