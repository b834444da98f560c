package sftpwatch

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"firstcopy/partners"
)

// pins decide which host keys are believed. There is no trust on first use.
type pins struct {
	keys        []ssh.PublicKey
	prints      []string // "ssh-ed25519 SHA256:…"
	authorities []ssh.PublicKey
	revoked     []string // fingerprints
	agreed      []string // as the agreement has them, for the error
}

// HostKeyError says that a server showed a key that is not pinned: it was changed, or somebody else answers.
type HostKeyError struct {
	Shown  string   // type and fingerprint
	Pinned []string // type and fingerprint
	Why    string
}

func (e *HostKeyError) Error() string {
	return fmt.Sprintf("the server shows the key %s: %s; pinned: %s", e.Shown, e.Why, strings.Join(e.Pinned, ", "))
}

func newPins(h *partners.Hop) (*pins, error) {
	p := &pins{}
	for _, text := range h.HostKeys {
		if strings.Contains(text, " SHA256:") {
			p.prints = append(p.prints, text)
			p.agreed = append(p.agreed, text)
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("pinned key: %w", err)
		}
		p.keys = append(p.keys, key)
		p.agreed = append(p.agreed, described(key))
	}
	for _, text := range h.HostAuthorities {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("host authority: %w", err)
		}
		p.authorities = append(p.authorities, key)
		p.agreed = append(p.agreed, "authority "+described(key))
	}
	for _, text := range h.RevokedKeys {
		if _, fingerprint, ok := strings.Cut(text, " SHA256:"); ok {
			p.revoked = append(p.revoked, "SHA256:"+fingerprint)
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("revoked key: %w", err)
		}
		p.revoked = append(p.revoked, ssh.FingerprintSHA256(key))
	}
	return p, nil
}

func described(key ssh.PublicKey) string { return key.Type() + " " + ssh.FingerprintSHA256(key) }

// certified are the host certificate algorithms, the best first.
var certified = []string{ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01,
	ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01}

// algorithms are those to ask for: only such as the pins can answer to, or the server would choose another of its keys, which
// then is not the pinned one. A pinned RSA key is asked for with SHA-2 (RFC 8332), and with SHA-1 only by agreement.
func (p *pins) algorithms(old []string) []string {
	var types []string
	for _, k := range p.keys {
		types = append(types, k.Type())
	}
	for _, text := range p.prints {
		name, _, _ := strings.Cut(text, " ")
		types = append(types, name)
	}
	var all []string
	if len(p.authorities) > 0 {
		all = append(all, certified...)
	}
	for _, name := range []string{ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSA} {
		switch {
		case !slices.Contains(types, name):
		case name == ssh.KeyAlgoRSA:
			all = append(all, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		default:
			all = append(all, name)
		}
	}
	for _, name := range types {
		if name != ssh.KeyAlgoRSA && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	for _, name := range old {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// check is the ssh.HostKeyCallback. The address is host:port; a certificate must name the host among its principals.
func (p *pins) check(address string, remote net.Addr, key ssh.PublicKey) error {
	checker := ssh.CertChecker{
		IsHostAuthority: func(authority ssh.PublicKey, _ string) bool { return containsKey(p.authorities, authority) },
		IsRevoked:       func(c *ssh.Certificate) bool { return p.isRevoked(c.Key) || p.isRevoked(c.SignatureKey) },
		HostKeyFallback: func(_ string, _ net.Addr, key ssh.PublicKey) error { return p.checkPlain(key) },
	}
	err := checker.CheckHostKey(address, remote, key)
	if _, plain := err.(*HostKeyError); err == nil || plain {
		return err
	}
	return &HostKeyError{Shown: described(key), Pinned: p.agreed, Why: err.Error()}
}

func (p *pins) checkPlain(key ssh.PublicKey) error {
	fault := &HostKeyError{Shown: described(key), Pinned: p.agreed, Why: "it is not a pinned one"}
	if p.isRevoked(key) {
		fault.Why = "it is revoked"
		return fault
	}
	if containsKey(p.keys, key) || slices.Contains(p.prints, described(key)) {
		return nil
	}
	return fault
}

func (p *pins) isRevoked(key ssh.PublicKey) bool {
	return slices.Contains(p.revoked, ssh.FingerprintSHA256(key))
}

func containsKey(list []ssh.PublicKey, key ssh.PublicKey) bool {
	return slices.ContainsFunc(list, func(k ssh.PublicKey) bool { return bytes.Equal(k.Marshal(), key.Marshal()) })
}
