package smime_test

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"testing"

	"firstcopy/as2/internal/cmstest"
	"firstcopy/as2/smime"
)

// pyas2lib, built on asn1crypto, refuses encrypted content in the constructed
// encoding that BER allows.
func TestEnvelopesAreDER(t *testing.T) {
	t.Parallel()
	for _, cipher := range []string{"aes-128-cbc", "aes-256-cbc", "aes-128-gcm", "aes-256-gcm"} {
		t.Run(cipher, func(t *testing.T) {
			t.Parallel()
			var der bytes.Buffer
			to := []*x509.Certificate{cmstest.Receiver().Certificate}
			if err := smime.Encrypt(&der, bytes.NewReader(make([]byte, 3000)), to, cipher); err != nil {
				t.Fatal(err)
			}
			var info struct {
				Type asn1.ObjectIdentifier
				Data struct {
					Version    int
					Recipients []asn1.RawValue `asn1:"set"`
					Content    struct {
						Type      asn1.ObjectIdentifier
						Algorithm asn1.RawValue
						Content   asn1.RawValue
					}
					MAC []byte `asn1:"optional"`
				} `asn1:"explicit,tag:0"`
			}
			rest, err := asn1.Unmarshal(der.Bytes(), &info)
			if err != nil || len(rest) > 0 {
				t.Fatalf("not DER: %v, %d octets left", err, len(rest))
			}
			if c := info.Data.Content.Content; c.IsCompound || c.Class != asn1.ClassContextSpecific || c.Tag != 0 || len(c.Bytes) < 3000 {
				t.Errorf("the content is class %d, tag %d, constructed %v, with %d octets", c.Class, c.Tag, c.IsCompound, len(c.Bytes))
			}
		})
	}
}

// foreign re-writes our AuthEnvelopedData as others write GCM: an EnvelopedData
// with the tag behind the ciphertext, and with PKI.js the nonce alone for
// parameters.
func foreign(t *testing.T, der []byte, bare bool) []byte {
	t.Helper()
	type content struct {
		Type      asn1.ObjectIdentifier
		Algorithm struct {
			OID        asn1.ObjectIdentifier
			Parameters asn1.RawValue
		}
		Content []byte `asn1:"tag:0"`
	}
	var in struct {
		Type asn1.ObjectIdentifier
		Data struct {
			Version    int
			Recipients []asn1.RawValue `asn1:"set"`
			Content    content
			MAC        []byte
		} `asn1:"explicit,tag:0"`
	}
	if _, err := asn1.Unmarshal(der, &in); err != nil {
		t.Fatal(err)
	}
	var out struct {
		Type asn1.ObjectIdentifier
		Data struct {
			Version    int
			Recipients []asn1.RawValue `asn1:"set"`
			Content    content
		} `asn1:"explicit,tag:0"`
	}
	out.Type = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 3}
	out.Data.Recipients, out.Data.Content = in.Data.Recipients, in.Data.Content
	out.Data.Content.Content = append(in.Data.Content.Content, in.Data.MAC...)
	if bare {
		var nonce asn1.RawValue
		if _, err := asn1.Unmarshal(in.Data.Content.Algorithm.Parameters.Bytes, &nonce); err != nil {
			t.Fatal(err)
		}
		out.Data.Content.Algorithm.Parameters = nonce
	}
	again, err := asn1.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestDecryptForeignGCM(t *testing.T) {
	t.Parallel()
	receiver := cmstest.Receiver()
	var der bytes.Buffer
	if err := smime.Encrypt(&der, bytes.NewReader(entity), []*x509.Certificate{receiver.Certificate}, "aes-256-gcm"); err != nil {
		t.Fatal(err)
	}
	for name, bare := range map[string]bool{"Bouncy Castle": false, "PKI.js": true} {
		envelope := foreign(t, der.Bytes(), bare)
		if got, cipher, err := decrypt(envelope, receiver.Key); err != nil || !bytes.Equal(got, entity) || cipher != "aes-256-gcm" {
			t.Errorf("%s: %d octets, %q, %v", name, len(got), cipher, err)
		}
		for _, at := range []int{len(envelope) - 1, len(envelope) - 20} { // in the tag, in the ciphertext
			if got, _, err := decrypt(flip(envelope, at), receiver.Key); err != smime.ErrDecrypt || len(got) > 0 {
				t.Errorf("%s altered at %d: %d octets, %v", name, at, len(got), err)
			}
		}
	}
}
