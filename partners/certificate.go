package partners

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// Use is what a pinned certificate is for.
type Use string

const (
	UseVerify  Use = "verify"  // the partner's signatures
	UseEncrypt Use = "encrypt" // what is sent to the partner
)

// Certificate is one of a partner's pinned certificates.
type Certificate struct {
	X509 *x509.Certificate
	Uses []Use // sorted, distinct, at least one
	// From and Until bound its use as agreed, Until exclusive; zero: not
	// agreed. Without From the certificate's own NotBefore counts. Without
	// Until it is used on even after its NotAfter: trust comes from the pin,
	// and a partner that is late with a new certificate must not lose
	// messages. CertificateWarnings then speaks up.
	From, Until time.Time
}

// Fingerprint is SHA-256 over the DER octets.
func (c Certificate) Fingerprint() [sha256.Size]byte { return sha256.Sum256(c.X509.Raw) }

// For tells whether the certificate is pinned for that use.
func (c Certificate) For(use Use) bool { return slices.Contains(c.Uses, use) }

// In tells whether now lies in the time in which the certificate is used.
func (c Certificate) In(now time.Time) bool {
	return !now.Before(c.start()) && (c.Until.IsZero() || now.Before(c.Until))
}

// Expired tells whether the certificate's own validity has ended.
func (c Certificate) Expired(now time.Time) bool { return now.After(c.X509.NotAfter) }

// expired is 1 if Expired, else 0: what to sort by.
func (c Certificate) expired(now time.Time) int {
	if c.Expired(now) {
		return 1
	}
	return 0
}

func (c Certificate) start() time.Time {
	if !c.From.IsZero() {
		return c.From
	}
	return c.X509.NotBefore
}

// describe is one line for people: agreements are compared by it, so all that
// can be agreed is in it.
func (c Certificate) describe() string {
	s := fmt.Sprintf("%s for %v", c.X509.Subject, c.Uses)
	if !c.From.IsZero() {
		s += " from " + c.From.Format(time.RFC3339)
	}
	if !c.Until.IsZero() {
		s += " until " + c.Until.Format(time.RFC3339)
	}
	return s + ", expires " + c.X509.NotAfter.UTC().Format(time.RFC3339)
}

// VerifyCertificates are those with which a signature may be verified now: the
// ones in their validity first, and in each part the newest first. What is
// outside its agreed time is not among them.
func (a *Agreement) VerifyCertificates(now time.Time) []*x509.Certificate {
	return a.usable(UseVerify, now)
}

// EncryptCertificate is the one to encrypt for now: the newest in its
// validity, else the newest that has expired without an agreed end. It is
// false if there is none.
func (a *Agreement) EncryptCertificate(now time.Time) (*x509.Certificate, bool) {
	usable := a.usable(UseEncrypt, now)
	if len(usable) == 0 {
		return nil, false
	}
	return usable[0], true
}

// pinned are the certificates of a use.
func (a *Agreement) pinned(use Use) []Certificate {
	var all []Certificate
	for _, c := range a.AS2.Certificates {
		if c.For(use) {
			all = append(all, c)
		}
	}
	return all
}

func (a *Agreement) usable(use Use, now time.Time) []*x509.Certificate {
	in := slices.DeleteFunc(a.pinned(use), func(c Certificate) bool { return !c.In(now) })
	slices.SortStableFunc(in, func(x, y Certificate) int {
		return cmp.Or(x.expired(now)-y.expired(now), y.start().Compare(x.start()))
	})
	out := make([]*x509.Certificate, len(in))
	for i, c := range in {
		out[i] = c.X509
	}
	return out
}

// soon is how early an end of validity is announced: exchanging a certificate
// with a partner takes weeks.
const soon = 30 * day

// CertificateWarnings tells what is wrong with the partner's certificates at
// a time: used past their validity, ending soon without a successor, or none
// left at all. It is for an operator's eyes, and for a daily check.
func (a *Agreement) CertificateWarnings(now time.Time) []Warning {
	var all []Warning
	warn := func(format string, args ...any) {
		all = append(all, Warning{Partner: a.Name, Text: fmt.Sprintf(format, args...)})
	}
	for _, c := range a.AS2.Certificates {
		if c.In(now) && c.Expired(now) {
			warn("certificate %s expired on %s and is still used, since no end was agreed", c.short(), date(c.X509.NotAfter))
		}
	}
	for _, use := range []Use{UseVerify, UseEncrypt} {
		pinned := a.pinned(use)
		if len(pinned) == 0 {
			continue // not agreed; what the floor needs is checked when the file is read
		}
		last := slices.MaxFunc(pinned, func(x, y Certificate) int { return x.end().Compare(y.end()) })
		switch {
		case len(a.usable(use, now)) == 0:
			warn("no certificate to %s with", use)
		case !last.Expired(now) && last.end().Before(now.Add(soon)):
			warn("the last certificate to %s with, %s, ends on %s", use, last.short(), date(last.end()))
		}
	}
	return all
}

// end is the earlier of the agreed and the certificate's own end.
func (c Certificate) end() time.Time {
	if !c.Until.IsZero() && c.Until.Before(c.X509.NotAfter) {
		return c.Until
	}
	return c.X509.NotAfter
}

// short names a certificate in a sentence.
func (c Certificate) short() string {
	f := c.Fingerprint()
	return fmt.Sprintf("%s (%s…)", c.X509.Subject, hex.EncodeToString(f[:6]))
}

func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// defaultUses: all that the key can do.
func defaultUses(c *x509.Certificate) []Use {
	if c.PublicKeyAlgorithm == x509.RSA {
		return []Use{UseEncrypt, UseVerify}
	}
	return []Use{UseVerify}
}

// sortCertificates puts them in the order of the database: by fingerprint, so
// that two readings of one agreement are equal.
func sortCertificates(all []Certificate) {
	slices.SortFunc(all, func(x, y Certificate) int {
		a, b := x.Fingerprint(), y.Fingerprint()
		return bytes.Compare(a[:], b[:])
	})
}
