// Package as2 reads and builds AS2 messages (RFC 4130): the header, the layers
// of compression, encryption and signature, the payload, and the content digest
// (MIC) that the receipt reports.
//
// Reading is by the octets, not by their labels: layers are recognised by their
// CMS content type, transfer encodings by their alphabet, and signatures and
// digests are computed over what was received, never over a re-serialised
// form. What partners' products are known to send is accepted: every packaging
// of RFC 4130 §4.2 and RFC 5402, opaque signatures (RFC 8551 §3.5.2), and
// multipart payloads (RFC 6362).
//
// Messages of any size are read in constant memory. Building holds the message
// in memory. Receipts are read and written by package mdn.
//
// There is no clock, network, database or log in here. Functions may be called
// concurrently; a call uses only the readers and writers given to it.
package as2

import (
	"crypto"
	"crypto/x509"
	"io"

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
	// AES. MD5 and RC2 ("rc2-cbc") are allowed only by name.
	Digests, Ciphers []string

	// DefaultMIC is the digest for the MIC of an unsigned message that asks for
	// none; "" means SHA-256. RFC 4130 §7.4.3 says SHA-1, and old senders mean it.
	DefaultMIC string

	// MaxPayload limits the decoded payload, and in proportion the body and
	// what it expands to; 0 or less is no limit.
	MaxPayload int64
	// MaxRatio limits how much compressed content grows; 0 means 250.
	MaxRatio int64

	// NewSpool makes the place where the content of authenticated ciphers waits
	// until it is verified; nil keeps it in memory.
	NewSpool func() (smime.Spool, error)
}

// Payload is a payload writer that can be read from, too. Where Open is given
// one, it digests large signed messages only by the algorithm that their label
// names, and reads again in the rare case that the label is wrong. Other
// writers make it digest by every algorithm.
type Payload interface {
	io.Writer
	// Section reads the octets written from start up to end.
	Section(start, end int64) io.Reader
}

// Opened is what [Open] found. On error it holds what was found until then.
type Opened struct {
	// Signed is true only once a pinned certificate has verified. Encrypted is
	// true if there was an envelope, opened or not, Compressed likewise.
	Signed, Encrypted, Compressed bool

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

	// Attachments are the documents in the payload: one or, of a multipart
	// payload, one for each part, in order.
	Attachments []Attachment

	// IsReceipt marks a receipt posted at the message URL. It has no payload
	// and no MIC, the floor does not apply to it, and it must not be answered.
	IsReceipt bool
	Receipt   mdn.Parsed
}

// Attachment is one document of a payload (RFC 6362).
type Attachment struct {
	// FileName and ContentType are as in [Opened].
	FileName, ContentType string
	// Start and End are where its octets stand among those written to the
	// payload writer.
	Start, End int64
}
