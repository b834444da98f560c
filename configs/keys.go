package configs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"firstcopy/partners"
)

// stations reads the keys of all stations.
func (l *loader) stations(all []Station) {
	if len(all) == 0 {
		l.doc.Reportf("stations", "missing: a gateway needs at least one")
	}
	seen := map[string]int{}
	for i := range all {
		s, path := &all[i], fmt.Sprintf("stations[%d]", i)
		if err := partners.CheckAS2ID(s.AS2ID); err != nil {
			l.doc.Report(path+".as2_id", err)
		} else if first, twice := seen[s.AS2ID]; twice {
			l.doc.Reportf(path+".as2_id", "%q is stations[%d] already", s.AS2ID, first)
		} else {
			seen[s.AS2ID] = i
		}
		complete := true
		for j := range s.Keys {
			complete = l.key(fmt.Sprintf("%s.keys[%d]", path, j), &s.Keys[j]) && complete
		}
		for _, use := range []KeyUse{UseSign, UseDecrypt} {
			if complete && !slices.ContainsFunc(s.Keys, func(k StationKey) bool { return k.For(use) }) {
				l.doc.Reportf(path+".keys", "no key to %s with", use)
			}
		}
	}
}

// key reads one key pair; false if it is not usable.
func (l *loader) key(path string, k *StationKey) bool {
	k.CertificateFile, k.KeyFile, k.PasswordFile = l.resolve(k.CertificateFile), l.resolve(k.KeyFile), l.resolve(k.PasswordFile)
	if k.PasswordFile != "" || isPKCS12(k.KeyFile) {
		return l.bundle(path, k)
	}
	certificate, err := readCertificate(k.CertificateFile)
	if err != nil {
		l.doc.Report(path+".certificate_file", err)
	}
	private, errKey := readKey(k.KeyFile)
	if errKey != nil {
		l.doc.Report(path+".key_file", errKey)
	}
	if err != nil || errKey != nil {
		return false
	}
	return l.pair(path, k, certificate, private)
}

// pair takes over a key with its certificate.
func (l *loader) pair(path string, k *StationKey, certificate *x509.Certificate, private crypto.Signer) bool {
	k.Certificate, k.Private = certificate, private
	if !private.Public().(interface{ Equal(crypto.PublicKey) bool }).Equal(certificate.PublicKey) {
		l.doc.Reportf(path+".key_file", "is not the key of the certificate %s", k.CertificateFile)
		return false
	}
	if !k.Until.IsZero() && !k.start().Before(k.Until.End()) {
		l.doc.Reportf(path+".until", "ends before it begins, on %s", k.start().UTC().Format("2006-01-02"))
	}
	return l.uses(path+".use", k)
}

// uses fills in and checks what a key is for.
func (l *loader) uses(path string, k *StationKey) bool {
	_, canDecrypt := k.Private.(*rsa.PrivateKey)
	if len(k.Use) == 0 {
		k.Use = []KeyUse{UseSign}
		if canDecrypt {
			k.Use = []KeyUse{UseSign, UseDecrypt}
		}
	}
	good := true
	for i, use := range k.Use {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case use != UseSign && use != UseDecrypt:
			l.doc.Reportf(at, "%q: one of sign, decrypt", use)
			good = false
		case use == UseDecrypt && !canDecrypt:
			l.doc.Reportf(at, "an elliptic curve key can only sign")
			good = false
		}
	}
	return good
}

func readCertificate(path string) (*x509.Certificate, error) {
	if path == "" {
		return nil, errors.New("missing")
	}
	der, err := readSmall(path, maxFile)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(der, []byte("-----BEGIN")) {
		if der = pemBlock(der, "CERTIFICATE"); der == nil {
			return nil, fmt.Errorf("%s: no certificate in it", path)
		}
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("%s: not a readable certificate: %w", path, err)
	}
	return c, nil
}

// readKey reads a private key. Its errors never quote the file.
func readKey(path string) (crypto.Signer, error) {
	if path == "" {
		return nil, errors.New("missing")
	}
	data, err := readSmall(path, maxFile)
	if err != nil {
		return nil, err
	}
	parsed, err := parseKey(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return usable(path, parsed)
}

// usable tells whether a key is one that the gateway can work with.
func usable(path string, parsed any) (crypto.Signer, error) {
	switch key := parsed.(type) {
	case *rsa.PrivateKey:
		if bits := key.N.BitLen(); bits < 2048 {
			return nil, fmt.Errorf("%s: RSA key of %d bits: at least 2048 are needed", path, bits)
		}
		return key, nil
	case *ecdsa.PrivateKey:
		return key, nil
	}
	return nil, fmt.Errorf("%s: a key of kind %T: RSA or ECDSA is needed", path, parsed)
}

func parseKey(data []byte) (any, error) {
	if der := pemBlock(data, "PRIVATE KEY"); der != nil {
		return x509.ParsePKCS8PrivateKey(der)
	}
	if der := pemBlock(data, "RSA PRIVATE KEY"); der != nil {
		return x509.ParsePKCS1PrivateKey(der)
	}
	if der := pemBlock(data, "EC PRIVATE KEY"); der != nil {
		return x509.ParseECPrivateKey(der)
	}
	if bytes.Contains(data, []byte("ENCRYPTED")) {
		return nil, errors.New("an encrypted key, which is not supported in PEM: protect the file instead, or use PKCS #12 with a password_file")
	}
	return nil, errors.New("no private key in PEM in it")
}

// pemBlock finds the first block of a type that is not encrypted by the old
// PEM method (RFC 1421), or nil.
func pemBlock(data []byte, kind string) []byte {
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil
		}
		if block.Type == kind && !strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return block.Bytes
		}
	}
}
