package as2_test

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"firstcopy/as2"
	"firstcopy/as2/internal/cmstest"
	"firstcopy/mdn"
)

// Only the partner's agreed certificates authenticate.
func TestOpenSigner(t *testing.T) {
	t.Parallel()
	entity := part(edi)
	by := func(p cmstest.Party, args ...string) message {
		return signedMessage(entity, p.Sign(t, entity, append([]string{"-md", "sha256"}, args...)...))
	}
	tests := map[string]message{
		"embedded stranger":        by(cmstest.Stranger()),
		"another partner":          by(cmstest.Other()),
		"cloned issuer and serial": by(cmstest.Clone()),
		"no signature":             {contentType: signedType, body: signedBody(entity, "\r\n", []byte("\r\nMII"))},
		"envelope for a signature": {contentType: signedType, body: signedBody(entity, "\r\n", base64Part(encrypt(t, entity).body))},
	}
	for name, m := range tests {
		opened := mustRefuse(t, m, policy(), as2.KindAuthentication)
		if opened.Signed || opened.Signer != nil {
			t.Errorf("%s: signed by %v", name, opened.Signer)
		}
		if want := digest(crypto.SHA256, entity); !bytes.Equal(opened.MIC.Digest, want) {
			t.Errorf("%s: MIC %v", name, opened.MIC)
		}
	}
	// A good signature inside a bad one proves nothing about the message.
	wrapped := sign(t, entity)
	wrapped.contentType = strings.Replace(signedType, `"b"`, `"inner"`, 1)
	wrapped.body = bytes.ReplaceAll(wrapped.body, []byte("--b"), []byte("--inner"))
	outer := signedMessage(wrapped.entity(), cmstest.Stranger().Sign(t, wrapped.entity()))
	if opened := mustRefuse(t, outer, policy(), as2.KindAuthentication); opened.Signed || opened.Signer != nil {
		t.Errorf("wrapped by a stranger: signed by %v", opened.Signer)
	}
	p := policy()
	p.Signers = nil
	mustRefuse(t, sign(t, entity), p, as2.KindAuthentication)
	p.Signers = []*x509.Certificate{cmstest.Other().Certificate, cmstest.Sender().Certificate}
	if opened, _, err := by(cmstest.Other()).open(p); err != nil || opened.Signer != cmstest.Other().Certificate {
		t.Errorf("second agreed certificate: %v", err)
	}
}

func TestOpenIntegrity(t *testing.T) {
	t.Parallel()
	m := sign(t, part(edi))
	m.body = bytes.Replace(m.body, []byte("UNH+1"), []byte("UNH+2"), 1)
	opened := mustRefuse(t, m, policy(), as2.KindIntegrity)
	if opened.Signed || opened.MIC.IsZero() {
		t.Errorf("signed %v, MIC %v", opened.Signed, opened.MIC)
	}
	mustRefuse(t, encrypt(t, m.entity()), policy(), as2.KindIntegrity)
}

// What the agreement demands is enforced once the message is open, so that the
// receipt can have its MIC; the payload is not released.
func TestOpenFloor(t *testing.T) {
	t.Parallel()
	entity := part(edi)
	signed := sign(t, entity)
	plain := message{contentType: "application/EDIFACT", body: []byte(edi)}
	both := encrypt(t, signed.entity())
	demand := func(change func(*as2.Policy)) as2.Policy {
		p := policy()
		change(&p)
		return p
	}
	strict := demand(func(p *as2.Policy) { p.RequireSigned, p.RequireEncrypted = true, true })
	tests := []struct {
		name    string
		message message
		policy  as2.Policy
		covered []byte
		refused bool
	}{
		{"plain", plain, strict, []byte(edi), true},
		{"signed only", signed, strict, entity, true},
		{"encrypted only", encrypt(t, entity), strict, entity, true},
		{"both", both, strict, entity, false},
		{"encrypted inside", sign(t, encrypt(t, entity).entity()), strict, nil, false},
		{"digest", signed, demand(func(p *as2.Policy) { p.Digests = []string{"sha-384", "SHA512"} }), entity, true},
		{"digest allowed", signed, demand(func(p *as2.Policy) { p.Digests = []string{"SHA256"} }), entity, false},
		{"md5", sign(t, entity, "-md", "md5"), policy(), entity, true},
		{"md5 allowed", sign(t, entity, "-md", "md5"), demand(func(p *as2.Policy) { p.Digests = []string{"md5"} }), entity, false},
		{"weak digest inside", sign(t, encrypt(t, sign(t, entity, "-md", "md5").entity()).entity()), policy(), nil, true},
		{"cipher", both, demand(func(p *as2.Policy) { p.Ciphers = []string{"aes-128-cbc"} }), entity, true},
		{"cipher allowed", both, demand(func(p *as2.Policy) { p.Ciphers = []string{"AES256_CBC"} }), entity, false},
		{"3des", encrypt(t, entity, "-des3"), policy(), entity, false},
		{"3des by name", encrypt(t, entity, "-des3"), demand(func(p *as2.Policy) { p.Ciphers = []string{"3DES"} }), entity, false},
		{"weak cipher outside", encrypt(t, both.entity(), "-des3"), demand(func(p *as2.Policy) { p.Ciphers = []string{"aes-256-cbc"} }), entity, true},
		{"weak cipher inside", encrypt(t, encrypt(t, entity, "-des3").entity()), demand(func(p *as2.Policy) { p.Ciphers = []string{"aes-256-cbc"} }), entity, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opened, payload, err := tt.message.open(tt.policy)
			if !tt.refused {
				if err != nil || string(payload) != edi {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if kindOf(err) != as2.KindInsufficientSecurity || len(payload) > 0 {
				t.Fatalf("got %d octets, %v", len(payload), err)
			}
			if tt.covered == nil {
				return
			}
			if h, _ := mdn.HashByName(opened.MIC.Algorithm); h == 0 || !bytes.Equal(opened.MIC.Digest, digest(h, tt.covered)) {
				t.Errorf("MIC %v", opened.MIC)
			}
		})
	}
}

// Decryption fails in one way only.
func TestOpenDecryptionFailures(t *testing.T) {
	t.Parallel()
	good := encrypt(t, part(edi))
	stranger := good
	stranger.body = cmstest.Stranger().Encrypt(t, part(edi))
	truncated := good
	truncated.body = good.body[:len(good.body)-16]
	text := good
	text.body = []byte("UNB+UNOA:1'")
	var seen string
	for name, m := range map[string]message{"stranger": stranger, "truncated": truncated, "text": text} {
		opened, payload, err := m.open(policy())
		var e *as2.Error
		if !errors.As(err, &e) || e.Kind != as2.KindDecryption || len(payload) > 0 {
			t.Fatalf("%s: %v", name, err)
		}
		if seen == "" {
			seen = e.Detail
		}
		if e.Detail != seen || !opened.Encrypted || !opened.MIC.IsZero() {
			t.Errorf("%s: %q, %+v", name, e.Detail, opened)
		}
	}
}

// What nothing signs is never delivered.
func TestOpenParts(t *testing.T) {
	t.Parallel()
	entity := part(edi)
	signature := base64Part(cmstest.Sender().Sign(t, entity, "-md", "sha256"))
	good := string(signedBody(entity, "\r\n", signature))
	for name, body := range map[string]string{
		"third part":      strings.Replace(good, "\r\n--b--", "\r\n--b\r\n"+string(part("evil"))+"\r\n--b--", 1),
		"signature first": string(signedBody(signature, "\r\n", entity)),
		"one part":        "--b\r\n" + string(entity) + "\r\n--b--\r\n",
		"no parts":        "text",
	} {
		if _, payload, err := (message{contentType: signedType, body: []byte(body)}).open(policy()); kindOf(err) != as2.KindMalformed || len(payload) > 0 {
			t.Errorf("%s: %q, %v", name, payload, err)
		}
	}
	noClose := message{contentType: signedType, body: []byte(strings.TrimSuffix(good, "\r\n--b--\r\n"))}
	mustOpen(t, noClose, edi, entity)
	noClose.body = noClose.body[:len(noClose.body)-8]
	mustRefuse(t, noClose, policy(), as2.KindAuthentication)
	mustRefuse(t, message{contentType: "multipart/signed", body: []byte(good)}, policy(), as2.KindMalformed)
}

func TestOpenDepth(t *testing.T) {
	t.Parallel()
	m := message{contentType: "application/EDIFACT", body: []byte(edi)}
	for range 6 {
		m = encrypt(t, m.entity(), "-aes-128-cbc")
	}
	if _, payload, err := m.open(policy()); err != nil || string(payload) != edi {
		t.Errorf("six layers: %v", err)
	}
	mustRefuse(t, encrypt(t, m.entity()), policy(), as2.KindMalformed)
}

func TestOpenCompressed(t *testing.T) {
	t.Parallel()
	// ContentInfo of id-ct-compressedData, as far as it is looked at.
	body := append([]byte("\x30\x80\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x01\x09\xa0\x80"), make([]byte, 64)...)
	m := message{contentType: "application/pkcs7-mime; smime-type=compressed-data; name=smime.p7z", body: body}
	mustRefuse(t, m, policy(), as2.KindDecompression)
	opened := mustRefuse(t, sign(t, m.entity()), policy(), as2.KindDecompression)
	if !bytes.Equal(opened.MIC.Digest, digest(crypto.SHA256, m.entity())) {
		t.Errorf("MIC %v is not over the signed part", opened.MIC)
	}
	m.body = []byte("damaged")
	mustRefuse(t, m, policy(), as2.KindDecompression)
}

// A body that breaks off is the transport's failure, in whatever layer.
func TestOpenBrokenOff(t *testing.T) {
	t.Parallel()
	signed := sign(t, part(edi))
	based := encrypt(t, part(edi))
	based.body = wrapped(based.body, 76, "\r\n")
	for name, m := range map[string]message{
		"plain": {contentType: "application/EDIFACT", body: []byte(edi)}, "signed": signed,
		"encrypted": encrypt(t, signed.entity()), "base64": based,
		"empty": {contentType: "application/EDIFACT"}, "no type": {body: []byte(edi)},
		"quoted": {contentType: "a/b", encoding: "quoted-printable", body: []byte("a=")},
		"report": {contentType: "multipart/report; report-type=disposition-notification; boundary=b", body: []byte("--b")},
	} {
		for cut := range min(len(m.body), 3) + 1 {
			body := io.MultiReader(bytes.NewReader(m.body[:len(m.body)-cut]), iotest.ErrReader(io.ErrUnexpectedEOF))
			_, err := as2.Open(m.header(), body, io.Discard, policy())
			if kindOf(err) != as2.KindRead || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s, %d octets missing: %v", name, cut, err)
			}
		}
	}
}

// A payload writer that fails says nothing about the message.
func TestOpenWriterFails(t *testing.T) {
	t.Parallel()
	for _, m := range []message{{contentType: "application/EDIFACT", body: []byte(edi)}, sign(t, part(edi)), encrypt(t, part(edi))} {
		_, err := as2.Open(m.header(), bytes.NewReader(m.body), failingWriter{}, policy())
		if !errors.Is(err, io.ErrClosedPipe) || kindOf(err) != 0 {
			t.Errorf("got %v", err)
		}
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestOpenTooLarge(t *testing.T) {
	t.Parallel()
	p := policy()
	content := strings.Repeat("x", 1000)
	plain := message{contentType: "application/EDIFACT", body: []byte(content)}
	messages := map[string]message{
		"plain": plain, "signed": sign(t, part(content)), "encrypted": encrypt(t, part(content)),
		"base64": {contentType: "a/b", encoding: "base64", body: wrapped([]byte(content), 76, "\r\n")},
	}
	for name, m := range messages {
		p.MaxPayload = 1000
		if _, _, err := m.open(p); err != nil {
			t.Errorf("%s, as large as agreed: %v", name, err)
		}
		p.MaxPayload = 999
		if _, payload, err := m.open(p); kindOf(err) != as2.KindTooLarge || len(payload) > 999 {
			t.Errorf("%s: %d octets, %v", name, len(payload), err)
		}
	}
	// A body without end is given up early, whatever it claims to be.
	for _, contentType := range []string{"a/b", envelopedType, signedType, "multipart/report; report-type=disposition-notification"} {
		endless := &endlessReader{}
		_, err := as2.Open(message{contentType: contentType}.header(), endless, io.Discard, p)
		if kindOf(err) != as2.KindTooLarge && kindOf(err) != as2.KindDecryption && kindOf(err) != as2.KindMalformed || endless.n > 4<<20 {
			t.Errorf("%s: %d octets read, %v", contentType, endless.n, err)
		}
	}
}

type endlessReader struct{ n int64 }

func (r *endlessReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	r.n += int64(len(p))
	return len(p), nil
}

// Plain messages pass through in constant memory.
func TestOpenStreams(t *testing.T) {
	p := policy()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const size = 64 << 20
	body := io.LimitReader(&endlessReader{}, size)
	sink := &countingWriter{}
	if _, err := as2.Open(message{contentType: "application/EDIFACT"}.header(), body, sink, p); err != nil || sink.n != size {
		t.Fatalf("%d octets, %v", sink.n, err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("%d octets allocated for %d", used, size)
	}
}

type countingWriter struct{ n int64 }

func (w *countingWriter) Write(p []byte) (int, error) {
	w.n += int64(len(p))
	return len(p), nil
}
