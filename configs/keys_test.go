package configs_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

var (
	rsaKey   = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	otherKey = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	weakKey  = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 1024)) })
	ecKey    = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// certificate is self-signed, and valid for two years from the first of
// January of a year, which is also its serial number.
func certificate(t *testing.T, key crypto.Signer, year int) *x509.Certificate {
	t.Helper()
	begin := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(year)), Subject: pkix.Name{CommonName: "hub"},
		NotBefore: begin, NotAfter: begin.AddDate(2, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return must(x509.ParseCertificate(der))
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// folder holds the files that the tests' configurations name.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	hub := certificate(t, rsaKey(), 2026)
	pkcs8 := must(x509.MarshalPKCS8PrivateKey(rsaKey()))
	for name, data := range map[string][]byte{
		"hub.crt":    block("CERTIFICATE", hub.Raw),
		"hub.der":    hub.Raw,
		"old.crt":    block("CERTIFICATE", certificate(t, rsaKey(), 2024).Raw),
		"hub.key":    block("PRIVATE KEY", pkcs8),
		"pkcs1.key":  block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey())),
		"other.key":  block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(otherKey()))),
		"weak.crt":   block("CERTIFICATE", certificate(t, weakKey(), 2026).Raw),
		"weak.key":   block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(weakKey())),
		"ec.crt":     block("CERTIFICATE", certificate(t, ecKey(), 2026).Raw),
		"ec.key":     block("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(ecKey()))),
		"locked.key": block("ENCRYPTED PRIVATE KEY", pkcs8),
		"broken.key": block("PRIVATE KEY", pkcs8[:100]),
		"odd.key":    []byte("nothing of the kind"),
		"url":        []byte("postgres://user:fromfile@db/firstcopy\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
