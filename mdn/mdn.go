// Package mdn reads and writes AS2 receipts: the request for one
// (RFC 4130 §7.3), its disposition and content digest (§7.4.3, §7.5), and the
// message disposition notification itself (RFC 8098, RFC 3462), unsigned or in
// multipart/signed (RFC 1847).
//
// Writing is strict, reading is tolerant: receipts leave in the one shape that
// old products are known to understand (CRLF only, no folded line, quoted
// boundary and protocol, base64 signature), and come in as those products
// write them.
//
// What it does not do: it neither makes nor verifies signatures (Compose is
// given a [Sign], Parse returns the signed octets and the signature), does not
// compute content digests, does not read opaque-signed or encrypted receipts,
// and writes no third part with the original message (§7.6 advises against it).
// It has no clock, no network and no log; crypto/rand serves for boundaries.
//
// Everything here is a value or a function without shared state, so all of it
// is safe for concurrent use; what Parse and UnmarshalReceipt return may share
// memory with their input.
package mdn

import (
	"crypto"
	"time"
)

// Version is the AS2-Version of the messages and receipts written here. "1.1"
// says that compressed messages are understood (RFC 4130 §6.1, RFC 5402 §6);
// "1.2" would promise that EDIINT-Features is sent (RFC 6017 §4).
const Version = "1.1"

// Report is what a receipt says about a message.
type Report struct {
	// ReportingUA names the software that reports; "" leaves the field out.
	ReportingUA string
	// OriginalRecipient and FinalRecipient are AS2 names without quotes or
	// address type. Both should be the AS2-To of the message (RFC 4130 §5.3.2).
	OriginalRecipient string
	FinalRecipient    string
	// OriginalMessageID is the Message-ID of the message, octet for octet, with
	// angle brackets or without, as it came (RFC 4130 §5.3.3).
	OriginalMessageID string
	Disposition       Disposition
	// MIC is the digest over the received content; a zero MIC leaves the field
	// out, as when nothing could be decrypted (RFC 4130 §7.3.1).
	MIC MIC
	// Text is for the human reader. Compose writes a neutral default for "".
	Text string
}

// Envelope is the AS2 header of the receipt itself.
type Envelope struct {
	// From and To are AS2 names without quotes, already swapped: From is the
	// message's AS2-To (RFC 4130 §6.2). An empty one is left out, because a
	// message that named nobody still deserves an answer.
	From, To string
	// MessageID is the receipt's own, with its angle brackets; "" leaves it out,
	// which RFC 4130 §7.6 allows but does not recommend.
	MessageID string
	// Subject is written in printable ASCII; "" leaves it out.
	Subject string
	// Date is written in English and in GMT; the zero time leaves it out.
	Date time.Time
}

// Sign makes a detached CMS SignedData (RFC 5652 §5) in DER over content, with
// h as its message digest.
type Sign func(content []byte, h crypto.Hash) (der []byte, err error)
