// Package smime is the seam between AS2 and its cryptography: CMS envelopes
// and detached signatures, and the octet-exact MIME slicing they depend on.
//
// It follows RFC 5652 (CMS), RFC 3370 and RFC 5754 (algorithms), RFC 4056
// (RSASSA-PSS), RFC 3560 (RSAES-OAEP), RFC 5083 and RFC 5084
// (AuthEnvelopedData with AES-GCM), RFC 1847 (multipart/signed), RFC 2045,
// RFC 2046 and RFC 2231 (MIME). Readers accept BER as well as DER, because
// RFC 5652 §2 lets senders emit either and streaming senders emit BER.
//
// Everything streams: content of any size passes in constant memory, and what
// must not be seen before it is authenticated waits in a [Spool] of the
// caller's. A reader's verdict stands once it has been read to its end.
//
// Not done: certificate paths, validity and revocation are not judged, since
// trust in AS2 is a certificate agreed with the partner; key agreement, KEK and
// password recipients are passed over; AES-CCM is not read.
//
// Functions may be called concurrently; nothing is kept between calls. A reader
// serves one goroutine. Input of any shape yields an error, never a panic.
package smime

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
)

// Key is one of our own certificates with its private key.
type Key struct {
	Certificate *x509.Certificate
	// Private opens envelopes as a [crypto.Decrypter] and makes signatures as
	// a [crypto.Signer].
	Private crypto.PrivateKey
}

// ErrDecrypt is every failure to open an envelope: wrong key, damaged
// structure, unknown cipher, wrong tag. It deliberately does not say which,
// since the difference is a padding oracle (RFC 3218 §2.3).
var ErrDecrypt = errors.New("smime: the content could not be decrypted")

// Failures of signatures.
var (
	// ErrNoSigner says that no pinned certificate's key made the signature,
	// or that the signature cannot be read at all.
	ErrNoSigner = errors.New("smime: no valid signature by a known signer")
	// ErrDigest says that a pinned key did sign, but other octets than these.
	ErrDigest = errors.New("smime: the content differs from the content that was signed")
)

// Failures of compressed content.
var (
	// ErrDecompress says that the content is no CompressedData that can be
	// read, or is damaged.
	ErrDecompress = errors.New("smime: the compressed content cannot be read")
	// ErrExpansion says that the content grows beyond all proportion.
	ErrExpansion = fmt.Errorf("%w: it expands too far", ErrDecompress)
)

// The sizes of RSA keys that are used, in bits. Smaller ones protect nothing;
// larger ones let whoever names the key choose how long we compute.
const (
	MinRSABits = 1024
	MaxRSABits = 8192
)

func usableRSA(key *rsa.PublicKey) bool {
	bits := key.N.BitLen()
	return bits >= MinRSABits && bits <= MaxRSABits
}
