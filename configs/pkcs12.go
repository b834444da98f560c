package configs

import (
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"software.sslmate.com/src/go-pkcs12"
)

// isPKCS12 goes by the file's name: the content says so only to who can decrypt it.
func isPKCS12(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".p12", ".pfx":
		return true
	}
	return false
}

// bundle reads key and certificate from one PKCS #12 file (RFC 7292), as other AS2 products export them; false if it is
// not usable. Certificates of its chain are of no use here, and passed over.
func (l *loader) bundle(path string, k *StationKey) bool {
	if k.CertificateFile != "" {
		l.doc.Reportf(path+".certificate_file", "a PKCS #12 key file has the certificate in it: leave this out")
		return false
	}
	private, certificate, err := readPKCS12(k.KeyFile, k.PasswordFile)
	if err != nil {
		l.doc.Report(path+".key_file", err)
		return false
	}
	signer, err := usable(k.KeyFile, private)
	if err != nil {
		l.doc.Report(path+".key_file", err)
		return false
	}
	return l.pair(path, k, certificate, signer)
}

func readPKCS12(path, passwordFile string) (private any, certificate *x509.Certificate, err error) {
	data, err := readSmall(path, maxFile)
	if err != nil {
		return nil, nil, err
	}
	var password string
	if passwordFile != "" {
		content, err := readSmall(passwordFile, maxFile)
		if err != nil {
			return nil, nil, err
		}
		password = strings.TrimRight(string(content), "\r\n")
	}
	private, certificate, _, err = pkcs12.DecodeChain(data, password)
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword) && passwordFile == "":
		return nil, nil, fmt.Errorf("%s: has a password: name its file in password_file", path)
	case errors.Is(err, pkcs12.ErrIncorrectPassword):
		return nil, nil, fmt.Errorf("%s: the password in %s is wrong", path, passwordFile)
	case err != nil:
		return nil, nil, fmt.Errorf("%s: not a readable PKCS #12 file: %w", path, err)
	}
	return private, certificate, nil
}
