package as2test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"firstcopy/as2/smime"
)

// keys are made once a process: RSA key generation is slower than everything that is tested with it.
var keys = struct {
	sync.Mutex
	byName map[string]smime.Key
}{byName: map[string]smime.Key{}}

// Key is the RSA-2048 key of a name, with a self-signed certificate: the same one at every call in a process.
func Key(tb testing.TB, name string) smime.Key {
	tb.Helper()
	keys.Lock()
	defer keys.Unlock()
	if k, ok := keys.byName[name]; ok {
		return k
	}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatal(err)
	}
	k := smime.Key{Certificate: SelfSigned(tb, name, private, int64(len(keys.byName)+1)), Private: private}
	keys.byName[name] = k
	return k
}

// SelfSigned makes a certificate that is valid now, with the given serial number.
func SelfSigned(tb testing.TB, name string, private *rsa.PrivateKey, serial int64) *x509.Certificate {
	tb.Helper()
	template := x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		tb.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return certificate
}

// WriteKey writes a key and its certificate as PEM files NAME.key and NAME.crt into a folder and returns their paths.
func WriteKey(tb testing.TB, dir, name string, k smime.Key) (certificateFile, keyFile string) {
	tb.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(k.Private)
	if err != nil {
		tb.Fatal(err)
	}
	certificateFile, keyFile = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	write(tb, certificateFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: k.Certificate.Raw}))
	write(tb, keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	return certificateFile, keyFile
}

func write(tb testing.TB, path string, content []byte) {
	tb.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(fmt.Errorf("writing a test file: %w", err))
	}
}
