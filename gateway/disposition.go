package gateway

import (
	"errors"
	"log/slog"
	"net/http"

	"firstcopy/as2"
	"firstcopy/mdn"
)

// answer says how a failure is told to the partner. This table is the only place where an error becomes a disposition,
// an HTTP status and a log level.
type answer struct {
	status      int             // of HTTP; 200 with an MDN for everything the partner's message is to blame for (RFC 4130 §7.6)
	disposition mdn.Disposition // zero: no MDN may or can be sent
	text        string          // the human part, where the error has no words of its own
	level       slog.Level
	outcome     string // for metrics
}

var byKind = map[as2.Kind]answer{
	as2.KindMalformed:            {http.StatusOK, mdn.UnexpectedProcessingError, "", slog.LevelWarn, "malformed"},
	as2.KindInvalidMessageID:     {http.StatusOK, mdn.InvalidMessageID, "", slog.LevelWarn, "malformed"},
	as2.KindDecryption:           {http.StatusOK, mdn.DecryptionFailed, "", slog.LevelWarn, "decryption_failed"},
	as2.KindAuthentication:       {http.StatusOK, mdn.AuthenticationFailed, "", slog.LevelWarn, "authentication_failed"},
	as2.KindIntegrity:            {http.StatusOK, mdn.IntegrityCheckFailed, "", slog.LevelWarn, "integrity_failed"},
	as2.KindDecompression:        {http.StatusOK, mdn.DecompressionFailed, "", slog.LevelWarn, "decompression_failed"},
	as2.KindInsufficientSecurity: {http.StatusOK, mdn.InsufficientMessageSecurity, "", slog.LevelWarn, "insufficient_security"},
	as2.KindUnsupportedFormat:    {http.StatusOK, mdn.UnsupportedFormat, "", slog.LevelWarn, "unsupported_receipt"},
	as2.KindUnsupportedMIC:       {http.StatusOK, mdn.UnsupportedMICAlgorithms, "", slog.LevelWarn, "unsupported_receipt"},
	as2.KindUnexpected:           {http.StatusOK, mdn.UnexpectedProcessingError, "", slog.LevelError, "error"},
	as2.KindTooLarge:             {http.StatusRequestEntityTooLarge, mdn.Disposition{}, "The message is larger than this gateway accepts.", slog.LevelWarn, "too_large"},
	as2.KindRead:                 {http.StatusBadRequest, mdn.Disposition{}, "The message did not arrive completely. Nothing was kept; send it again.", slog.LevelWarn, "incomplete"},
}

// unavailable is the answer when the outcome is not known or not decided: no receipt may leave.
var unavailable = answer{http.StatusServiceUnavailable, mdn.Disposition{}, "The message could not be stored now. Send it again, with the same Message-ID.", slog.LevelError, "unavailable"}

// answerTo translates an error. What it does not know is ours to look at, and temporary for the partner.
func answerTo(err error) (a answer, detail string) {
	var unknown *ErrUnavailable
	if errors.As(err, &unknown) {
		return unavailable, ""
	}
	if errors.Is(err, ErrTooLarge) {
		return byKind[as2.KindTooLarge], ""
	}
	var fault *as2.Error
	if errors.As(err, &fault) {
		if a, ok := byKind[fault.Kind]; ok {
			return a, fault.Detail
		}
	}
	return unavailable, ""
}
