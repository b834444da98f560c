package smime_test

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"math/rand/v2"
	"testing"

	"go.mozilla.org/pkcs7"

	"firstcopy/as2/internal/cmstest"
	"firstcopy/as2/smime"
)

// parsePKCS7 is pkcs7.Parse without its panics.
func parsePKCS7(der []byte) (p7 *pkcs7.PKCS7, err error) {
	defer func() {
		if recover() != nil {
			p7, err = nil, smime.ErrDecrypt
		}
	}()
	return pkcs7.Parse(der)
}

// values finds the octets of a DER encoding that are contents of primitives,
// object identifiers and NULLs apart. Altered structure is not compared: pkcs7
// takes some that is malformed, and any key transport algorithm for RSA.
func values(der []byte, base int) (at []int) {
	for len(der) > 0 {
		var v asn1.RawValue
		rest, err := asn1.Unmarshal(der, &v)
		if err != nil {
			panic(err)
		}
		start := base + len(der) - len(rest) - len(v.Bytes)
		switch {
		case v.IsCompound:
			at = append(at, values(v.Bytes, start)...)
		case der[0] != asn1.TagOID && der[0] != asn1.TagNull:
			for i := range v.Bytes {
				at = append(at, start+i)
			}
		}
		base += len(der) - len(rest)
		der = rest
	}
	return at
}

// Whatever go.mozilla.org/pkcs7 opens of an altered envelope, is opened here to
// the same octets. The other way round does not hold: it reads less.
func TestDifferentialDecrypt(t *testing.T) {
	t.Parallel()
	receiver := cmstest.Small()
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, cipher := range []struct {
		flag  string
		block int
	}{{"-aes-128-cbc", 16}, {"-aes-256-cbc", 16}, {"-des3", 8}} {
		der := receiver.Encrypt(t, entity, cipher.flag)
		padded := (len(entity)/cipher.block + 1) * cipher.block
		at, both := values(der, 0), 0
		for range 300 {
			altered := bytes.Clone(der)
			for range 1 + rnd.IntN(2) {
				altered[at[rnd.IntN(len(at))]] ^= byte(1 + rnd.IntN(255))
			}
			p7, err := parsePKCS7(altered)
			if err != nil {
				continue
			}
			theirs, err := p7.Decrypt(receiver.Certificate, receiver.Private)
			if err != nil {
				continue
			}
			ours, _, err := decrypt(altered, receiver.Key)
			// pkcs7 takes a last octet of zero for no padding at all; RFC 5652
			// §6.3 has at least one octet of it.
			if err != nil && len(theirs) == padded {
				continue
			}
			if err != nil || !bytes.Equal(ours, theirs) {
				t.Errorf("%s: pkcs7 opens %x to %d octets, we to %d, %v", cipher.flag, altered[:200], len(theirs), len(ours), err)
			}
			both++
		}
		if both == 0 {
			t.Errorf("%s: nothing altered is opened: the test compares nothing", cipher.flag)
		}
	}
}

// Whatever pkcs7 verifies of an altered signature, by the certificate that is
// pinned, is verified here. It lets the embedded certificate be anybody's, so
// that it has to be the right one.
func TestDifferentialVerify(t *testing.T) {
	t.Parallel()
	sender := cmstest.Sender()
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, args := range [][]string{{"-md", "sha256"}, {"-md", "sha512", "-noattr"}, {"-md", "sha384"}} {
		der := sender.Sign(t, entity, args...)
		at, both, ours := values(der, 0), 0, 0
		for range 2000 {
			altered := bytes.Clone(der)
			altered[at[rnd.IntN(len(at))]] ^= byte(1 + rnd.IntN(255))
			_, err := verify(entity, altered, sender.Certificate)
			p7, parseErr := parsePKCS7(altered)
			theirs := parseErr == nil
			if theirs {
				p7.Content = entity
				theirs = p7.Verify() == nil && containsCertificate(p7.Certificates, sender.Certificate)
			}
			switch {
			case theirs && err != nil:
				t.Errorf("%v: pkcs7 verifies %x, we say %v", args, altered[:100], err)
			case theirs:
				both++
			case err == nil: // the alteration is in what we never look at: certificates, versions
				ours++
			}
		}
		t.Logf("%v: %d verified by both, %d by us alone", args, both, ours)
		if both == 0 {
			t.Errorf("%v: the test compares nothing", args)
		}
	}
}

func containsCertificate(list []*x509.Certificate, cert *x509.Certificate) bool {
	for _, c := range list {
		if c.Equal(cert) {
			return true
		}
	}
	return false
}
