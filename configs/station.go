package configs

import (
	"cmp"
	"crypto"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"firstcopy/configs/strict"
)

// KeyUse is what one of a station's keys is for.
type KeyUse string

const (
	UseSign    KeyUse = "sign"    // receipts, and messages of ours
	UseDecrypt KeyUse = "decrypt" // what partners encrypted for us
)

// Station is one of our own AS2 identities.
type Station struct {
	AS2ID string       `yaml:"as2_id"` // AS2-To of what arrives
	Keys  []StationKey `yaml:"keys"`
}

// StationKey is a key pair with its certificate. It prints without the key.
type StationKey struct {
	CertificateFile string         `yaml:"certificate_file"` // PEM or DER; none beside PKCS #12, which has it
	KeyFile         string         `yaml:"key_file"`         // PEM: PKCS #8, PKCS #1 or SEC 1, not encrypted; or PKCS #12
	PasswordFile    string         `yaml:"password_file"`    // of a PKCS #12 key file
	Use             []KeyUse       `yaml:"use"`              // default: both; an elliptic curve key can only sign
	From            strict.Instant `yaml:"from"`             // not given: the certificate's own beginning
	Until           strict.Instant `yaml:"until"`            // a date is the last day; not given: for as long as it is configured

	Certificate *x509.Certificate `yaml:"-"`
	Private     crypto.PrivateKey `yaml:"-"` // *rsa.PrivateKey or *ecdsa.PrivateKey
}

// For tells whether the key may be used so.
func (k StationKey) For(use KeyUse) bool { return slices.Contains(k.Use, use) }

// In tells whether the key is used at a time. The end of the certificate's own
// validity does not end it: an unsigned or missing receipt would make the
// partner repeat what has arrived.
func (k StationKey) In(now time.Time) bool {
	return !now.Before(k.start()) && (k.Until.IsZero() || now.Before(k.Until.End()))
}

func (k StationKey) start() time.Time {
	if !k.From.IsZero() {
		return k.From.Time
	}
	return k.Certificate.NotBefore
}

// expired is 1 after the certificate's own validity, else 0: what to sort by.
func (k StationKey) expired(now time.Time) int {
	if now.After(k.Certificate.NotAfter) {
		return 1
	}
	return 0
}

// String names the key by its certificate.
func (k StationKey) String() string {
	if k.Certificate == nil {
		return k.CertificateFile
	}
	return fmt.Sprintf("%s (serial %s)", k.Certificate.Subject, k.Certificate.SerialNumber)
}

// GoString is String: %#v must not print the key either.
func (k StationKey) GoString() string { return k.String() }

// MarshalText is String, for encoders.
func (k StationKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// SigningKey is the key to sign with now: of those in use, the newest whose
// certificate is valid, else the newest. It is false if none is in use.
func (s Station) SigningKey(now time.Time) (StationKey, bool) {
	keys := s.keys(UseSign, now)
	if len(keys) == 0 {
		return StationKey{}, false
	}
	return keys[0], true
}

// DecryptionKeys are all keys that may open a message now, in the order in
// which to try them: a partner may still encrypt for the old one.
func (s Station) DecryptionKeys(now time.Time) []StationKey { return s.keys(UseDecrypt, now) }

func (s Station) keys(use KeyUse, now time.Time) []StationKey {
	var in []StationKey
	for _, k := range s.Keys {
		if k.For(use) && k.In(now) {
			in = append(in, k)
		}
	}
	slices.SortStableFunc(in, func(a, b StationKey) int {
		return cmp.Or(a.expired(now)-b.expired(now), b.start().Compare(a.start()))
	})
	return in
}
