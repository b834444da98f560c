package mdn_test

import (
	"testing"

	"firstcopy/mdn"
)

// dispositions pairs every disposition with its spelling behind the mode.
var dispositions = []struct {
	disposition mdn.Disposition
	spelling    string
	positive    bool
}{
	{mdn.Processed, "processed", true},
	{mdn.AuthenticationFailed, "processed/error: authentication-failed", false},
	{mdn.DecryptionFailed, "processed/error: decryption-failed", false},
	{mdn.DecompressionFailed, "processed/error: decompression-failed", false},
	{mdn.IntegrityCheckFailed, "processed/error: integrity-check-failed", false},
	{mdn.InsufficientMessageSecurity, "processed/error: insufficient-message-security", false},
	{mdn.UnexpectedProcessingError, "processed/error: unexpected-processing-error", false},
	{mdn.UnknownTradingRelationship, "processed/error: unknown-trading-relationship", false},
	{mdn.InvalidMessageID, "processed/error: invalid-message-id", false},
	{mdn.UnsupportedFormat, "failed/failure: unsupported format", false},
	{mdn.UnsupportedMICAlgorithms, "failed/failure: unsupported MIC-algorithms", false},
	{mdn.DuplicateDocument, "processed/warning: duplicate-document", true},
	{mdn.AuthenticationFailedContinued, "processed/warning: authentication-failed, processing continued", true},
	{mdn.Disposition{Type: "processed", Modifier: "error"}, "processed/error", false},
	{mdn.Disposition{Type: "failed"}, "failed", false},
}

func TestDispositionString(t *testing.T) {
	t.Parallel()
	for _, tt := range dispositions {
		want := "automatic-action/MDN-sent-automatically; " + tt.spelling
		if got := tt.disposition.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := tt.disposition.Positive(); got != tt.positive {
			t.Errorf("%s: Positive is %t", tt.spelling, got)
		}
		back, err := mdn.ParseDisposition(want)
		if err != nil || back != tt.disposition {
			t.Errorf("%s: read back as %+v, %v", tt.spelling, back, err)
		}
	}
	if (mdn.Disposition{}).Positive() {
		t.Error("the zero disposition is positive")
	}
}

func TestParseDisposition(t *testing.T) {
	t.Parallel()
	tests := map[string]mdn.Disposition{
		"automatic-action/MDN-sent-automatically;processed":    mdn.Processed,
		"automatic-action/mdn-sent-automatically ; PROCESSED ": mdn.Processed,
		"manual-action/MDN-sent-manually; processed":           mdn.Processed,
		"processed":                  mdn.Processed,
		"; processed":                mdn.Processed,
		"unheard-of/mode; processed": mdn.Processed,
		"automatic-action/MDN-sent-automatically; processed/Error: Decryption-Failed":      mdn.DecryptionFailed,
		"automatic-action/MDN-sent-automatically;processed/error:authentication-failed":    mdn.AuthenticationFailed,
		"automatic-action/MDN-sent-automatically; processed / error : decryption-failed":   mdn.DecryptionFailed,
		"processed/ERROR: integrity-check-failed":                                          mdn.IntegrityCheckFailed,
		"automatic-action/MDN-sent-automatically; processed/Warning: duplicate-document":   mdn.DuplicateDocument,
		"automatic-action/MDN-sent-automatically; failed/Failure: unsupported format":      mdn.UnsupportedFormat,
		"x/y; failed/Failure: unsupported mic-algorithms":                                  mdn.UnsupportedMICAlgorithms,
		"automatic-action/MDN-sent-automatically; failed/failure: sender-equals-receiver":  {Type: "failed", Modifier: "failure", Text: "sender-equals-receiver"},
		"automatic-action/MDN-sent-automatically; processed/error: odd; With: More; Parts": {Type: "processed", Modifier: "error", Text: "odd; With: More; Parts"},
		"processed/error: odd; reason":                                                     {Type: "processed", Modifier: "error", Text: "odd; reason"},
		"processed/error: odd; processed":                                                  {Type: "processed", Modifier: "error", Text: "odd; processed"},
		"automatic-action/MDN-sent-automatically; processed/unexpected-processing-error":   {Type: "processed", Modifier: "unexpected-processing-error"},
		"automatic-action/MDN-sent-automatically; processed/":                              mdn.Processed,
		"manual-action/MDN-sent-manually; displayed":                                       {Type: "displayed"},
		"automatic-action/MDN-sent-automatically; deleted/superseded":                      {Type: "deleted", Modifier: "superseded"},
	}
	for in, want := range tests {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			got, err := mdn.ParseDisposition(in)
			if err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
			if got.Positive() && got != mdn.Processed && got.Modifier != "warning" {
				t.Errorf("%+v is positive", got)
			}
		})
	}
}

func TestParseDispositionWithoutType(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", " ", ";", "/error", "automatic-action/MDN-sent-automatically", "automatic-action/MDN-sent-automatically;",
		"automatic-action/MDN-sent-automatically; : decryption-failed",
	} {
		if got, err := mdn.ParseDisposition(in); err == nil {
			t.Errorf("%q: got %+v and no error", in, got)
		}
	}
}
