package smime

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
)

// Signature is what a verified signature says.
type Signature struct {
	Signer *x509.Certificate // the pinned certificate whose key verifies
	Digest crypto.Hash       // by which the content was digested
	Form   Form              // of the content that was signed
}

// Verify checks a binary detached CMS signature over content as it stands; see
// [SignedData.Verify]. Errors may be content's own.
func Verify(content io.Reader, signature []byte, pinned []*x509.Certificate) (Signature, error) {
	d, err := OpenSigned(bytes.NewReader(signature))
	if err != nil {
		return Signature{}, err
	}
	if err := Drain(d); err != nil {
		return Signature{}, err
	}
	digests := NewDigests(d.Digests(), 0, false)
	if _, err := io.Copy(digests, content); err != nil {
		return Signature{}, fmt.Errorf("smime: reading the signed content: %w", err)
	}
	return d.Verify(digests, pinned)
}

// Verify checks the signers, once everything has been read, against the digests
// of the content. Only the keys of pinned certificates count; certificates
// embedded in the signature are not looked at (they are whatever the sender
// wants them to be). Issuer and serial or a key identifier choose which pinned
// key is tried first, and any pinned key may verify. One valid signer is enough.
//
// SHA-1 and MD5 are accepted here and left to the caller's policy. A signing
// time outside the certificate's validity is no fault: RFC 5652 §11.3 makes it
// informational.
//
// Errors are [ErrNoSigner], or [ErrDigest], with the Signature filled in: that
// signer did sign something, or c does not have its digest.
func (d *SignedData) Verify(c *Digests, pinned []*x509.Certificate) (Signature, error) {
	if d.err != io.EOF {
		return Signature{}, ErrNoSigner
	}
	result, failure := Signature{}, ErrNoSigner
	for i := range d.signers {
		s, err := d.signers[i].verify(c, pinned)
		if err == nil {
			return s, nil
		}
		if errors.Is(err, ErrDigest) && result.Signer == nil {
			result, failure = s, err
		}
	}
	return result, failure
}

// verify finds the pinned certificate that made this signature. The signature
// is judged before the content's digest, so that [ErrDigest] is only said of
// attributes a partner really signed.
func (s *signerInfo) verify(c *Digests, pinned []*x509.Certificate) (Signature, error) {
	if s.attrs == nil {
		return s.verifyContent(c, pinned)
	}
	var sums [][]byte
	for _, set := range s.signedOctets() {
		h := s.digest.New()
		h.Write(set)
		sums = append(sums, h.Sum(nil))
	}
	cert := s.findSigner(sums, pinned)
	if cert == nil || !s.protected() {
		return Signature{}, ErrNoSigner
	}
	signed, ok := s.messageDigest()
	for _, form := range c.differing() {
		if ok && bytes.Equal(signed, c.Sum(form, s.digest)) {
			return Signature{cert, s.digest, form}, nil
		}
	}
	return Signature{Signer: cert, Digest: s.digest}, ErrDigest
}

// verifyContent is for a signature without attributes, which covers the content
// itself (RFC 5652 §5.4). Content that is an attribute set is refused: it would
// be an old signature with attributes, passed off as one without.
func (s *signerInfo) verifyContent(c *Digests, pinned []*x509.Certificate) (Signature, error) {
	if c.shape.isSet() || !c.Has(s.digest) {
		return Signature{}, ErrNoSigner
	}
	for _, form := range c.differing() {
		if cert := s.findSigner([][]byte{c.Sum(form, s.digest)}, pinned); cert != nil {
			return Signature{cert, s.digest, form}, nil
		}
	}
	return Signature{}, ErrNoSigner
}

// findSigner tries the named certificates first, then the others: issuers get
// re-encoded and certificates renewed with their old key.
func (s *signerInfo) findSigner(sums [][]byte, pinned []*x509.Certificate) *x509.Certificate {
	for _, named := range []bool{true, false} {
		for _, cert := range pinned {
			if cert == nil || s.id.names(cert) != named {
				continue
			}
			for _, sum := range sums {
				if s.verifies(cert.PublicKey, sum) {
					return cert
				}
			}
		}
	}
	return nil
}

// verifies applies a public key. x509's CheckSignature is not used because it
// refuses SHA-1, which RFC 4130 §7.4.3 still defaults to.
func (s *signerInfo) verifies(public crypto.PublicKey, sum []byte) bool {
	switch key := public.(type) {
	case *rsa.PublicKey:
		if !usableRSA(key) {
			return false
		}
		if s.algorithm == oidPSS {
			return s.verifiesPSS(key, sum)
		}
		return rsa.VerifyPKCS1v15(key, s.digest, sum, s.signature) == nil
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(key, sum, s.signature)
	}
	return false
}
