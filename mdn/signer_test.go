package mdn_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.mozilla.org/pkcs7"
)

// signer is the receiving station, one for all tests.
var signer = sync.OnceValue(func() *station {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "hub"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return &station{cert, key}
})

type station struct {
	cert *x509.Certificate
	key  *rsa.PrivateKey
}

var digestOIDs = map[crypto.Hash]asn1.ObjectIdentifier{
	crypto.SHA1:   pkcs7.OIDDigestAlgorithmSHA1,
	crypto.SHA256: pkcs7.OIDDigestAlgorithmSHA256,
	crypto.SHA384: pkcs7.OIDDigestAlgorithmSHA384,
	crypto.SHA512: pkcs7.OIDDigestAlgorithmSHA512,
}

// sign is an mdn.Sign.
func (s *station) sign(content []byte, h crypto.Hash) ([]byte, error) {
	oid, found := digestOIDs[h]
	if !found {
		return nil, fmt.Errorf("cannot sign with %v", h)
	}
	signed, err := pkcs7.NewSignedData(content)
	if err != nil {
		return nil, err
	}
	signed.SetDigestAlgorithm(oid)
	if err := signed.AddSigner(s.cert, s.key, pkcs7.SignerInfoConfig{}); err != nil {
		return nil, err
	}
	signed.Detach()
	return signed.Finish()
}

// openssl runs `openssl cms -verify` over a file with the given content, against
// the station's certificate alone, and fails the test if it does not verify.
func (s *station) openssl(t *testing.T, input []byte, arguments ...string) {
	t.Helper()
	dir := t.TempDir()
	in, ca := filepath.Join(dir, "in"), filepath.Join(dir, "ca.pem")
	write(t, in, input)
	write(t, ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.cert.Raw}))
	arguments = append([]string{
		"cms", "-verify", "-in", in, "-CAfile", ca, "-purpose", "any", "-out", filepath.Join(dir, "out"),
	}, arguments...)
	if output, err := exec.CommandContext(t.Context(), "openssl", arguments...).CombinedOutput(); err != nil {
		t.Errorf("openssl: %v\n%s", err, output)
	}
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
