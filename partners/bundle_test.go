package partners_test

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firstcopy/partners"
)

// A bundle, as openssl and mail programs hand it over, yields the partner's own certificate, not its issuer's.
func TestBundles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := certificate(t, rsaKey(), "root", 2026)
	leaf := issued(t, root, "acme")
	write(t, dir, "chain.pem", append(pemOf(root), pemOf(leaf)...))
	write(t, dir, "leaf.pem", pemOf(leaf))
	write(t, dir, "two.pem", append(pemOf(leaf), pemOf(certificate(t, rsaKey(), "other", 2026))...))
	for _, name := range []string{"chain", "leaf", "two"} {
		for _, form := range []string{"PEM", "DER"} {
			cmd := exec.Command("openssl", "crl2pkcs7", "-nocrl", "-certfile", name+".pem", "-outform", form, "-out", name+"."+form)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("openssl: %v\n%s", err, out)
			}
		}
	}
	const agreement = "partners: [{name: acme, sink: 'dir:/in', as2: {id: A, station: H, certificates: [{file: %, use: [verify]}]}}]\n"
	for _, file := range []string{"chain.PEM", "chain.DER", "leaf.PEM", "leaf.DER"} {
		all, _, err := partners.ParseFile(dir, []byte(strings.Replace(agreement, "%", file, 1)))
		if err != nil || !all[0].AS2.Certificates[0].X509.Equal(leaf) {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, file := range []string{"two.PEM", "two.DER"} {
		if _, _, err := partners.ParseFile(dir, []byte(strings.Replace(agreement, "%", file, 1))); err == nil || !strings.Contains(err.Error(), "which one is the partner's cannot be told") {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
	}
}

// issued is a certificate that another one's subject has issued.
func issued(t *testing.T, by *x509.Certificate, name string) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(99), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now(), NotAfter: time.Now().AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, by, rsaKey().Public(), rsaKey())
	if err != nil {
		t.Fatal(err)
	}
	return must(x509.ParseCertificate(der))
}
