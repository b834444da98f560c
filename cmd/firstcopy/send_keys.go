package main

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	"firstcopy/as2/smime"
)

// readSendKey reads our own certificate and its private key.
func readSendKey(certFile, keyFile string) (smime.Key, error) {
	certificate, err := readSendCertificate(certFile)
	if err != nil {
		return smime.Key{}, fmt.Errorf("--sign-cert: %w", err)
	}
	data, err := os.ReadFile(keyFile)
	if err != nil {
		return smime.Key{}, fmt.Errorf("--sign-key: %w", err)
	}
	private, err := parseSendKey(data)
	if err != nil {
		return smime.Key{}, fmt.Errorf("--sign-key: %s: %w", keyFile, err)
	}
	public, ok := private.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(certificate.PublicKey) {
		return smime.Key{}, fmt.Errorf("%s is not the key of the certificate %s", keyFile, certFile)
	}
	return smime.Key{Certificate: certificate, Private: private}, nil
}

// readSendCertificate reads the first certificate of a PEM file, or a DER file.
func readSendCertificate(file string) (*x509.Certificate, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	der := data
	if bytes.Contains(data, []byte("-----BEGIN")) {
		block := findBlock(data, func(kind string) bool { return strings.HasSuffix(kind, "CERTIFICATE") })
		if block == nil {
			return nil, fmt.Errorf("%s: no certificate in it", file)
		}
		der = block.Bytes
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("%s: not a readable certificate: %w", file, err)
	}
	return certificate, nil
}

func parseSendKey(data []byte) (crypto.Signer, error) {
	block := findBlock(data, func(kind string) bool { return strings.HasSuffix(kind, "PRIVATE KEY") })
	if block == nil {
		return nil, errors.New("no PEM private key in it")
	}
	if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
		return nil, withHint(errors.New("the key is encrypted"), "decrypt it with: openssl pkey -in KEY -out PLAIN")
	}
	var key any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, fmt.Errorf("not a readable private key: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("a key that cannot sign")
	}
	return signer, nil
}

// findBlock finds the first PEM block of a kind: key files come with
// parameters, certificate files with text and chains.
func findBlock(data []byte, wanted func(kind string) bool) *pem.Block {
	for {
		block, rest := pem.Decode(data)
		if block == nil || wanted(block.Type) {
			return block
		}
		data = rest
	}
}
