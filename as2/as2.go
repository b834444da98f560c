// Package as2 reads and builds AS2 messages (RFC 4130): the header, the layers
// of encryption and signature, the payload, and the content digest (MIC) that
// the receipt reports.
//
// Reading is by the octets, not by their labels: layers are recognised by their
// CMS content type, transfer encodings by their alphabet, and signatures and
// digests are computed over what was received, never over a re-serialised
// form. What partners' products are known to send is accepted.
//
// Not done: compressed messages (RFC 5402) and opaque signatures (RFC 8551
// §3.5.2) are recognised and refused; a multipart payload (RFC 6362) is
// delivered as one. Receipts are read and written by package mdn. A plain
// message streams through in constant memory, other layers are held in memory
// while they are opened.
//
// There is no clock, network, database or log in here. Functions may be called
// concurrently; a call uses only the readers and writers given to it.
package as2

import (
	"crypto"
	"crypto/x509"

	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

// Policy is what the agreement with a partner demands and permits.
type Policy struct {
	Keys    []smime.Key         // ours, to decrypt with; old and new may overlap
	Signers []*x509.Certificate // the partner's; no other key authenticates

	RequireSigned    bool
	RequireEncrypted bool

	// Digests and Ciphers are the algorithms allowed, in any usual spelling
	// ("sha-256", "aes-256-cbc"). Empty permits SHA-1 and SHA-2, and 3DES and
	// AES.
	Digests, Ciphers []string

	// DefaultMIC is the digest for the MIC of an unsigned message that asks for
	// none; "" means SHA-256. RFC 4130 §7.4.3 says SHA-1, and old senders mean it.
	DefaultMIC string

	// MaxPayload limits the decoded payload, and in proportion the body; 0 or
	// less is no limit.
	MaxPayload int64
}

// Opened is what [Open] found. On error it holds what was found until then.
type Opened struct {
	// Signed is true only once a pinned certificate has verified. Encrypted is
	// true if there was an envelope, opened or not.
	Signed, Encrypted bool

	Signer *x509.Certificate
	Digest crypto.Hash // of the signature
	Cipher string      // of the envelope, such as "aes-256-cbc"; "" if unknown

	// MIC is the digest for the receipt. It is zero if the content it covers
	// could not be reached.
	MIC mdn.MIC

	// FileName is the name the sender gave, stripped of everything that could
	// make it a path; "" if none.
	FileName string
	// ContentType is the payload's, as received.
	ContentType string

	// IsReceipt marks a receipt posted at the message URL. It has no payload
	// and no MIC, the floor does not apply to it, and it must not be answered.
	IsReceipt bool
	Receipt   mdn.Parsed
}
