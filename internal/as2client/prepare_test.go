package as2client_test

import (
	"crypto/x509"
	"strings"
	"testing"

	"firstcopy/internal/as2client"
)

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*as2client.Partner)
		want   string
	}{
		{"no address", func(p *as2client.Partner) { p.URL = "" }, "not an http or https URL"},
		{"a mail address", func(p *as2client.Partner) { p.URL = "mailto:edi@example.com" }, "not an http or https URL"},
		{"an address without host", func(p *as2client.Partner) { p.URL = "http:///as2" }, "not an http or https URL"},
		{"an address that is none", func(p *as2client.Partner) { p.URL = "http://u:secret@h:x/" }, "the address to post to"},
		{"no name", func(p *as2client.Partner) { p.From = "" }, "AS2-From"},
		{"unknown cipher", func(p *as2client.Partner) {
			p.EncryptFor, p.Cipher = []*x509.Certificate{keys().receiver.Certificate}, "rot13"
		}, "rot13"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := partner("http://127.0.0.1/as2")
			tc.change(&p)
			_, err := as2client.Prepare(p, []byte("UNB"), as2client.Options{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want one about %q", err, tc.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

func TestPrepareNamesMessagesApart(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 3 {
		p := prepare(t, partner("http://127.0.0.1/as2"), "ISA*00")
		if !strings.HasPrefix(p.MessageID, "<") || !strings.HasSuffix(p.MessageID, ">") || seen[p.MessageID] {
			t.Fatalf("Message-ID %q", p.MessageID)
		}
		seen[p.MessageID] = true
	}
}

func TestGuessContentType(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		"UNA:+.? 'UNB+":          "application/EDIFACT",
		"\r\nUNB+UNOC:3":         "application/EDIFACT",
		"ISA*00*":                "application/EDI-X12",
		"\xef\xbb\xbf<?xml":      "application/xml",
		"<Invoice>":              "application/xml",
		"":                       "application/octet-stream",
		"UN":                     "application/octet-stream",
		"invoice 4711, UNB-like": "application/octet-stream",
	} {
		if got := as2client.GuessContentType([]byte(payload)); got != want {
			t.Errorf("%q: %s, want %s", payload, got, want)
		}
	}
}
