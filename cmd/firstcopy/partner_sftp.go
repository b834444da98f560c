package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"

	"firstcopy/partners"
)

// writeSFTPTerms adds the terms of SFTP to a partner's page.
func writeSFTPTerms(t *table, s *partners.SFTP) {
	t.pair("SFTP", fmt.Sprintf("%s@%s:%d%s", s.User, s.Host, s.Port, route(&s.Hop)))
	for _, k := range s.HostKeys {
		t.pair("host key", k)
	}
	for _, k := range s.HostAuthorities {
		t.pair("host authority", k)
	}
	for _, k := range s.RevokedKeys {
		t.pair("revoked host key", k)
	}
	t.pair("logs in by", logins(&s.Auth))
	if !s.Algorithms.Empty() {
		a := s.Algorithms
		t.pair("also offered", strings.Join(append(append(append(append([]string{}, a.KeyExchanges...), a.Ciphers...), a.MACs...), a.HostKeys...), ", "))
	}
	t.pair("folders", folders(&s.Folders))
	t.pair("files", allOr(s.Select.Include, "all")+except(s.Select.Exclude))
	t.pair("ready", ready(&s.Ready))
	t.pair("after that", s.After)
	t.pair("polled", fmt.Sprintf("every %s and up to %s more, %d files at once", s.Interval, s.Jitter, s.MaxFiles))
	if s.Expect.By != "" {
		t.pair("expected", expected(&s.Expect))
	}
	if len(s.Quirks) > 0 {
		t.pair("quirks", join(s.Quirks, ", "))
	}
}

func route(h *partners.Hop) string {
	switch r := h.Route; {
	case r.Jump != nil:
		return fmt.Sprintf(" by way of %s@%s:%d%s", r.Jump.User, r.Jump.Host, r.Jump.Port, route(r.Jump))
	case r.SOCKS5 != "":
		return " by SOCKS5 " + r.SOCKS5
	case r.HTTPConnect != "":
		return " by HTTP proxy " + r.HTTPConnect
	}
	return ""
}

func logins(a *partners.Auth) string {
	var all []string
	for _, k := range a.Keys {
		word := "key " + k.File + fingerprint(k.File)
		if k.CertificateFile != "" {
			word += " with its certificate"
		}
		all = append(all, word)
	}
	if a.AgentSocket != "" {
		all = append(all, "agent "+a.AgentSocket)
	}
	if a.PasswordFile != "" {
		all = append(all, "password in "+a.PasswordFile)
	}
	if a.KeyboardInteractive {
		all = append(all, "prompts")
	}
	return strings.Join(all, ", ")
}

// fingerprint is that of a private key, where its file can be read here and is not locked.
func fingerprint(file string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	key, err := ssh.ParsePrivateKey(content)
	if err != nil {
		return ""
	}
	return " (" + ssh.FingerprintSHA256(key.PublicKey()) + ")"
}

func folders(f *partners.Folders) string {
	text := f.In
	for _, more := range []struct{ name, path string }{{"archive", f.Archive}, {"error", f.Error}, {"acknowledgements", f.Acknowledgement}} {
		if more.path != "" {
			text += ", " + more.name + " " + more.path
		}
	}
	return text
}

func except(patterns []string) string {
	if len(patterns) == 0 {
		return ""
	}
	return " but " + strings.Join(patterns, ", ")
}

func ready(r *partners.Ready) string {
	when := fmt.Sprintf("unchanged for %s", r.Quiet)
	if r.Done != "" {
		when = "with its done file " + r.Done
	}
	return fmt.Sprintf("%s; given up when incomplete for %s", when, r.Grace)
}

func expected(e *partners.Expect) string {
	days, zone := "every day", e.Zone
	if len(e.Days) > 0 {
		days = strings.Join(e.Days, ", ")
	}
	if zone == "" {
		zone = "UTC"
	}
	return fmt.Sprintf("%s by %s %s", days, e.By, zone)
}
