package gateway_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"mime/quotedprintable"
	"strings"
	"testing"
	"time"

	"firstcopy/internal/as2test"
)

// base64Text is base64 in lines (RFC 2045 §6.8).
func base64Text(s string) string {
	encoded := base64.StdEncoding.EncodeToString([]byte(s))
	var b strings.Builder
	for len(encoded) > 0 {
		n := min(76, len(encoded))
		b.WriteString(encoded[:n] + "\r\n")
		encoded = encoded[n:]
	}
	return b.String()
}

func quotedPrintable(s string) string {
	var b bytes.Buffer
	w := quotedprintable.NewWriter(&b)
	w.Binary = true
	_, _ = w.Write([]byte(s)) // into memory
	_ = w.Close()
	return b.String()
}

// micOf is the Received-content-MIC of a signed part.
func micOf(part string) string {
	sum := sha256.Sum256([]byte(part))
	return base64.StdEncoding.EncodeToString(sum[:]) + ", sha-256"
}

// tick calls f every few milliseconds until it returns false, the test ends, or half a minute is over.
func tick(tb testing.TB, f func() bool) {
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	for end := time.Now().Add(30 * time.Second); f() && time.Now().Before(end); {
		select {
		case <-pause.C:
		case <-tb.Context().Done():
			return
		}
	}
}

// handled waits until the hub has written its summary lines of n messages, and returns them.
func handled(tb testing.TB, hub *as2test.Hub, n int) []map[string]any {
	tb.Helper()
	as2test.Eventually(tb, "the messages to be handled", func() bool { return len(hub.Logs.Lines("message handled")) >= n })
	return hub.Logs.Lines("message handled")
}

func newLogger(hub *as2test.Hub) *slog.Logger { return slog.New(slog.NewJSONHandler(hub.Logs, nil)) }
