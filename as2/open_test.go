package as2_test

import (
	"bytes"
	"crypto"
	"slices"
	"strings"
	"testing"

	"firstcopy/as2"
	"firstcopy/as2/internal/cmstest"
	"firstcopy/mdn"
)

// The MIC table: what is covered in each packaging (RFC 4130 §7.3.1).
func TestOpenPermutations(t *testing.T) {
	t.Parallel()
	entity := part(edi)
	signed := sign(t, entity)
	encrypted := encrypt(t, entity)
	inner := signed
	inner.contentType = strings.Replace(signedType, `"b"`, `"inner"`, 1)
	inner.body = bytes.ReplaceAll(signed.body, []byte("--b"), []byte("--inner"))
	tests := []struct {
		name              string
		message           message
		covered           []byte
		signed, encrypted bool
	}{
		{"plain", message{contentType: "application/EDIFACT", body: []byte(edi)}, []byte(edi), false, false},
		{"signed", signed, entity, true, false},
		{"encrypted", encrypted, entity, false, true},
		{"signed, encrypted", encrypt(t, signed.entity()), entity, true, true},
		{"encrypted, signed", sign(t, encrypted.entity()), encrypted.entity(), true, true},
		{"signed twice", sign(t, inner.entity()), inner.entity(), true, false},
		{"encrypted twice", encrypt(t, encrypted.entity()), entity, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opened := mustOpen(t, tt.message, edi, tt.covered)
			if opened.Signed != tt.signed || opened.Encrypted != tt.encrypted {
				t.Errorf("signed %v, encrypted %v", opened.Signed, opened.Encrypted)
			}
			if tt.signed && (opened.Signer != cmstest.Sender().Certificate || opened.Digest != crypto.SHA256) {
				t.Errorf("signer %v, digest %v", opened.Signer, opened.Digest)
			}
			if tt.encrypted && opened.Cipher != "aes-256-cbc" {
				t.Errorf("cipher %q", opened.Cipher)
			}
			if opened.ContentType != "application/EDIFACT" {
				t.Errorf("content type %q", opened.ContentType)
			}
		})
	}
}

func TestOpenMICAlgorithm(t *testing.T) {
	t.Parallel()
	entity := part(edi)
	sha512 := sign(t, entity, "-md", "sha512")
	plain := message{contentType: "application/EDIFACT", body: []byte(edi)}
	tests := []struct {
		name     string
		message  message
		covered  []byte
		asked    []string
		required bool
		want     crypto.Hash
		spelling string
		kind     as2.Kind
	}{
		{"asked", sha512, entity, []string{"SHA1", "sha256"}, false, crypto.SHA1, "SHA1", 0},
		{"first supported", sha512, entity, []string{"whirlpool", "sha2-256"}, false, crypto.SHA256, "sha2-256", 0},
		{"the signature's", sha512, entity, nil, false, crypto.SHA512, "sha-512", 0},
		{"plain asked", plain, []byte(edi), []string{"sha-384"}, false, crypto.SHA384, "sha-384", 0},
		{"optional, unsupported", sha512, entity, []string{"whirlpool"}, false, crypto.SHA512, "sha-512", 0},
		{"required, unsupported", sha512, entity, []string{"whirlpool"}, true, crypto.SHA512, "sha-512", as2.KindUnsupportedMIC},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := tt.message
			m.receipt = mdn.Request{Wanted: true, Signed: true, Required: tt.required, MICAlgorithms: tt.asked}
			opened, _, err := m.open(policy())
			if kindOf(err) != tt.kind {
				t.Fatalf("got %v, want kind %v", err, tt.kind)
			}
			want := mdn.MIC{Digest: digest(tt.want, tt.covered), Algorithm: tt.spelling}
			if opened.MIC.String() != want.String() {
				t.Errorf("MIC %v, want %v", opened.MIC, want)
			}
		})
	}
	sha512.receipt = mdn.Request{Wanted: true, Required: true, Protocol: "pgp-signature"}
	mustRefuse(t, sha512, policy(), as2.KindUnsupportedFormat)
}

// An unsigned message that asks for no algorithm gets the one agreed on; a signed one its own.
func TestOpenDefaultMIC(t *testing.T) {
	t.Parallel()
	agreed := policy()
	agreed.DefaultMIC = "sha1"
	entity := part(edi)
	for _, tt := range []struct {
		name     string
		message  message
		covered  []byte
		want     crypto.Hash
		spelling string
	}{
		{"plain", message{contentType: "application/EDIFACT", body: []byte(edi)}, []byte(edi), crypto.SHA1, "sha1"},
		{"encrypted", encrypt(t, entity), entity, crypto.SHA1, "sha1"},
		{"signed", sign(t, entity), entity, crypto.SHA256, "sha-256"},
	} {
		opened, _, err := tt.message.open(agreed)
		if want := (mdn.MIC{Digest: digest(tt.want, tt.covered), Algorithm: tt.spelling}); err != nil || opened.MIC.String() != want.String() {
			t.Errorf("%s: MIC %v, %v; want %v", tt.name, opened.MIC, err, want)
		}
	}
}

// What was signed with CRLF and sent with LF verifies, and is forwarded as
// sent; the MIC is over what was signed.
func TestOpenBareLF(t *testing.T) {
	t.Parallel()
	const lf, crlf = "UNB+1'\nUNZ'\n", "UNB+1'\r\nUNZ'\r\n"
	const lfHeader = "Content-Type: application/EDIFACT\n\n"
	sender := cmstest.Sender()
	text := sender.Sign // with -binary
	tests := []struct {
		name           string
		sent, signedAs string
		lineEnd        string
	}{
		{"as is", partHeader + lf, partHeader + lf, "\r\n"},
		{"CRLF", partHeader + crlf, partHeader + crlf, "\r\n"},
		{"signed as CRLF", partHeader + lf, partHeader + crlf, "\r\n"},
		{"header LF, as is", lfHeader + lf, lfHeader + lf, "\r\n"},
		{"header LF, signed as CRLF", lfHeader + crlf, "Content-Type: application/EDIFACT\r\n\r\n" + crlf, "\r\n"},
		{"only the header canonical", lfHeader + lf, "Content-Type: application/EDIFACT\r\n\r\n" + lf, "\r\n"},
		{"LF delimiters", lfHeader + lf, lfHeader + lf, "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, args := range [][]string{{"-md", "sha256"}, {"-md", "sha256", "-noattr"}} {
				der := text(t, []byte(tt.signedAs), args...)
				m := message{contentType: signedType, body: signedBody([]byte(tt.sent), tt.lineEnd, base64Part(der))}
				payload := lf
				if tt.sent[len(tt.sent)-len(crlf):] == crlf {
					payload = crlf
				}
				mustOpen(t, m, payload, []byte(tt.signedAs))
			}
		})
	}
	// openssl without -binary signs the CRLF form by itself.
	der := cmstest.OpenSSL(t, part(lf), "cms", "-sign", "-outform", "DER", "-md", "sha256",
		"-signer", sender.CertFile(t), "-inkey", sender.KeyFile(t))
	mustOpen(t, signedMessage(part(lf), der), lf, part(crlf))
}

func TestOpenEmpty(t *testing.T) {
	t.Parallel()
	mustOpen(t, sign(t, []byte(partHeader)), "", []byte(partHeader))
	mustOpen(t, sign(t, nil), "", nil)
	mustOpen(t, encrypt(t, []byte(partHeader)), "", []byte(partHeader))
	for _, contentType := range []string{"application/EDIFACT", "", envelopedType, signedType} {
		mustRefuse(t, message{contentType: contentType}, policy(), as2.KindMalformed)
	}
}

// A signature of any permitted algorithm is found by the CMS, not by micalg.
func TestOpenDigests(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]crypto.Hash{
		"sha1": crypto.SHA1, "sha224": crypto.SHA224, "sha384": crypto.SHA384, "sha512": crypto.SHA512,
	} {
		opened, _, err := sign(t, part(edi), "-md", name).open(policy())
		if err != nil || opened.Digest != h {
			t.Errorf("%s: %v, %v", name, opened.Digest, err)
		}
	}
}

// Receipts posted at the message URL are read and never delivered.
func TestOpenReceipt(t *testing.T) {
	t.Parallel()
	sender := cmstest.Sender()
	report := mdn.Report{
		FinalRecipient: "PART", OriginalMessageID: "<77@hub>", Disposition: mdn.Processed,
		MIC: mdn.MIC{Digest: digest(crypto.SHA256, nil), Algorithm: "sha-256"},
	}
	compose := func(sign mdn.Sign) message {
		r, err := mdn.Compose(report, mdn.Envelope{From: "PART", To: "HUB"}, sign, crypto.SHA256)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Header, func(f mdn.Field) bool { return f.Name == "Content-Type" })
		return message{contentType: r.Header[i].Value, body: r.Body}
	}
	by := func(p cmstest.Party) mdn.Sign {
		return func(content []byte, _ crypto.Hash) ([]byte, error) { return p.Sign(t, content, "-md", "sha256"), nil }
	}
	p := policy()
	p.RequireSigned, p.RequireEncrypted = true, true // is for messages
	for name, tt := range map[string]struct {
		message message
		signed  bool
		kind    as2.Kind
	}{
		"unsigned":        {compose(nil), false, 0},
		"signed":          {compose(by(sender)), true, 0},
		"encrypted":       {encrypt(t, compose(by(sender)).entity()), true, 0},
		"by another":      {compose(by(cmstest.Other())), false, as2.KindAuthentication},
		"without content": {message{contentType: "multipart/report; report-type=disposition-notification; boundary=b", body: []byte("--b")}, false, as2.KindMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			opened, payload, err := tt.message.open(p)
			if kindOf(err) != tt.kind || (err != nil) != (tt.kind != 0) {
				t.Fatalf("got %v, want %v", err, tt.kind)
			}
			if !opened.IsReceipt || opened.Signed != tt.signed || len(payload) > 0 || !opened.MIC.IsZero() {
				t.Errorf("%+v, payload %q", opened, payload)
			}
			if tt.kind != as2.KindMalformed && opened.Receipt.OriginalMessageID != "<77@hub>" {
				t.Errorf("receipt %+v", opened.Receipt)
			}
		})
	}
}
