package partners

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"firstcopy/as2/smime"
)

// maxCertificateFile bounds what is read: a certificate is a few kilobytes.
const maxCertificateFile = 64 << 10

// readCertificate reads the partner's certificate from a file: PEM, DER, or a PKCS #7 bundle (.p7b) of either form, which
// may hold the chain as well.
func readCertificate(path string) (*x509.Certificate, error) {
	data, err := readSmall(path)
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, at.Err // the caller names the file
	}
	if err != nil {
		return nil, err
	}
	der, bundled := data, false
	if bytes.Contains(data, []byte("-----BEGIN")) {
		if der, bundled, err = onlyCertificate(data); err != nil {
			return nil, err
		}
	}
	if bundled || bytes.Contains(der[:min(len(der), 32)], signedData) {
		return fromBundle(der)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("not a readable certificate: %w", err)
	}
	return c, nil
}

// signedData is the OID 1.2.840.113549.1.7.2, near the start of every bundle.
var signedData = []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02}

// fromBundle takes the certificate that issued none of the others: the partner's own, not its chain.
func fromBundle(der []byte) (*x509.Certificate, error) {
	all, err := smime.Bundle(der)
	if err != nil {
		return nil, err
	}
	var leaves []*x509.Certificate
	for _, c := range all {
		issuer := slices.ContainsFunc(all, func(other *x509.Certificate) bool {
			return !other.Equal(c) && bytes.Equal(other.RawIssuer, c.RawSubject)
		})
		if !issuer {
			leaves = append(leaves, c)
		}
	}
	if len(leaves) != 1 {
		return nil, fmt.Errorf("a bundle of %d certificates, %d of which issued no other: which one is the partner's cannot be told; put it into a file of its own", len(all), len(leaves))
	}
	return leaves[0], nil
}

// readSmall reads a regular file only: a pipe or a device could block for ever
// or never end.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCertificateFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxCertificateFile {
		return nil, fmt.Errorf("larger than %d bytes: this is no certificate", maxCertificateFile)
	}
	return data, nil
}

// onlyCertificate takes the one certificate, or bundle, of a PEM file.
func onlyCertificate(data []byte) (der []byte, bundled bool, err error) {
	var found [][]byte
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		switch {
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			return nil, false, errors.New("holds a private key: agreements take the partner's certificate alone")
		case block.Type == "PKCS7" || block.Type == "CMS":
			return block.Bytes, true, nil
		case block.Type == "CERTIFICATE" || block.Type == "X509 CERTIFICATE" || block.Type == "TRUSTED CERTIFICATE":
			found = append(found, block.Bytes)
		}
	}
	switch len(found) {
	case 0:
		return nil, false, errors.New("no certificate in it")
	case 1:
		return found[0], false, nil
	}
	return nil, false, fmt.Errorf("holds %d certificates: one is pinned at a time, without its chain", len(found))
}

// checkKey tells whether the gateway can use a certificate's key, and warns of
// a weak one.
func checkKey(c *x509.Certificate, uses []Use) (warning string, err error) {
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		bits := key.N.BitLen()
		if bits < 1024 {
			// Go's crypto/rsa refuses to verify with such a key.
			return "", fmt.Errorf("RSA key of %d bits: at least 1024 are needed", bits)
		}
		if bits < 2048 {
			return fmt.Sprintf("RSA key of %d bits: 2048 or more are asked for today", bits), nil
		}
		return "", nil
	case *ecdsa.PublicKey:
		for _, use := range uses {
			if use == UseEncrypt {
				return "", errors.New("an elliptic curve key cannot be used to encrypt: say use: [verify]")
			}
		}
		return "", nil
	}
	return "", fmt.Errorf("a key of kind %s: RSA or ECDSA is needed", c.PublicKeyAlgorithm)
}
