package smime

import (
	"crypto"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"

	"go.mozilla.org/pkcs7"
)

// Sign makes a detached CMS signature in DER over content, with signed
// attributes and the key's certificate included (RFC 5652 §5). The digest is
// SHA-1, SHA-256, SHA-384 or SHA-512. The signing time attribute is the
// present time.
func Sign(content io.Reader, key Key, h crypto.Hash) ([]byte, error) {
	oid, err := digestOID(h)
	if err != nil {
		return nil, err
	}
	if key.Certificate == nil || key.Private == nil {
		return nil, errors.New("smime: signing needs a certificate and its private key")
	}
	octets, err := io.ReadAll(content)
	if err != nil {
		return nil, fmt.Errorf("smime: reading the content to sign: %w", err)
	}
	data, err := pkcs7.NewSignedData(octets)
	if err != nil {
		return nil, fmt.Errorf("smime: signing: %w", err)
	}
	data.SetDigestAlgorithm(oid)
	if err := data.AddSigner(key.Certificate, key.Private, pkcs7.SignerInfoConfig{}); err != nil {
		return nil, fmt.Errorf("smime: signing: %w", err)
	}
	data.Detach()
	der, err := data.Finish()
	if err != nil {
		return nil, fmt.Errorf("smime: signing: %w", err)
	}
	return der, nil
}

func digestOID(h crypto.Hash) (asn1.ObjectIdentifier, error) {
	switch h {
	case crypto.SHA1:
		return pkcs7.OIDDigestAlgorithmSHA1, nil
	case crypto.SHA256:
		return pkcs7.OIDDigestAlgorithmSHA256, nil
	case crypto.SHA384:
		return pkcs7.OIDDigestAlgorithmSHA384, nil
	case crypto.SHA512:
		return pkcs7.OIDDigestAlgorithmSHA512, nil
	}
	return nil, fmt.Errorf("smime: no signatures are made with digest %v", h)
}
