package smime

import (
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"sync"

	"go.mozilla.org/pkcs7"
)

// pkcs7Cipher guards pkcs7.ContentEncryptionAlgorithm, a global.
var pkcs7Cipher sync.Mutex

// Encrypt reads src and writes it to dst as a DER envelope that each of the
// certificates' RSA keys opens. Ciphers: "aes-128-cbc" and "aes-256-cbc" make
// an EnvelopedData, "aes-128-gcm" and "aes-256-gcm" an AuthEnvelopedData.
func Encrypt(dst io.Writer, src io.Reader, to []*x509.Certificate, cipher string) error {
	if len(to) == 0 {
		return errors.New("smime: encrypting needs a recipient")
	}
	for _, cert := range to {
		if cert == nil {
			return errors.New("smime: a recipient's certificate is missing")
		}
		if _, ok := cert.PublicKey.(*rsa.PublicKey); !ok {
			return fmt.Errorf("smime: cannot encrypt to the %v key of %q", cert.PublicKeyAlgorithm, cert.Subject)
		}
	}
	seal, err := sealer(cipher)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(src)
	if err != nil {
		return fmt.Errorf("smime: reading the content to encrypt: %w", err)
	}
	der, err := seal(content, to)
	if err != nil {
		return fmt.Errorf("smime: encrypting: %w", err)
	}
	if _, err := dst.Write(der); err != nil {
		return fmt.Errorf("smime: writing the envelope: %w", err)
	}
	return nil
}

type sealFunc func(content []byte, to []*x509.Certificate) ([]byte, error)

func sealer(cipher string) (sealFunc, error) {
	switch cipher {
	case "aes-128-cbc":
		return sealCBC(pkcs7.EncryptionAlgorithmAES128CBC), nil
	case "aes-256-cbc":
		return sealCBC(pkcs7.EncryptionAlgorithmAES256CBC), nil
	case "aes-128-gcm":
		return sealGCM(pkcs7.OIDEncryptionAlgorithmAES128GCM, 16), nil
	case "aes-256-gcm":
		return sealGCM(pkcs7.OIDEncryptionAlgorithmAES256GCM, 32), nil
	}
	return nil, fmt.Errorf("smime: no envelopes are made with cipher %q", cipher)
}

func sealCBC(algorithm int) sealFunc {
	return func(content []byte, to []*x509.Certificate) ([]byte, error) {
		pkcs7Cipher.Lock()
		defer pkcs7Cipher.Unlock()
		pkcs7.ContentEncryptionAlgorithm = algorithm
		return pkcs7.Encrypt(content, to)
	}
}
