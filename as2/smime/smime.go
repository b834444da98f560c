// Package smime is the seam between AS2 and its cryptography: CMS envelopes
// and detached signatures, and the octet-exact MIME slicing they depend on.
//
// It follows RFC 5652 (CMS), RFC 3370 and RFC 5754 (algorithms), RFC 4056
// (RSASSA-PSS), RFC 3560 (RSAES-OAEP), RFC 5083 and RFC 5084
// (AuthEnvelopedData with AES-GCM), RFC 1847 (multipart/signed), RFC 2045,
// RFC 2046 and RFC 2231 (MIME). Readers accept BER as well as DER, because
// RFC 5652 §2 lets senders emit either and streaming senders emit BER.
//
// Not done: CompressedData (RFC 3274) and opaque SignedData are recognised by
// [Kind] but not read; certificate paths, validity and revocation are not
// judged, since trust in AS2 is a certificate agreed with the partner; key
// agreement, KEK and password recipients are skipped. Content is held in
// memory while it is decrypted.
//
// All functions may be called concurrently; nothing is kept between calls.
// Input of any shape yields an error, never a panic.
package smime

import (
	"crypto"
	"crypto/x509"
	"errors"
)

// Key is one of our own certificates with its private key.
type Key struct {
	Certificate *x509.Certificate
	// Private opens envelopes as a [crypto.Decrypter] and makes signatures as
	// *rsa.PrivateKey or *ecdsa.PrivateKey.
	Private crypto.PrivateKey
}

// ErrDecrypt is every failure to open an envelope: wrong key, damaged
// structure, unknown cipher, bad padding. It deliberately does not say which,
// since the difference is a padding oracle (RFC 3218 §2.3).
var ErrDecrypt = errors.New("smime: the content could not be decrypted")

// Failures of [Verify].
var (
	// ErrNoSigner says that no pinned certificate's key made the signature,
	// or that the signature cannot be read at all.
	ErrNoSigner = errors.New("smime: no valid signature by a known signer")
	// ErrDigest says that a pinned key did sign, but other octets than these.
	ErrDigest = errors.New("smime: the content differs from the content that was signed")
)
