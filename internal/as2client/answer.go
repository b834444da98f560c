package as2client

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	"firstcopy/mdn"
)

// What can be wrong with an answer; [Answer.Err] wraps these.
var (
	ErrStatus       = errors.New("the message was refused at HTTP level")
	ErrNoReceipt    = errors.New("no receipt came although one was asked for")
	ErrUnreadable   = errors.New("the receipt cannot be read")
	ErrOtherMessage = errors.New("the receipt is for another message")
	ErrNegative     = errors.New("the receipt is negative")
	ErrMIC          = errors.New("the receipt's content digest does not match")
	ErrSignature    = errors.New("the receipt's signature does not hold")
)

// Answer is what came back for a message and what it is worth.
type Answer struct {
	// Status is the HTTP status; 0 for a receipt that came asynchronously.
	Status int
	// Header is that of the response, or of the request which brought the
	// receipt. Names are in Go's canonical spelling.
	Header http.Header
	// Raw are the octets of the body: two answers to the same message can be
	// compared by it.
	Raw []byte
	// Duration is the time from sending to the answer's last octet; 0 for a
	// receipt that came asynchronously.
	Duration time.Duration

	// Pending says that the message was taken over (2xx) and that its receipt
	// is to come on another connection.
	Pending bool
	// HasReceipt says that there is a readable receipt, in Receipt.
	HasReceipt bool
	Receipt    mdn.Parsed
	// SignatureOK says that the key of one of the pinned certificates, Signer,
	// made the receipt's signature. It is false if none are pinned, which is not
	// a problem by itself.
	SignatureOK bool
	Signer      *x509.Certificate
	// MICOK says that the receiver reports the digest of what was sent. It is
	// false without a digest, which is a problem only in a positive signed
	// receipt (RFC 4130 §7.3.1).
	MICOK bool

	// Problems says in words what Err says.
	Problems []string
	faults   []error
}

// Positive reports whether the message is settled: accepted with a receipt in
// which nothing is wrong, or, where none was asked for, with a 2xx status.
func (a Answer) Positive() bool { return !a.Pending && len(a.faults) == 0 }

// Err is everything that is wrong with the answer, each one of the errors of
// this package; nil if nothing is, as with a receipt still to come.
func (a Answer) Err() error { return errors.Join(a.faults...) }

// ReceiptMessageID is the receipt's own Message-ID; "" if it has none.
func (a Answer) ReceiptMessageID() string { return a.Header.Get("Message-ID") }

// Entity is the receipt as a MIME entity by itself, to be kept as evidence: the
// header fields that belong to it, and the body's octets. Tools such as openssl
// can verify it.
func (a Answer) Entity() []byte {
	var b bytes.Buffer
	for _, name := range []string{"AS2-Version", "AS2-From", "AS2-To", "MIME-Version", "Message-ID", "Date", "Subject",
		"Content-Type", "Content-Transfer-Encoding"} {
		if value := a.Header.Get(name); value != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	b.WriteString("\r\n")
	b.Write(a.Raw)
	return b.Bytes()
}

func (a *Answer) fault(kind error, format string, args ...any) {
	err := kind
	if format != "" {
		err = fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...))
	}
	a.faults = append(a.faults, err)
	a.Problems = append(a.Problems, err.Error())
}
