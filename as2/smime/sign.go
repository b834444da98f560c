package smime

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Sign makes a detached CMS signature in DER over content, with signed
// attributes and the key's certificate included (RFC 5652 §5). The digest is
// SHA-1, SHA-256, SHA-384 or SHA-512; RSA keys sign by PKCS #1 v1.5, which every
// receiver verifies, elliptic ones by ECDSA. The signing time attribute is the
// present time.
func Sign(content io.Reader, key Key, h crypto.Hash) ([]byte, error) {
	digest, err := digestOID(h)
	if err != nil {
		return nil, err
	}
	if key.Certificate == nil || key.Private == nil {
		return nil, errors.New("smime: signing needs a certificate and its private key")
	}
	signer, ok := key.Private.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("smime: a key of type %T does not sign", key.Private)
	}
	algorithm, err := signatureAlgorithm(signer.Public(), h)
	if err != nil {
		return nil, err
	}
	sum := h.New()
	if _, err := io.Copy(sum, content); err != nil {
		return nil, fmt.Errorf("smime: reading the content to sign: %w", err)
	}
	attrs := signedAttributes(sum.Sum(nil), time.Now())
	sum.Reset()
	sum.Write(derTLV(tagSet, attrs))
	signature, err := signer.Sign(rand.Reader, sum.Sum(nil), h)
	if err != nil {
		return nil, fmt.Errorf("smime: signing: %w", err)
	}
	info := derTLV(tagSequence, derInteger(1), issuerAndSerial(key.Certificate), digest,
		derTLV(tagContext0, attrs), algorithm, derTLV(tagOctetString, signature))
	data := derTLV(tagSequence, derInteger(1), derTLV(tagSet, digest), derTLV(tagSequence, derOID(oidData)),
		derTLV(tagContext0, key.Certificate.Raw), derTLV(tagSet, info))
	return derTLV(tagSequence, derOID(oidSigned), derTLV(tagContext0, data)), nil
}

// signedAttributes are the contents of the SET of content type, signing time
// and message digest (RFC 5652 §11), in DER order.
func signedAttributes(digest []byte, at time.Time) []byte {
	at = at.UTC()
	tag, layout := byte(0x17), "060102150405Z" // UTCTime until 2049 (§11.3)
	if at.Year() >= 2050 {
		tag, layout = 0x18, "20060102150405Z"
	}
	attribute := func(oid string, value []byte) []byte {
		return derTLV(tagSequence, derOID(oid), derTLV(tagSet, value))
	}
	attrs := [][]byte{
		attribute(oidContentType, derOID(oidData)),
		attribute(oidSigningTime, derTLV(tag, []byte(at.Format(layout)))),
		attribute(oidMessageDigest, derTLV(tagOctetString, digest)),
	}
	slices.SortFunc(attrs, bytes.Compare)
	return slices.Concat(attrs...)
}

// digestOID is the AlgorithmIdentifier of a digest; SHA-2's has no parameters
// (RFC 5754 §2), SHA-1's by custom a NULL (RFC 3370 §2.1).
func digestOID(h crypto.Hash) ([]byte, error) {
	switch h {
	case crypto.SHA1:
		return derAlgorithm(oidSHA1, derNull), nil
	case crypto.SHA256:
		return derAlgorithm(oidSHA2 + "\x01"), nil
	case crypto.SHA384:
		return derAlgorithm(oidSHA2 + "\x02"), nil
	case crypto.SHA512:
		return derAlgorithm(oidSHA2 + "\x03"), nil
	}
	return nil, fmt.Errorf("smime: no signatures are made with digest %v", h)
}

// signatureAlgorithm is the AlgorithmIdentifier that fits the key: rsaEncryption
// (RFC 3370 §3.2), or ECDSA with its digest (RFC 5754 §3.3).
func signatureAlgorithm(public crypto.PublicKey, h crypto.Hash) ([]byte, error) {
	switch key := public.(type) {
	case *rsa.PublicKey:
		if !usableRSA(key) {
			return nil, fmt.Errorf("smime: an RSA key of %d bits does not sign", key.N.BitLen())
		}
		return derAlgorithm(oidRSA, derNull), nil
	case *ecdsa.PublicKey:
		for _, oid := range []string{"\x01", "\x03\x02", "\x03\x03", "\x03\x04"} {
			if hashOfSignature(oidECDSA+oid) == h {
				return derAlgorithm(oidECDSA + oid), nil
			}
		}
	}
	return nil, fmt.Errorf("smime: a key of type %T does not sign", public)
}
