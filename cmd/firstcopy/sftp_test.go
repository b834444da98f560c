package main

import (
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"firstcopy/internal/sftptest"
)

// sftpAgreement is one with a scripted server.
func (s *site) sftpAgreement(t *testing.T, name string, server *sftptest.Scripted, more string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(server.Address)
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "partner-key", string(sftptest.NewKey(t, ssh.KeyAlgoED25519, "partner").PEM))
	pin := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(sftptest.NewKey(t, ssh.KeyAlgoED25519, "host").PublicKey())))
	return fmt.Sprintf("  - name: %s\n    sftp:\n      host: %s\n      port: %s\n      user: hub\n      host_keys: [%q]\n"+
		"      auth: {keys: [{file: partner-key}]}\n      folders: {in: in, archive: archive}\n%s    sink: dir:%s/out\n", name, host, port, pin, more, s.dir)
}

func TestPartnerTest(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := sftptest.StartScripted(t, sftptest.Script{})
	server.Files.Mkdir("in", "archive")
	server.Files.Put("in/orders.edi", "UNB'")
	server.Files.Put("in/empty.edi", "")
	server.Files.Put("in/half.edi.filepart", "UNB'")
	s.apply(t, s.sftpAgreement(t, "acme", server, ""))
	contains(t, squeeze(s.run(t, "partner", "test", "acme").must(t)), "server "+server.Address+", SSH-2.0-", "host key ssh-ed25519 SHA256:",
		"folder in in, 3 entries, listed in", "folder archive archive")
	contains(t, squeeze(s.run(t, "partner", "test", "acme", "--dry-run").must(t)), "2 files meant by the agreement, 1 entry passed over",
		"empty.edi 0 B", "empty: wait", "orders.edi 4 B", "take, if it has not changed for 10s")
	if n := server.Counts().Requests[sftptest.Open]; n != 0 {
		t.Errorf("%d files were opened", n)
	}
	out := decode[examinationOutput](t, s.run(t, "partner", "test", "acme", "--dry-run", "--json").must(t))
	if len(out.Files) != 2 || out.Entries != 3 || out.Passed != 1 || out.Cipher != "aes128-gcm@openssh.com" {
		t.Errorf("got %+v", out)
	}

	h := s.history(t)
	for _, sql := range []string{`INSERT INTO sftp_poll (partner_id) SELECT partner_id FROM partner`, `
		INSERT INTO sftp_file (partner_id, name, size, mtime, state, owner, fence, expires_at, reason)
		SELECT partner_id, 'orders.edi', 4, ` + fmt.Sprint(out.Files[1].Modified.Unix()) + `, 'refused', '', 1, now(), 'no UNZ' FROM partner`} {
		if _, err := h.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	contains(t, squeeze(s.run(t, "partner", "test", "acme", "--dry-run").must(t)),
		"refused (no UNZ); no error folder is agreed: it lies there until it changes\n")
	if _, err := h.pool.Exec(t.Context(), `UPDATE sftp_file SET state = 'incomplete'`); err != nil {
		t.Fatal(err)
	}
	contains(t, squeeze(s.run(t, "partner", "test", "acme", "--dry-run").must(t)), "incomplete (no UNZ); it waits for the rest, another ")

	server.Files.Remove("archive")
	r := s.run(t, "partner", "test", "acme")
	if r.code != exitFailed {
		t.Errorf("without an archive: exit code %d", r.code)
	}
	contains(t, squeeze(r.out), "folder archive archive ! looking at archive")
	contains(t, r.err, "hint: check the folder's name")
}

func TestPartnerTestExplains(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, test := range []struct {
		name   string
		script sftptest.Script
		says   []string
	}{
		{"other-key", sftptest.Script{HostKeys: []ssh.Signer{sftptest.NewKey(t, ssh.KeyAlgoED25519, "stranger")}},
			[]string{"the server shows the key ssh-ed25519 SHA256:", "it is not a pinned one", "hint: if the partner confirms that key"}},
		{"other-type", sftptest.Script{HostKeys: []ssh.Signer{sftptest.NewKey(t, ssh.KeyAlgoRSA, "host")}},
			[]string{"no common algorithm for host key", "we offer", "ssh-ed25519", "the server", "ssh-rsa", "hint: the server has no key of a pinned type"}},
		{"old", sftptest.Script{Algorithms: ssh.Config{KeyExchanges: []string{ssh.InsecureKeyExchangeDH14SHA1}}},
			[]string{"no common algorithm for key exchange", "curve25519-sha256", "diffie-hellman-group14-sha1",
				"hint: the server is old", "algorithms: {key_exchanges: [diffie-hellman-group14-sha1]}"}},
		{"refuses", sftptest.Script{Auth: []sftptest.Auth{sftptest.ByPassword("secret")}}, []string{"logging in at", "(as hub with SHA256:", "hint: check user, keys and password"}},
		{"noise", sftptest.Script{Noise: "You have new mail.\r\n"}, []string{"text instead of SFTP: You have", "hint: the server accepts the login"}},
	} {
		server := sftptest.StartScripted(t, test.script)
		s.apply(t, s.sftpAgreement(t, test.name, server, ""))
		r := s.run(t, "partner", "test", test.name)
		if r.code != exitFailed || r.out != "" {
			t.Errorf("%s: exit code %d, output %q", test.name, r.code, r.out)
		}
		contains(t, r.err, test.says...)
	}
	open := sftptest.StartScripted(t, sftptest.Script{})
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), "", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	s.apply(t, s.sftpAgreement(t, "locked", open, ""))
	s.write(t, "partner-key", string(pem.EncodeToMemory(locked)))
	contains(t, s.run(t, "partner", "test", "locked").err, "passphrase protected", "hint: name its passphrase_file in auth.keys")
	s.write(t, "partner-key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBwh0qJCQjyr3QIJBbQZzb6bHUg2vEyhYg6O1ytmHc5D hub\n")
	contains(t, s.run(t, "partner", "test", "locked").err, "not a private key as ssh-keygen writes it", "hint: is it the .pub file?")
	s.apply(t, s.agreement("as2", ""))
	contains(t, s.run(t, "partner", "test", "as2").err, "no SFTP is agreed with as2")
}

func TestPartnerShowSFTP(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := sftptest.StartScripted(t, sftptest.Script{})
	s.apply(t, s.sftpAgreement(t, "acme", server, "      route: {socks5: 'proxy.example:1080'}\n      expect: {by: '08:30', days: [mon]}\n      algorithms: {macs: [hmac-sha1-96]}\n"))
	page := squeeze(s.run(t, "partner", "show", "acme").must(t))
	contains(t, page, "SFTP hub@"+server.Address+" by SOCKS5 proxy.example:1080\n", "host key ssh-ed25519 AAAA", "logs in by key "+s.dir+"/partner-key (SHA256:",
		"also offered hmac-sha1-96\n", "folders in, archive archive\n", "ready unchanged for 10s; given up when incomplete for 1h\n",
		"polled every 1m and up to 6s more, 10000 files at once\n", "expected mon by 08:30 UTC\n")
	if strings.Contains(page, "certificate") || strings.Contains(page, "AS2") {
		t.Errorf("AS2 is on the page:\n%s", page)
	}
	contains(t, squeeze(s.run(t, "partner", "list").must(t)), "acme - - 127.0.0.1 14d")
}

func TestSFTPStatus(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := sftptest.StartScripted(t, sftptest.Script{})
	s.apply(t, s.sftpAgreement(t, "acme", server, ""), s.agreement("other", ""))
	h := s.history(t)
	for _, sql := range []string{
		`INSERT INTO sftp_poll (partner_id, owner, last_good_at, failures, error_kind, last_error, listed, waiting, oldest_at)
			SELECT partner_id, 'gw1/ab12', now(), 2, 'lost', 'listing in: EOF', 7, 1, now() - interval '1 hour' FROM partner WHERE name = 'acme'`,
		`INSERT INTO sftp_file (partner_id, name, size, mtime, state, owner, fence, expires_at, reason)
			SELECT partner_id, '\xe4620a', 5, 1796137819, 'incomplete', '', 1, now(), 'no trailer' FROM sftp_poll`,
	} {
		if _, err := h.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	page := squeeze(s.run(t, "sftp", "status").must(t))
	contains(t, page, "LAST POLL LAST GOOD POLL NEXT POLL", "TO PUT BACK REFUSED STUCK\n", "acme gw1 - 20", " 7 1 1h0m", "s 1 0 0 0\n! listing in: EOF (2 polls in a row)\n", `acme \xE4b\x0A 5 B incomplete`, "no trailer\n")
	out := decode[sftpOutput](t, s.run(t, "sftp", "status", "--partner", "acme", "--json").must(t))
	if len(out.Partners) != 1 || out.Partners[0].Incomplete != 1 || len(out.Files) != 1 || string(out.Files[0].Octets) != "\xe4b\n" ||
		out.Partners[0].OldestAge(time.Now()) < time.Hour {
		t.Errorf("got %+v", out)
	}
	contains(t, s.run(t, "sftp", "status", "--partner", "acne").err, `there is no partner "acne"`)
}
