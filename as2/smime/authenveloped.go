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

// The structures of RFC 5652 §6.1 and RFC 5083 §2.1 as encoding/asn1 writes them.
type (
	contentInfo[T any] struct {
		Type    asn1.ObjectIdentifier
		Content T `asn1:"explicit,tag:0"`
	}
	envelopedData struct {
		Version    int
		Recipients []keyTransRecipientInfo `asn1:"set"`
		Content    encryptedContentInfo
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
		Algorithm pkix.AlgorithmIdentifier
		Content   []byte `asn1:"tag:0"`
	}
	gcmParameters struct { // RFC 5084 §3.2
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
		parameters, err := asn1.Marshal(gcmParameters{nonce, aead.Overhead()})
		if err != nil {
			return nil, err
		}
		data := authEnvelopedData{
			Content: encryptedContentInfo{
				Type:      pkcs7.OIDData,
				Algorithm: pkix.AlgorithmIdentifier{Algorithm: algorithm, Parameters: asn1.RawValue{FullBytes: parameters}},
				Content:   sealed[:end],
			},
			MAC: sealed[end:],
		}
		if data.Recipients, err = wrapFor(to, key); err != nil {
			return nil, err
		}
		return asn1.Marshal(contentInfo[authEnvelopedData]{oidAuthEnveloped, data})
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
