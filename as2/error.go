package as2

import "fmt"

// Kind classes failures by how the sender is to be answered (RFC 4130 §7.5).
type Kind uint8

// The kinds, with the disposition each calls for. The zero Kind is none.
const (
	_                        Kind = iota
	KindMalformed                 // error: unexpected-processing-error
	KindInvalidMessageID          // error: invalid-message-id
	KindDecryption                // error: decryption-failed
	KindAuthentication            // error: authentication-failed
	KindIntegrity                 // error: integrity-check-failed
	KindDecompression             // error: decompression-failed
	KindInsufficientSecurity      // error: insufficient-message-security
	KindUnsupportedFormat         // failure: unsupported format (§7.5.3)
	KindUnsupportedMIC            // failure: unsupported MIC-algorithms (§7.5.3)
	KindTooLarge                  // the agreed size is exceeded (§5.1)
	KindRead                      // the body broke off: no receipt, the sender retries
	KindUnexpected                // error: unexpected-processing-error
)

var kindNames = [...]string{
	"none", "malformed", "invalid message id", "decryption", "authentication", "integrity",
	"decompression", "insufficient security", "unsupported format", "unsupported MIC algorithm",
	"too large", "read", "unexpected",
}

// String names the kind for logs.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Error is a message that is refused.
type Error struct {
	Kind   Kind
	Detail string // one neutral English sentence, fit for the partner
	Err    error  // the cause, for the log only; may be nil
}

func (e *Error) Error() string {
	s := "as2: " + e.Kind.String() + ": " + e.Detail
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func refuse(k Kind, detail string, cause error) *Error {
	return &Error{Kind: k, Detail: detail, Err: cause}
}
