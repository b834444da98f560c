package mdn

import (
	"errors"
	"strings"
)

// mode is the only disposition-mode written: nobody presses a button here
// (RFC 4130 §7.5.2).
const mode = "automatic-action/MDN-sent-automatically"

// Disposition says what became of a message (RFC 4130 §7.4.3, §7.5).
type Disposition struct {
	// Type is "processed", also for messages that could not be read, or
	// "failed", only for receipt requests that cannot be honoured (§7.4.4).
	Type string
	// Modifier is "" for success, or "error", "warning", "failure"; Parse may
	// find others.
	Modifier string
	// Text says what is wrong: one of the reasons of §7.5 or any other. It is
	// written only behind a Modifier.
	Text string
}

// The dispositions of RFC 4130 §7.5. UnknownTradingRelationship and
// InvalidMessageID come from its revision, draft-ietf-ediint-rfc4130bis; senders
// that do not know them still see "error".
var (
	Processed                   = Disposition{Type: "processed"}
	AuthenticationFailed        = processedError("authentication-failed")
	DecryptionFailed            = processedError("decryption-failed")
	DecompressionFailed         = processedError("decompression-failed") // RFC 5402 §5
	IntegrityCheckFailed        = processedError("integrity-check-failed")
	InsufficientMessageSecurity = processedError("insufficient-message-security")
	UnexpectedProcessingError   = processedError("unexpected-processing-error")
	UnknownTradingRelationship  = processedError("unknown-trading-relationship")
	InvalidMessageID            = processedError("invalid-message-id")

	// UnsupportedFormat and UnsupportedMICAlgorithms refuse the receipt request,
	// not the message (§7.5.3).
	UnsupportedFormat        = Disposition{"failed", "failure", "unsupported format"}
	UnsupportedMICAlgorithms = Disposition{"failed", "failure", "unsupported MIC-algorithms"}

	// DuplicateDocument must be accepted (§7.5.6); many senders take it for a
	// failure and send again, so answer duplicates with Processed.
	DuplicateDocument = Disposition{"processed", "warning", "duplicate-document"}
	// AuthenticationFailedContinued is the one warning defined (§7.5.5).
	AuthenticationFailedContinued = Disposition{"processed", "warning", "authentication-failed, processing continued"}
)

// defined are the dispositions that ParseDisposition brings to one spelling, so
// that callers can compare with ==.
var defined = []Disposition{
	Processed, AuthenticationFailed, DecryptionFailed, DecompressionFailed, IntegrityCheckFailed,
	InsufficientMessageSecurity, UnexpectedProcessingError, UnknownTradingRelationship, InvalidMessageID,
	UnsupportedFormat, UnsupportedMICAlgorithms, DuplicateDocument, AuthenticationFailedContinued,
}

func processedError(text string) Disposition {
	return Disposition{Type: "processed", Modifier: "error", Text: text}
}

// String is the value of the Disposition field.
func (d Disposition) String() string {
	return mode + "; " + d.outcome()
}

// outcome is String without the mode. Modifier and text are parted by a colon
// and one space: some readers look for exactly that.
func (d Disposition) outcome() string {
	s := d.Type
	if d.Modifier != "" {
		s += "/" + d.Modifier
		if d.Text != "" {
			s += ": " + d.Text
		}
	}
	return s
}

// Positive reports whether the message was accepted: processed, at most with a
// warning (RFC 4130 §7.5.5).
func (d Disposition) Positive() bool {
	return d.Type == "processed" && (d.Modifier == "" || d.Modifier == "warning")
}

// ParseDisposition reads the value of a Disposition field: in any case, with or
// without spaces and mode. Type and Modifier are returned in lower case, Text as
// spelled unless all three are one of the dispositions defined here. Types and
// modifiers of RFC 8098 that AS2 does not know ("displayed", "superseded") are
// returned as they are and are not Positive. It is an error if there is no type.
func ParseDisposition(s string) (Disposition, error) {
	typ, rest := token(withoutMode(s))
	if typ == "" {
		return Disposition{}, errors.New("mdn: no disposition type")
	}
	d := Disposition{Type: strings.ToLower(typ)}
	if after, found := strings.CutPrefix(rest, "/"); found {
		modifier, text := token(trimSpace(after))
		d.Modifier = strings.ToLower(modifier)
		d.Text = trimSpace(strings.TrimLeft(text, ":, \t"))
	}
	return d.canonical(), nil
}

func (d Disposition) canonical() Disposition {
	for _, c := range defined {
		if d.Type == c.Type && d.Modifier == c.Modifier && strings.EqualFold(d.Text, c.Text) {
			return c
		}
	}
	return d
}

// withoutMode cuts off action-mode "/" sending-mode ";". Some products leave it
// out, and the text may have semicolons of its own, so what precedes the first
// one is looked at.
func withoutMode(s string) string {
	head, rest, _ := strings.Cut(s, ";")
	rest = trimSpace(rest)
	if trimSpace(head) == "" || isMode(head) || isType(rest) && !isType(head) {
		return rest
	}
	return trimSpace(s)
}

// isType reports whether s begins with a disposition type of AS2.
func isType(s string) bool {
	typ, _ := token(trimSpace(s))
	return strings.EqualFold(typ, "processed") || strings.EqualFold(typ, "failed")
}

func isMode(s string) bool {
	s = strings.ToLower(trimSpace(s))
	return strings.HasPrefix(s, "automatic-action") || strings.HasPrefix(s, "manual-action") ||
		strings.HasPrefix(s, "mdn-sent-")
}

// token splits s behind its leading letters, digits and hyphens.
func token(s string) (head, rest string) {
	end := strings.IndexFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
	})
	if end < 0 {
		return s, ""
	}
	return s[:end], trimSpace(s[end:])
}
