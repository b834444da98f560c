// Package as2client sends AS2 messages (RFC 4130) over HTTP and judges what
// comes back: the status, the receipt, its signature, its content digest and
// its disposition. [ReceiptListener] takes receipts that come later, on a
// connection of their own.
//
// A message is prepared once and may be posted any number of times: a retry has
// to be the same octets under the same Message-ID (RFC 4130 §5.3.3), and a
// measurement should not time the sender's own RSA work.
//
// Not done: retries, queues and storage; redirects, which would carry the
// message to whom nobody agreed on; compression. Messages are held in memory.
//
// A [Client], a [Prepared] and a [ReceiptListener] may be used concurrently.
package as2client

import (
	"crypto"
	"crypto/x509"
	"time"

	"firstcopy/as2"
	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

// Partner is whom to send to and how.
type Partner struct {
	// URL is where messages are posted, http or https. User and password in it
	// are sent as basic authentication.
	URL string
	// From and To are AS2 names, unquoted (RFC 4130 §6.2).
	From, To string

	SignKey *smime.Key  // nil sends unsigned
	Digest  crypto.Hash // of the signature; 0 means SHA-256

	Compress   as2.Compression
	EncryptFor []*x509.Certificate // none sends unencrypted
	Cipher     string              // as for smime.Encrypt; "" means "aes-256-cbc"

	// Receipt is the receipt to ask for. An empty Receipt.To becomes From.
	Receipt mdn.Request
	// ReceiptSigners are the certificates whose keys may sign it; certificates
	// within the receipt count for nothing. Without any, signatures stay
	// unverified.
	ReceiptSigners []*x509.Certificate
}

// Options are what differs from message to message.
type Options struct {
	MessageID   string    // sent as it stands; "" makes a new one
	Subject     string    // "" sends none
	ContentType string    // of the payload; "" guesses it, see [GuessContentType]
	FileName    string    // "" sends none
	Date        time.Time // the zero time is now
}
