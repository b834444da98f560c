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
