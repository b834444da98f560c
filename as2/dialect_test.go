package as2_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"firstcopy/as2"
	"firstcopy/as2/internal/cmstest"
)

func wrapped(b []byte, columns int, lineEnd string) []byte {
	text := base64.StdEncoding.EncodeToString(b)
	var out strings.Builder
	for len(text) > columns {
		out.WriteString(text[:columns] + lineEnd)
		text = text[columns:]
	}
	out.WriteString(text + lineEnd)
	return []byte(out.String())
}

// forms are the encodings of a CMS object, which every label may stand on.
func forms(der []byte) map[string][]byte {
	return map[string][]byte{
		"binary":       der,
		"76 CRLF":      wrapped(der, 76, "\r\n"),
		"64 LF":        wrapped(der, 64, "\n"),
		"one line":     wrapped(der, 1<<20, ""),
		"garbage line": append(wrapped(der, 76, "\r\n"), "\r\n\r\n"...),
		"PEM":          []byte("-----BEGIN PKCS7-----\n" + string(wrapped(der, 64, "\n")) + "-----END PKCS7-----\n"),
	}
}

var labels = []string{"", "binary", "Binary", "bin", "7bit", "8bit", "8-bit", "base64", "BASE64", "x-token"}

func TestOpenEnvelopeEncoding(t *testing.T) {
	t.Parallel()
	m := encrypt(t, part(edi))
	for form, body := range forms(m.body) {
		for _, label := range labels {
			t.Run(fmt.Sprintf("%s as %q", form, label), func(t *testing.T) {
				t.Parallel()
				m := m
				m.body, m.encoding = body, label
				mustOpen(t, m, edi, part(edi))
				inner := sign(t, m.entity()) // and inside another layer
				opened, _, err := inner.open(policy())
				if err != nil || !opened.Encrypted {
					t.Errorf("inside a signature: %v", err)
				}
			})
		}
	}
}

func TestOpenSignatureEncoding(t *testing.T) {
	t.Parallel()
	der := cmstest.Sender().Sign(t, part(edi), "-md", "sha256")
	for form, body := range forms(der) {
		for _, label := range labels {
			for _, contentType := range []string{"application/pkcs7-signature", "application/x-pkcs7-signature; name=smime.p7s"} {
				head := "Content-Type: " + contentType + "\r\n"
				if label != "" {
					head += "content-transfer-encoding: " + label + "\r\n"
				}
				m := message{contentType: signedType, body: signedBody(part(edi), "\r\n", append([]byte(head+"\r\n"), body...))}
				if _, _, err := m.open(policy()); err != nil {
					t.Errorf("%s as %q: %v", form, label, err)
				}
			}
		}
	}
}

// The payload is decoded, the MIC is over what was sent.
func TestOpenPayloadEncoding(t *testing.T) {
	t.Parallel()
	encoded := string(wrapped([]byte(edi), 76, "\r\n"))
	tests := []struct{ name, label, content, payload string }{
		{"base64", "base64", encoded, edi},
		{"base64 LF", "Base64", strings.ReplaceAll(encoded, "\r\n", "\n"), edi},
		{"base64 unlabelled", "", encoded, encoded},
		{"quoted-printable", "quoted-printable", "UNB+UNOC:3+=FC'=\r\nUNZ'\r\n", "UNB+UNOC:3+\xfc'UNZ'\r\n"},
		{"mislabelled base64", "base64", edi, edi},
		{"7bit on binary", "7bit", edi, edi},
		{"binary", "binary", edi, edi},
		{"misspelt", "8-bit", edi, edi},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			entity := message{contentType: "application/EDIFACT", encoding: tt.label, body: []byte(tt.content)}
			mustOpen(t, entity, tt.payload, entity.body)
			mustOpen(t, sign(t, entity.entity()), tt.payload, entity.entity())
			mustOpen(t, encrypt(t, entity.entity()), tt.payload, entity.entity())
		})
	}
	broken := message{contentType: "application/EDIFACT", encoding: "quoted-printable", body: []byte("=\x01\r\n")}
	mustRefuse(t, broken, policy(), as2.KindMalformed)
}

// Binary content without a label inside a signature is left alone, line ends in
// it included.
func TestOpenBinaryPart(t *testing.T) {
	t.Parallel()
	content := "0\x82\n\r\n\r\n\x00\r\r\n--\n"
	entity := []byte("Content-Type: application/octet-stream; name=x.bin\r\n\r\n" + content)
	mustOpen(t, sign(t, entity), content, entity)
}

func TestOpenEnvelopeTypes(t *testing.T) {
	t.Parallel()
	m := encrypt(t, part(edi))
	for _, contentType := range []string{
		"application/pkcs7-mime", "application/x-pkcs7-mime", "Application/PKCS7-MIME; smime-type=Enveloped-Data",
		"application/pkcs7-mime; smime-type=signed-data", "application/pkcs7-mime; name=my file.p7m;; smime-type=enveloped-data;",
		"application/octet-stream; name=smime.p7m", "application/octet-stream; name=\"SMIME.P7M\"", "application/octet-stream", "",
		"\"application/pkcs7-mime; smime-type=enveloped-data\"",
	} {
		m.contentType = contentType
		mustOpen(t, m, edi, part(edi))
	}
	// CMS that is the sender's own business stays closed.
	m.contentType = "application/octet-stream; name=contract.cms"
	mustOpen(t, m, string(m.body), m.body)
	m.contentType, m.disposition = "application/octet-stream", "attachment; filename=contract.cms"
	mustOpen(t, m, string(m.body), m.body)
	m.contentType, m.disposition = "application/octet-stream", "attachment; filename=smime.p7m"
	mustOpen(t, m, edi, part(edi))
}

func TestOpenSignedTypes(t *testing.T) {
	t.Parallel()
	entity := part(edi)
	der := cmstest.Sender().Sign(t, entity, "-md", "sha256")
	for boundary, contentType := range map[string]string{
		"b":             `Multipart/Signed; boundary=b`,
		"c":             `multipart/signed; boundary=c; protocol=application/x-pkcs7-signature; micalg=rsa-sha1`,
		"----=_Part_1.": `multipart/signed; boundary=----=_Part_1.; micalg="sha-256"`,
		"d":             `multipart/signed;; protocol="application/pkcs7-signature"; micalg=; boundary="d";`,
		"e":             `"multipart/signed; boundary=\"e\""`,
		"f":             "multipart/signed; x=a/b; name=\xfc b; boundary=\"f\"",
		"g":             `multipart/signed; boundary=g; boundary=h`,
		"'()+_,-./:=? ": `multipart/signed; boundary="'()+_,-./:=? "`,
	} {
		body := strings.ReplaceAll(string(signedBody(entity, "\r\n", base64Part(der))), "--b", "--"+boundary)
		mustOpen(t, message{contentType: contentType, body: []byte(body)}, edi, entity)
		preamble := "This is an S/MIME signed message\n\n" + body + "epilogue\r\n"
		mustOpen(t, message{contentType: contentType, body: []byte(preamble)}, edi, entity)
	}
}

// A part without header block, or without even the empty line, is a payload.
func TestOpenWithoutHeader(t *testing.T) {
	t.Parallel()
	const text = "UNA:+.? '\r\nUNB+UNOA:1+A+B+1'\r\n\r\nUNZ'"
	mustOpen(t, sign(t, []byte("\r\n"+text)), text, []byte("\r\n"+text))
	mustOpen(t, sign(t, []byte(text)), text, []byte(text))
	mustOpen(t, encrypt(t, []byte(text)), text, []byte(text))
	mustOpen(t, encrypt(t, []byte("\r\n"+text)), text, []byte("\r\n"+text))
	folded := []byte("MIME-Version:   1.0\r\ncontent-TYPE:\tapplication/EDIFACT;\r\n\tcharset=x\r\nAS2-From: PART\r\n\r\n" + text)
	mustOpen(t, sign(t, folded), text, folded)
}

// Signed documents are payloads.
func TestOpenSignedDocument(t *testing.T) {
	t.Parallel()
	document := string(cmstest.Other().Sign(t, []byte("<invoice/>"), "-nodetach"))
	for _, contentType := range []string{"application/octet-stream; name=invoice.xml.p7m", "application/pkcs7-mime; smime-type=signed-data"} {
		entity := []byte("Content-Type: " + contentType + "\r\n\r\n" + document)
		mustOpen(t, sign(t, entity), document, entity)
	}
	opaque := message{contentType: "application/pkcs7-mime; smime-type=signed-data", body: []byte(document)}
	mustRefuse(t, opaque, policy(), as2.KindAuthentication)
}
