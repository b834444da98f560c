package smime

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"

	"go.mozilla.org/pkcs7"
)

// The structures of RFC 5083 §2.1 as encoding/asn1 writes them.
type (
	contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content authEnvelopedData `asn1:"explicit,tag:0"`
	}
	authEnvelopedData struct {
		Version    int
		Recipients []keyTransRecipientInfo `asn1:"set"`
		Content    encryptedContentInfo
		MAC        []byte
	}
	keyTransRecipientInfo struct {
		Version   int
		Recipient issuerAndSerial
		Algorithm pkix.AlgorithmIdentifier
		Key       []byte
	}
	issuerAndSerial struct {
		Issuer asn1.RawValue
		Serial *big.Int
	}
	encryptedContentInfo struct {
		Type      asn1.ObjectIdentifier
		Algorithm gcmAlgorithm
		Content   []byte `asn1:"tag:0"`
	}
	gcmAlgorithm struct { // RFC 5084 §3.2
		Algorithm  asn1.ObjectIdentifier
		Parameters gcmParameters
	}
	gcmParameters struct {
		Nonce  []byte
		ICVLen int
	}
)

var oidAuthEnveloped = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 23}

// sealGCM writes its own structure because pkcs7 puts GCM into an
// EnvelopedData with private parameters, which nobody else reads.
func sealGCM(algorithm asn1.ObjectIdentifier, keySize int) sealFunc {
	return func(content []byte, to []*x509.Certificate) ([]byte, error) {
		key, nonce := make([]byte, keySize), make([]byte, 12)
		rand.Read(key) // crypto/rand.Read never fails
		rand.Read(nonce)
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		sealed := aead.Seal(nil, nonce, content, nil)
		end := len(sealed) - aead.Overhead()
		data := authEnvelopedData{
			Content: encryptedContentInfo{
				Type:      pkcs7.OIDData,
				Algorithm: gcmAlgorithm{algorithm, gcmParameters{nonce, aead.Overhead()}},
				Content:   sealed[:end],
			},
			MAC: sealed[end:],
		}
		for _, cert := range to {
			recipient, err := wrap(key, cert)
			if err != nil {
				return nil, err
			}
			data.Recipients = append(data.Recipients, recipient)
		}
		return asn1.Marshal(contentInfo{oidAuthEnveloped, data})
	}
}

// wrap encrypts a content key to an RSA certificate (RFC 3370 §4.2.1).
func wrap(key []byte, cert *x509.Certificate) (keyTransRecipientInfo, error) {
	encrypted, err := rsa.EncryptPKCS1v15(rand.Reader, cert.PublicKey.(*rsa.PublicKey), key)
	return keyTransRecipientInfo{
		Recipient: issuerAndSerial{asn1.RawValue{FullBytes: cert.RawIssuer}, cert.SerialNumber},
		Algorithm: pkix.AlgorithmIdentifier{
			Algorithm:  pkcs7.OIDEncryptionAlgorithmRSA,
			Parameters: asn1.NullRawValue,
		},
		Key: encrypted,
	}, err
}
