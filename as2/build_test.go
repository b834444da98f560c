package as2_test

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"firstcopy/as2"
	"firstcopy/as2/internal/cmstest"
	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

func draft() as2.Draft {
	return as2.Draft{
		From: "My Company", To: "HUB", MessageID: "<1@x>", Subject: "Bestellung für", ContentType: "application/EDIFACT",
		FileName: "für 1.edi", Date: time.Date(2026, 3, 1, 9, 5, 0, 0, time.UTC), Payload: as2.Octets([]byte(edi)),
		Receipt: mdn.Request{Wanted: true, To: "x@y", Signed: true, MICAlgorithms: []string{"sha-512"}, AsyncURL: "http://x/y"},
	}
}

func octets(t *testing.T, c as2.Content) []byte {
	t.Helper()
	r, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil || int64(len(b)) != c.Size() {
		t.Fatalf("%d octets of %d, %v", len(b), c.Size(), err)
	}
	return b
}

func mic(t *testing.T, m as2.Message, h crypto.Hash) []byte {
	t.Helper()
	digest, err := m.MIC(h)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func headerMap(m as2.Message) map[string][]string {
	h := map[string][]string{}
	for _, f := range m.Header {
		h[f.Name] = append(h[f.Name], f.Value)
	}
	return h
}

// Everything that can be built can be opened, with the MIC that was promised.
func TestBuildOpen(t *testing.T) {
	t.Parallel()
	sender, receiver, elliptic := cmstest.Sender(), cmstest.Receiver(), cmstest.Elliptic()
	p := policy()
	p.Signers = append(p.Signers, elliptic.Certificate)
	for _, key := range []*smime.Key{nil, &sender.Key, &elliptic.Key} {
		for _, h := range []crypto.Hash{0, crypto.SHA1, crypto.SHA256, crypto.SHA384, crypto.SHA512} {
			for _, cipher := range []string{"none", "", "aes-128-cbc", "aes-192-cbc", "3des-cbc", "aes-128-gcm", "aes-256-gcm"} {
				for i, payload := range []string{edi, "", "--=_", edi, edi} {
					if key == nil && cipher == "none" && payload == "" {
						continue // not a message
					}
					d := draft()
					d.SignWith, d.Digest, d.Payload = key, h, as2.Octets([]byte(payload))
					d.Compress = []as2.Compression{2: 0, 3: as2.CompressBeforeSigning, 4: as2.CompressAfterSigning}[i]
					if cipher != "none" {
						d.EncryptFor, d.Cipher = receiver.Cert(), cipher
					}
					t.Run(fmt.Sprintf("%v %v %s %d %d", key != nil, h, cipher, d.Compress, len(payload)), func(t *testing.T) {
						t.Parallel()
						roundTrip(t, d, p)
					})
				}
			}
		}
	}
}

func roundTrip(t *testing.T, d as2.Draft, p as2.Policy) {
	m, err := as2.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	h, err := as2.ParseHeader(headerMap(m))
	if err != nil || h.From != d.From || h.To != d.To || h.MessageID != d.MessageID || h.Receipt.AsyncURL != d.Receipt.AsyncURL {
		t.Fatalf("header %+v, %v", h, err)
	}
	var payload bytes.Buffer
	opened, err := as2.Open(h, bytes.NewReader(m.Body), &payload, p)
	if err != nil || !bytes.Equal(payload.Bytes(), octets(t, d.Payload)) {
		t.Fatalf("payload %q, %v", payload.Bytes(), err)
	}
	if opened.Compressed != (d.Compress != as2.Uncompressed) {
		t.Errorf("compressed %v", opened.Compressed)
	}
	if opened.Signed != (d.SignWith != nil) || opened.Encrypted != (d.EncryptFor != nil) || opened.Digest != m.SignatureDigest {
		t.Errorf("signed %v with %v, encrypted %v", opened.Signed, opened.Digest, opened.Encrypted)
	}
	if opened.Encrypted && d.Cipher != "" && opened.Cipher != d.Cipher {
		t.Errorf("cipher %q", opened.Cipher)
	}
	if !bytes.Equal(opened.MIC.Digest, mic(t, m, crypto.SHA512)) || opened.MIC.Algorithm != "sha-512" {
		t.Errorf("MIC %v", opened.MIC)
	}
	if opened.FileName != d.FileName || opened.ContentType != d.ContentType {
		t.Errorf("file %q of %q", opened.FileName, opened.ContentType)
	}
}

// openssl reads both layers of what is built, through its own MIME parser.
func TestBuildForOpenSSL(t *testing.T) {
	t.Parallel()
	sender, receiver := cmstest.Sender(), cmstest.Receiver()
	for cipher, smimeType := range map[string]string{"aes-256-cbc": "enveloped-data", "aes-128-gcm": "authEnveloped-data"} {
		d := draft()
		d.Payload = as2.Octets([]byte("UNB+UNOA:1+A+B'\r\nUNZ'\r\n")) // its parser is for text
		d.SignWith, d.EncryptFor, d.Cipher = &sender.Key, receiver.Cert(), cipher
		m, err := as2.Build(d)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := headerMap(m)["Content-Type"][0], "application/pkcs7-mime; smime-type="+smimeType+"; name=\"smime.p7m\""; got != want {
			t.Errorf("content type %s, want %s", got, want)
		}
		signed := cmstest.OpenSSL(t, m.Body, "cms", "-decrypt", "-binary", "-inform", "DER",
			"-recip", receiver.CertFile(t), "-inkey", receiver.KeyFile(t))
		entity := cmstest.OpenSSL(t, signed, "cms", "-verify", "-inform", "SMIME", "-crlfeol", "-purpose", "any",
			"-CAfile", sender.CertFile(t))
		if !bytes.HasSuffix(entity, append([]byte("\r\n\r\n"), octets(t, d.Payload)...)) {
			t.Errorf("openssl read %q", entity)
		}
		if !bytes.Equal(digest(crypto.SHA256, entity), mic(t, m, crypto.SHA256)) {
			t.Error("the MIC is not over what openssl verified")
		}
	}
}

// A payload that breaks off, or a spool that fails, makes no message.
func TestBuildFromFaultyContent(t *testing.T) {
	t.Parallel()
	key := cmstest.Sender().Key
	for _, compress := range []as2.Compression{as2.Uncompressed, as2.CompressBeforeSigning, as2.CompressAfterSigning} {
		d := draft()
		d.Compress, d.SignWith, d.EncryptFor = compress, &key, cmstest.Receiver().Cert()
		d.Payload = as2.ContentAt(faultyFile{}, 1000)
		if _, err := as2.Write(io.Discard, d); !errors.Is(err, errFaulty) {
			t.Errorf("%v: %v", compress, err)
		}
	}
	d := draft()
	d.Compress, d.NewSpool = as2.CompressBeforeSigning, func() (smime.Spool, error) { return nil, errFaulty }
	if _, err := as2.Write(io.Discard, d); !errors.Is(err, errFaulty) {
		t.Error(err)
	}
}

var errFaulty = errors.New("the disk is gone")

type faultyFile struct{}

func (faultyFile) ReadAt(p []byte, at int64) (int, error) {
	if at >= 500 {
		return 0, errFaulty
	}
	return min(len(p), int(500-at)), errFaulty
}

func TestBuildHeader(t *testing.T) {
	t.Parallel()
	m, err := as2.Build(draft())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range m.Header {
		fmt.Fprintf(&b, "%s: %s\n", f.Name, f.Value)
	}
	const want = `AS2-Version: 1.1
AS2-From: "My Company"
AS2-To: HUB
Message-ID: <1@x>
Date: Sun, 01 Mar 2026 09:05:00 +0000
Subject: =?utf-8?q?Bestellung_f=C3=BCr?=
MIME-Version: 1.0
Disposition-Notification-To: x@y
Disposition-Notification-Options: signed-receipt-protocol=optional, pkcs7-signature; signed-receipt-micalg=optional, sha-512
Receipt-Delivery-Option: http://x/y
Content-Type: application/EDIFACT
Content-Disposition: attachment; filename*=utf-8''f%C3%BCr%201.edi
Content-Transfer-Encoding: binary
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !bytes.Equal(m.Body, []byte(edi)) || m.SignatureDigest != 0 {
		t.Errorf("body %q, digest %v", m.Body, m.SignatureDigest)
	}
}

func TestBuildErrors(t *testing.T) {
	t.Parallel()
	key := cmstest.Sender().Key
	for name, change := range map[string]func(*as2.Draft){
		"no sender":       func(d *as2.Draft) { d.From = "" },
		"no receiver":     func(d *as2.Draft) { d.To = "" },
		"no id":           func(d *as2.Draft) { d.MessageID = "" },
		"split header":    func(d *as2.Draft) { d.Subject = "x\r\nY: z" },
		"split type":      func(d *as2.Draft) { d.ContentType = "a/b\nY: z" },
		"long name":       func(d *as2.Draft) { d.From = strings.Repeat("x", 129) },
		"digest":          func(d *as2.Draft) { d.SignWith, d.Digest = &key, crypto.MD5 },
		"key":             func(d *as2.Draft) { d.SignWith = &smime.Key{} },
		"cipher":          func(d *as2.Draft) { d.EncryptFor, d.Cipher = cmstest.Receiver().Cert(), "rot13" },
		"nil certificate": func(d *as2.Draft) { d.EncryptFor = []*x509.Certificate{nil} },
	} {
		d := draft()
		change(&d)
		if _, err := as2.Build(d); err == nil || !strings.HasPrefix(err.Error(), "as2: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
