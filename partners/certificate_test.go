package partners_test

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"firstcopy/partners"
)

func at(year, month, dayOfMonth int) time.Time {
	return time.Date(year, time.Month(month), dayOfMonth, 12, 0, 0, 0, time.UTC)
}

func pinned(c *x509.Certificate, from, until time.Time, uses ...partners.Use) partners.Certificate {
	return partners.Certificate{X509: c, Uses: uses, From: from, Until: until}
}

func TestVerifyCertificates(t *testing.T) {
	t.Parallel()
	old := certificate(t, rsaKey(), "old", 2022)
	current := certificate(t, rsaKey(), "current", 2025)
	next := certificate(t, rsaKey(), "next", 2026)
	var none time.Time
	a := partners.Agreement{Name: "acme", AS2: partners.AS2{Certificates: []partners.Certificate{
		pinned(old, none, none, "verify"),
		pinned(current, none, at(2026, 3, 1), "encrypt", "verify"),
		pinned(next, at(2026, 2, 1), none, "encrypt", "verify"),
	}}}
	for _, test := range []struct {
		name    string
		now     time.Time
		verify  string // in order
		encrypt string
	}{
		{"before all", at(2021, 6, 1), "", ""},
		{"the old one alone", at(2023, 6, 1), "old", ""},
		{"an expired one without agreed end comes last", at(2025, 6, 1), "current old", "current"},
		{"certified but not yet agreed", at(2026, 1, 15), "current old", "current"},
		{"overlap, newest first", at(2026, 2, 15), "next current old", "next"},
		{"past its agreed end", at(2026, 3, 2), "next old", "next"},
		{"all expired, still used", at(2030, 1, 1), "next old", "next"},
	} {
		var names []string
		for _, c := range a.VerifyCertificates(test.now) {
			names = append(names, c.Subject.CommonName)
		}
		if got := strings.Join(names, " "); got != test.verify {
			t.Errorf("%s: verify with %q, want %q", test.name, got, test.verify)
		}
		c, ok := a.EncryptCertificate(test.now)
		if ok != (test.encrypt != "") || ok && c.Subject.CommonName != test.encrypt {
			t.Errorf("%s: encrypt for %v, want %q", test.name, c, test.encrypt)
		}
	}
}

func TestCertificateWarnings(t *testing.T) {
	t.Parallel()
	var none time.Time
	first, second := certificate(t, rsaKey(), "first", 2025), certificate(t, rsaKey(), "second", 2026)
	for _, test := range []struct {
		name string
		pins []partners.Certificate
		now  time.Time
		want string // of the only warning; "" for none
	}{
		{"nothing pinned", nil, at(2026, 6, 1), ""},
		{"all is well", []partners.Certificate{pinned(first, none, none, "verify")}, at(2026, 6, 1), ""},
		{"expired and used", []partners.Certificate{pinned(first, none, none, "verify")}, at(2027, 6, 1), "expired on 2027-01-01 and is still used"},
		{"expired, agreed end not reached", []partners.Certificate{pinned(first, none, at(2027, 9, 1), "verify")}, at(2027, 6, 1), "is still used"},
		{"ends soon", []partners.Certificate{pinned(first, none, none, "verify")}, at(2026, 12, 10), "the last certificate to verify with"},
		{"agreed end soon", []partners.Certificate{pinned(first, none, at(2026, 6, 20), "encrypt")}, at(2026, 6, 1), "the last certificate to encrypt with"},
		{"ends soon, successor pinned", []partners.Certificate{pinned(first, none, none, "verify"), pinned(second, none, none, "verify")}, at(2026, 12, 10), ""},
		{"none any more", []partners.Certificate{pinned(first, none, at(2026, 1, 1), "verify")}, at(2026, 6, 1), "no certificate to verify with"},
	} {
		a := partners.Agreement{Name: "acme", AS2: partners.AS2{Certificates: test.pins}}
		got := a.CertificateWarnings(test.now)
		switch {
		case test.want == "" && len(got) > 0:
			t.Errorf("%s: %v", test.name, got)
		case test.want != "" && (len(got) != 1 || !strings.Contains(got[0].Text, test.want)):
			t.Errorf("%s: %v, want %q", test.name, got, test.want)
		}
	}
}

// A certificate agreed last is no better when it has expired.
func TestValidCertificateGoesBeforeNewerAgreement(t *testing.T) {
	t.Parallel()
	var none time.Time
	expired := pinned(certificate(t, rsaKey(), "expired", 2023), at(2025, 6, 1), none, "verify")
	valid := pinned(certificate(t, rsaKey(), "valid", 2025), none, none, "verify")
	for _, pins := range [][]partners.Certificate{{expired, valid}, {valid, expired}} {
		a := partners.Agreement{AS2: partners.AS2{Certificates: pins}}
		if got := a.VerifyCertificates(at(2025, 7, 1)); len(got) != 2 || got[0].Subject.CommonName != "valid" {
			t.Errorf("in the order %v", got)
		}
	}
}
