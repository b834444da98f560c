package smime_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"io"
	"math/big"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.mozilla.org/pkcs7"

	"firstcopy/as2/internal/cmstest"
	"firstcopy/as2/smime"
)

func verify(content, der []byte, pinned ...*x509.Certificate) (smime.Signature, error) {
	return smime.Verify(bytes.NewReader(content), der, pinned)
}

func TestVerifyOpenSSL(t *testing.T) {
	t.Parallel()
	sender, other, elliptic := cmstest.Sender(), cmstest.Other(), cmstest.Elliptic()
	tests := []struct {
		name   string
		signer cmstest.Party
		digest crypto.Hash
		args   []string
	}{
		{"md5", sender, crypto.MD5, []string{"-md", "md5"}},
		{"sha1", sender, crypto.SHA1, []string{"-md", "sha1"}},
		{"sha224", sender, crypto.SHA224, []string{"-md", "sha224"}},
		{"sha256", sender, crypto.SHA256, []string{"-md", "sha256"}},
		{"sha384", sender, crypto.SHA384, []string{"-md", "sha384"}},
		{"sha512", sender, crypto.SHA512, []string{"-md", "sha512"}},
		{"no attributes", sender, crypto.SHA256, []string{"-md", "sha256", "-noattr"}},
		{"no certificate", sender, crypto.SHA256, []string{"-md", "sha256", "-nocerts"}},
		{"key identifier", sender, crypto.SHA256, []string{"-md", "sha256", "-keyid"}},
		{"pss", sender, crypto.SHA256, []string{"-md", "sha256", "-keyopt", "rsa_padding_mode:pss"}},
		{"streamed BER", sender, crypto.SHA256, []string{"-md", "sha256", "-stream"}},
		{"other certificates", sender, crypto.SHA256, []string{"-md", "sha256", "-certfile", other.CertFile(t)}},
		{"second signer", sender, crypto.SHA256, []string{
			"-md", "sha256", "-signer", other.CertFile(t), "-inkey", other.KeyFile(t),
		}},
		{"ecdsa", elliptic, crypto.SHA256, []string{"-md", "sha256"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			der := tt.signer.Sign(t, entity, tt.args...)
			s, err := verify(entity, der, cmstest.Receiver().Certificate, tt.signer.Certificate)
			if err != nil || s.Signer != tt.signer.Certificate || s.Digest != tt.digest {
				t.Fatalf("got %v %v, want %v", s.Digest, err, tt.digest)
			}
			if _, err := verify(entity, append(der, '\n'), tt.signer.Certificate); err != nil {
				t.Errorf("with a line end behind it: %v", err)
			}
			if _, err := verify(flip(entity, 50), der, tt.signer.Certificate); err == nil {
				t.Error("altered content verifies")
			}
			if _, err := verify(entity, der, cmstest.Stranger().Certificate); !errors.Is(err, smime.ErrNoSigner) {
				t.Errorf("stranger pinned: %v, want ErrNoSigner", err)
			}
		})
	}
}

func TestVerifyErrors(t *testing.T) {
	t.Parallel()
	sender := cmstest.Sender()
	good := sender.Sign(t, entity, "-md", "sha256")
	tests := []struct {
		name    string
		content []byte
		der     []byte
		want    error
	}{
		{"content altered", flip(entity, 40), good, smime.ErrDigest},
		{"signature altered", entity, flip(good, len(good)-9), smime.ErrNoSigner},
		{"embedded stranger", entity, cmstest.Stranger().Sign(t, entity), smime.ErrNoSigner},
		{"cloned issuer and serial", entity, cmstest.Clone().Sign(t, entity), smime.ErrNoSigner},
		{"cloned key identifier", entity, cmstest.Clone().Sign(t, entity, "-keyid"), smime.ErrNoSigner},
		{"stranger, content altered", flip(entity, 40), cmstest.Stranger().Sign(t, entity), smime.ErrNoSigner},
		{"certificates only", entity, degenerate(t), smime.ErrNoSigner},
		{"envelope", entity, sender.Encrypt(t, entity, "-aes-128-cbc"), smime.ErrNoSigner},
		{"truncated", entity, good[:len(good)-1], smime.ErrNoSigner},
		{"empty", entity, nil, smime.ErrNoSigner},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := verify(tt.content, tt.der, sender.Certificate, nil)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if (s.Signer != nil) != errors.Is(err, smime.ErrDigest) {
				t.Errorf("signer %v with %v", s.Signer, err)
			}
		})
	}
	_, err := smime.Verify(iotest.ErrReader(io.ErrUnexpectedEOF), good, sender.Cert())
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("failing reader: %v", err)
	}
}

func degenerate(t *testing.T) []byte {
	der, err := pkcs7.DegenerateCertificate(cmstest.Sender().Certificate.Raw)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// A renewed certificate with its old key, and one of the same name with
// another, are found whatever the signature names.
func TestVerifyPinnedOrder(t *testing.T) {
	t.Parallel()
	sender, clone := cmstest.Sender(), cmstest.Clone()
	der := sender.Sign(t, entity)
	s, err := verify(entity, der, clone.Certificate, sender.Certificate)
	if err != nil || s.Signer != sender.Certificate {
		t.Errorf("clone pinned first: %v", err)
	}
	renewed := *sender.Certificate
	renewed.SerialNumber = big.NewInt(77)
	if s, err = verify(entity, der, &renewed); err != nil || s.Signer != &renewed {
		t.Errorf("renewed certificate: %v", err)
	}
}

// The octets of signed attributes, presented as content of a signature without
// attributes, carry a valid signature; they must not pass for content.
func TestVerifyAttributesAsContent(t *testing.T) {
	t.Parallel()
	sender := cmstest.Sender()
	digest := crypto.SHA256.New()
	digest.Write(entity)
	for _, extra := range []int{0, 100, 1000, 70000} { // for every form of the length
		attrs := attributes(t, digest.Sum(nil), time.Now(), attributeOf(t, asn1.ObjectIdentifier{1, 2, 3}, make([]byte, extra)))
		signature := rsaSign(t, sender, attrs)
		asContent := signedData(t, sender, nil, signature)
		if _, err := verify(attrs, asContent, sender.Certificate); !errors.Is(err, smime.ErrNoSigner) {
			t.Errorf("attributes as content: %v, want ErrNoSigner", err)
		}
		if _, err := verify(entity, signedData(t, sender, attrs, signature), sender.Certificate); err != nil {
			t.Errorf("the same signature with its attributes: %v", err)
		}
	}
	digits := []byte("1234 is how a payload without header may begin")
	if _, err := verify(digits, sender.Sign(t, digits, "-noattr"), sender.Certificate); err != nil {
		t.Errorf("digits: %v", err)
	}
}

// RFC 5652 §11.3 makes the signing time informational; wire order of the
// attributes is what some signers sign, DER order what others do.
func TestVerifyLenient(t *testing.T) {
	t.Parallel()
	sender := cmstest.Sender()
	digest := crypto.SHA256.New()
	digest.Write(entity)
	early := attributes(t, digest.Sum(nil), time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC))
	if _, err := verify(entity, signedData(t, sender, early, rsaSign(t, sender, early)), sender.Certificate); err != nil {
		t.Errorf("signing time before validity: %v", err)
	}
	reversed := reverseSet(t, early)
	if _, err := verify(entity, signedData(t, sender, reversed, rsaSign(t, sender, reversed)), sender.Certificate); err != nil {
		t.Errorf("wire order signed: %v", err)
	}
	if _, err := verify(entity, signedData(t, sender, reversed, rsaSign(t, sender, early)), sender.Certificate); err != nil {
		t.Errorf("DER order signed, another sent: %v", err)
	}
	twice := appendDigest(t, early, digest.Sum(nil))
	if _, err := verify(entity, signedData(t, sender, twice, rsaSign(t, sender, twice)), sender.Certificate); !errors.Is(err, smime.ErrDigest) {
		t.Errorf("two message digests: %v, want ErrDigest", err)
	}
}

type attribute struct {
	Type   asn1.ObjectIdentifier
	Values []asn1.RawValue `asn1:"set"`
}

func attributeOf(t *testing.T, oid asn1.ObjectIdentifier, value any) attribute {
	der, err := asn1.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return attribute{oid, []asn1.RawValue{{FullBytes: der}}}
}

// attributes encodes a SET OF signed attributes in DER.
func attributes(t *testing.T, digest []byte, at time.Time, extra ...attribute) []byte {
	return marshal(t, append(extra, []attribute{
		attributeOf(t, pkcs7.OIDAttributeContentType, pkcs7.OIDData),
		attributeOf(t, pkcs7.OIDAttributeMessageDigest, digest),
		attributeOf(t, pkcs7.OIDAttributeSigningTime, at.UTC()),
	}...), "set")
}

func appendDigest(t *testing.T, set, digest []byte) []byte {
	var attrs []attribute
	if _, err := asn1.UnmarshalWithParams(set, &attrs, "set"); err != nil {
		t.Fatal(err)
	}
	return marshal(t, append(attrs, attributeOf(t, pkcs7.OIDAttributeMessageDigest, digest)), "set")
}

func reverseSet(t *testing.T, set []byte) []byte {
	var attrs []asn1.RawValue
	if _, err := asn1.UnmarshalWithParams(set, &attrs, "set"); err != nil {
		t.Fatal(err)
	}
	body := []byte{}
	for _, a := range attrs {
		body = append(bytes.Clone(a.FullBytes), body...)
	}
	return marshal(t, asn1.RawValue{Tag: asn1.TagSet, IsCompound: true, Bytes: body}, "")
}

func marshal(t *testing.T, v any, params string) []byte {
	der, err := asn1.MarshalWithParams(v, params)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func rsaSign(t *testing.T, p cmstest.Party, octets []byte) []byte {
	h := crypto.SHA256.New()
	h.Write(octets)
	sig, err := rsa.SignPKCS1v15(rand.Reader, p.Private.(*rsa.PrivateKey), crypto.SHA256, h.Sum(nil))
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

// signedData puts a SignedData together from parts, in orders openssl refuses
// to write. set is retagged as signedAttrs; nil leaves them out.
func signedData(t *testing.T, p cmstest.Party, set, signature []byte) []byte {
	type issuerAndSerial struct {
		Issuer asn1.RawValue
		Serial *big.Int
	}
	sha256 := pkix.AlgorithmIdentifier{Algorithm: pkcs7.OIDDigestAlgorithmSHA256}
	parts := [][]byte{
		marshal(t, 1, ""),
		marshal(t, issuerAndSerial{asn1.RawValue{FullBytes: p.Certificate.RawIssuer}, p.Certificate.SerialNumber}, ""),
		marshal(t, sha256, ""),
	}
	if set != nil {
		retagged := bytes.Clone(set)
		retagged[0] = 0xa0
		parts = append(parts, retagged)
	}
	parts = append(parts,
		marshal(t, pkix.AlgorithmIdentifier{Algorithm: pkcs7.OIDEncryptionAlgorithmRSA}, ""),
		marshal(t, signature, ""))
	signer := asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: bytes.Join(parts, nil)}
	data := marshal(t, struct {
		Version int
		Digests []pkix.AlgorithmIdentifier `asn1:"set"`
		Content struct{ Type asn1.ObjectIdentifier }
		Signers []asn1.RawValue `asn1:"set"`
	}{1, []pkix.AlgorithmIdentifier{sha256}, struct{ Type asn1.ObjectIdentifier }{pkcs7.OIDData}, []asn1.RawValue{signer}}, "")
	return marshal(t, struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue
	}{pkcs7.OIDSignedData, asn1.RawValue{Class: asn1.ClassContextSpecific, IsCompound: true, Bytes: data}}, "")
}

func TestSign(t *testing.T) {
	t.Parallel()
	for _, signer := range []cmstest.Party{cmstest.Sender(), cmstest.Elliptic()} {
		for _, h := range []crypto.Hash{crypto.SHA1, crypto.SHA256, crypto.SHA384, crypto.SHA512} {
			der, err := smime.Sign(bytes.NewReader(entity), signer.Key, h)
			if err != nil {
				t.Fatal(err)
			}
			if s, err := verify(entity, der, signer.Certificate); err != nil || s.Digest != h {
				t.Errorf("%v: %v %v", h, s.Digest, err)
			}
			cmstest.OpenSSL(t, der, "cms", "-verify", "-binary", "-inform", "DER", "-purpose", "any",
				"-content", cmstest.File(t, entity), "-CAfile", signer.CertFile(t))
			p7, err := pkcs7.Parse(der)
			if err != nil {
				t.Fatal(err)
			}
			p7.Content = entity
			if err := p7.Verify(); err != nil && h != crypto.SHA1 { // which it refuses
				t.Errorf("pkcs7, %v: %v", h, err)
			}
		}
	}
}

func TestSignRefusals(t *testing.T) {
	t.Parallel()
	key := cmstest.Sender().Key
	_, digestErr := smime.Sign(bytes.NewReader(entity), key, crypto.MD5)
	_, keyErr := smime.Sign(bytes.NewReader(entity), smime.Key{Certificate: key.Certificate}, crypto.SHA256)
	_, typeErr := smime.Sign(bytes.NewReader(entity), smime.Key{Certificate: key.Certificate, Private: 1}, crypto.SHA256)
	_, readErr := smime.Sign(iotest.ErrReader(io.ErrClosedPipe), key, crypto.SHA256)
	for name, err := range map[string]error{"digest": digestErr, "key": keyErr, "key type": typeErr, "reader": readErr} {
		if err == nil || !strings.HasPrefix(err.Error(), "smime: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	sender := cmstest.Sender()
	for _, key := range []smime.Key{sender.Key, cmstest.Elliptic().Key} {
		der, err := smime.Sign(bytes.NewReader(entity), key, crypto.SHA256)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(der)
	}
	pinned := []*x509.Certificate{sender.Certificate, cmstest.Elliptic().Certificate}
	forged := flip(entity, 45)
	f.Fuzz(func(t *testing.T, der []byte) {
		if s, err := smime.Verify(bytes.NewReader(forged), der, pinned); err == nil {
			t.Errorf("altered content verifies with %v", s.Signer.Subject)
		}
	})
}
