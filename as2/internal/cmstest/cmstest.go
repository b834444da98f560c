// Package cmstest gives the tests of as2 and as2/smime parties with keys and
// the openssl command as the other implementation: the maker of what partners
// send and the judge of what is built. Keys are made once per test binary;
// everything may be used by parallel tests.
package cmstest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"firstcopy/as2/smime"
)

// Party is a station with its certificate and private key.
type Party struct{ smime.Key }

// The parties of the tests. Clone has another key under the issuer and serial
// of Sender; Stranger is agreed with nobody.
var (
	Sender   = sync.OnceValue(func() Party { return newParty("sender", 1, rsaKey()) })
	Receiver = sync.OnceValue(func() Party { return newParty("receiver", 2, rsaKey()) })
	Other    = sync.OnceValue(func() Party { return newParty("other", 3, rsaKey()) })
	Stranger = sync.OnceValue(func() Party { return newParty("stranger", 4, rsaKey()) })
	Clone    = sync.OnceValue(func() Party { return newParty("sender", 1, rsaKey()) })
	Small    = sync.OnceValue(func() Party { return newParty("small", 8, rsaKeyOf(1024)) }) // where it is used a thousand times
	Elliptic = sync.OnceValue(func() Party { return newParty("elliptic", 5, ecdsaKey(elliptic.P256())) })
	P384     = sync.OnceValue(func() Party { return newParty("p384", 6, ecdsaKey(elliptic.P384())) })
	P521     = sync.OnceValue(func() Party { return newParty("p521", 7, ecdsaKey(elliptic.P521())) })
)

func rsaKey() crypto.Signer { return rsaKeyOf(2048) }

func rsaKeyOf(bits int) crypto.Signer {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return key
}

func ecdsaKey(curve elliptic.Curve) crypto.Signer {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

func newParty(name string, serial int64, key crypto.Signer) Party {
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		panic(err)
	}
	id := sha256.Sum256(public)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{Organization: []string{"firstcopy"}, CommonName: name},
		NotBefore:    time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2049, 1, 1, 0, 0, 0, 0, time.UTC),
		SubjectKeyId: id[:20],
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return Party{smime.Key{Certificate: cert, Private: key}}
}

// Cert is the party's certificate in a list of one.
func (p Party) Cert() []*x509.Certificate { return []*x509.Certificate{p.Certificate} }

// CertFile writes the certificate where openssl can read it.
func (p Party) CertFile(tb testing.TB) string {
	return writePEM(tb, "CERTIFICATE", p.Certificate.Raw)
}

// KeyFile writes the private key where openssl can read it.
func (p Party) KeyFile(tb testing.TB) string {
	der, err := x509.MarshalPKCS8PrivateKey(p.Private)
	if err != nil {
		tb.Fatal(err)
	}
	return writePEM(tb, "PRIVATE KEY", der)
}

// Sign makes a detached signature in DER with `openssl cms -sign -binary` and
// further arguments.
func (p Party) Sign(tb testing.TB, content []byte, args ...string) []byte {
	return OpenSSL(tb, content, append([]string{
		"cms", "-sign", "-binary", "-outform", "DER", "-signer", p.CertFile(tb), "-inkey", p.KeyFile(tb),
	}, args...)...)
}

// Encrypt makes an envelope in DER for the party with `openssl cms -encrypt
// -binary` and further arguments; -keyopt among them means the party.
func (p Party) Encrypt(tb testing.TB, content []byte, args ...string) []byte {
	args = append([]string{"cms", "-encrypt", "-binary", "-outform", "DER"}, args...)
	if i := slices.Index(args, "-keyopt"); i >= 0 {
		args = slices.Insert(args, i, "-recip", p.CertFile(tb))
	} else {
		args = append(args, p.CertFile(tb))
	}
	return OpenSSL(tb, content, args...)
}

// OpenSSL runs openssl with content as its -in and returns its -out. The test
// fails if the command does.
func OpenSSL(tb testing.TB, content []byte, args ...string) []byte {
	tb.Helper()
	out, err := TryOpenSSL(tb, content, args...)
	if err != nil {
		tb.Fatalf("openssl %q: %v", args, err)
	}
	return out
}

// TryOpenSSL is [OpenSSL] for commands that may fail.
func TryOpenSSL(tb testing.TB, content []byte, args ...string) ([]byte, error) {
	tb.Helper()
	in, out := File(tb, content), filepath.Join(tb.TempDir(), "out")
	args = append([]string{args[0], args[1], "-in", in, "-out", out}, args[2:]...)
	cmd := exec.CommandContext(tb.Context(), "openssl", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		tb.Logf("openssl: %s", stderr.Bytes())
		return nil, err
	}
	return os.ReadFile(out)
}

// File writes content to a temporary file.
func File(tb testing.TB, content []byte) string {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "file")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		tb.Fatal(err)
	}
	return name
}

func writePEM(tb testing.TB, kind string, der []byte) string {
	return File(tb, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
