package smime

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.mozilla.org/pkcs7"
)

// Encrypt reads src and writes it to dst as a DER envelope that each of the
// certificates' RSA keys opens. Ciphers: "aes-128-cbc" and "aes-256-cbc" make
// an EnvelopedData, "aes-128-gcm" and "aes-256-gcm" an AuthEnvelopedData.
func Encrypt(dst io.Writer, src io.Reader, to []*x509.Certificate, algorithm string) error {
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
	seal, err := sealer(algorithm)
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

func sealer(algorithm string) (sealFunc, error) {
	switch algorithm {
	case "aes-128-cbc":
		return sealCBC(pkcs7.OIDEncryptionAlgorithmAES128CBC, 16), nil
	case "aes-256-cbc":
		return sealCBC(pkcs7.OIDEncryptionAlgorithmAES256CBC, 32), nil
	case "aes-128-gcm":
		return sealGCM(pkcs7.OIDEncryptionAlgorithmAES128GCM, 16), nil
	case "aes-256-gcm":
		return sealGCM(pkcs7.OIDEncryptionAlgorithmAES256GCM, 32), nil
	}
	return nil, fmt.Errorf("smime: no envelopes are made with cipher %q", algorithm)
}

// sealCBC writes the encrypted content as one primitive OCTET STRING, which is
// what DER demands. pkcs7 writes a constructed one: BER, and refused by readers
// built on asn1crypto, pyas2lib among them.
func sealCBC(algorithm asn1.ObjectIdentifier, keySize int) sealFunc {
	return func(content []byte, to []*x509.Certificate) ([]byte, error) {
		key, iv := make([]byte, keySize), make([]byte, aes.BlockSize)
		rand.Read(key) // crypto/rand.Read never fails
		rand.Read(iv)
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		padding := aes.BlockSize - len(content)%aes.BlockSize // RFC 5652 §6.3
		padded := slices.Concat(content, bytes.Repeat([]byte{byte(padding)}, padding))
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(padded, padded)
		parameters, err := asn1.Marshal(iv) // RFC 3565 §2.3.1
		if err != nil {
			return nil, err
		}
		data := envelopedData{Content: encryptedContentInfo{
			Type:      pkcs7.OIDData,
			Algorithm: pkix.AlgorithmIdentifier{Algorithm: algorithm, Parameters: asn1.RawValue{FullBytes: parameters}},
			Content:   padded,
		}}
		if data.Recipients, err = wrapFor(to, key); err != nil {
			return nil, err
		}
		return asn1.Marshal(contentInfo[envelopedData]{pkcs7.OIDEnvelopedData, data})
	}
}

// wrapFor encrypts a content key to each of the certificates.
func wrapFor(to []*x509.Certificate, key []byte) ([]keyTransRecipientInfo, error) {
	recipients := make([]keyTransRecipientInfo, len(to))
	for i, cert := range to {
		var err error
		if recipients[i], err = wrap(key, cert); err != nil {
			return nil, err
		}
	}
	return recipients, nil
}
