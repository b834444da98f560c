package smime

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Signature is what a verified signature says.
type Signature struct {
	Signer *x509.Certificate // the pinned certificate whose key verifies
	Digest crypto.Hash       // by which the content was digested
}

// Verify checks a binary detached CMS signature over content. Only the keys of
// pinned certificates count; certificates embedded in the signature are not
// looked at (they are whatever the sender wants them to be). Issuer and serial
// or a key identifier choose which pinned key is tried first, and any pinned
// key may verify. One valid signer is enough.
//
// SHA-1 and MD5 are accepted here and left to the caller's policy. A signing
// time outside the certificate's validity is no fault: RFC 5652 §11.3 makes it
// informational.
//
// Errors are [ErrNoSigner], [ErrDigest] (Signature is then filled in: that
// signer did sign something) or content's own.
func Verify(content io.Reader, signature []byte, pinned []*x509.Certificate) (Signature, error) {
	signers, err := parseSignedData(signature)
	if err != nil {
		return Signature{}, err
	}
	digests, err := digestContent(content, signers)
	if err != nil {
		return Signature{}, err
	}
	result, failure := Signature{}, ErrNoSigner
	for _, s := range signers {
		cert, err := s.verify(digests, pinned)
		if err == nil {
			return Signature{cert, s.digest}, nil
		}
		if errors.Is(err, ErrDigest) {
			result, failure = Signature{cert, s.digest}, err
		}
	}
	return result, failure
}

// contentDigests is what one pass over the content leaves.
type contentDigests struct {
	sums map[crypto.Hash][]byte
	// looksLikeAttributes marks content that is itself an encoded attribute
	// set; see verify.
	looksLikeAttributes bool
}

func digestContent(content io.Reader, signers []signerInfo) (contentDigests, error) {
	hashes := map[crypto.Hash]hash.Hash{}
	shape := &setShape{}
	sinks := []io.Writer{shape}
	for _, s := range signers {
		if hashes[s.digest] == nil {
			h := s.digest.New()
			hashes[s.digest] = h
			sinks = append(sinks, h)
		}
	}
	if _, err := io.Copy(io.MultiWriter(sinks...), content); err != nil {
		return contentDigests{}, fmt.Errorf("smime: reading the signed content: %w", err)
	}
	sums := make(map[crypto.Hash][]byte, len(hashes))
	for id, h := range hashes {
		sums[id] = h.Sum(nil)
	}
	return contentDigests{sums, shape.isSet()}, nil
}

// verify finds the pinned certificate that made this signature. The signature
// is judged before the content's digest, so that [ErrDigest] is only said of
// attributes a partner really signed.
func (s signerInfo) verify(d contentDigests, pinned []*x509.Certificate) (*x509.Certificate, error) {
	sum := d.sums[s.digest]
	var sums [][]byte
	if s.attrs == nil {
		// Without attributes the signature covers the content itself (RFC 5652
		// §5.4). Content that is an attribute set is then refused: it would be
		// an old signature with attributes, passed off as one without.
		if d.looksLikeAttributes {
			return nil, ErrNoSigner
		}
		sums = [][]byte{sum}
	} else {
		for _, set := range s.signedOctets() {
			h := s.digest.New()
			h.Write(set)
			sums = append(sums, h.Sum(nil))
		}
	}
	cert := s.findSigner(sums, pinned)
	if cert == nil {
		return nil, ErrNoSigner
	}
	if s.attrs != nil {
		if signed, ok := s.messageDigest(); !ok || string(signed) != string(sum) {
			return cert, ErrDigest
		}
	}
	return cert, nil
}

// findSigner tries the named certificates first, then the others: issuers get
// re-encoded and certificates renewed with their old key.
func (s signerInfo) findSigner(sums [][]byte, pinned []*x509.Certificate) *x509.Certificate {
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
func (s signerInfo) verifies(public crypto.PublicKey, sum []byte) bool {
	switch key := public.(type) {
	case *rsa.PublicKey:
		if s.algorithm == oidPSS {
			// RFC 4056 §3: the parameters repeat the digest algorithm; the
			// salt's length shows in the signature itself.
			opts := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthAuto}
			return rsa.VerifyPSS(key, s.digest, sum, s.signature, opts) == nil
		}
		return rsa.VerifyPKCS1v15(key, s.digest, sum, s.signature) == nil
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(key, sum, s.signature)
	}
	return false
}

// setShape watches content go by and tells whether all of it is one encoded SET.
type setShape struct {
	head  []byte
	total int64
}

func (s *setShape) Write(p []byte) (int, error) {
	if n := 6 - len(s.head); n > 0 {
		s.head = append(s.head, p[:min(n, len(p))]...)
	}
	s.total += int64(len(p))
	return len(p), nil
}

func (s *setShape) isSet() bool {
	if len(s.head) < 2 || s.head[0] != tagSet {
		return false
	}
	length, head := int64(s.head[1]), int64(2)
	if length > 0x80 {
		n := int64(length & 0x7f)
		if n > int64(len(s.head))-2 {
			return false
		}
		length, head = 0, 2+n
		for _, b := range s.head[2 : 2+n] {
			length = length<<8 | int64(b)
		}
	}
	return head+length == s.total
}
