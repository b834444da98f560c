package sftpproof_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"firstcopy/internal/as2test"
	"firstcopy/internal/sftptest"
	"firstcopy/partners"
)

// failure waits for a failed poll and returns its kind and what is said of it.
func failure(t *testing.T, hub *as2test.Hub, name string) (kind, text string) {
	t.Helper()
	const last = `SELECT p.error_kind || E'\n' || p.last_error FROM sftp_poll p JOIN partner USING (partner_id) WHERE name = $1 AND error_kind <> ''`
	var found []string
	as2test.Eventually(t, "a failed poll of "+name, func() bool { found = hub.Strings(last, name); return len(found) == 1 })
	kind, text, _ = strings.Cut(found[0], "\n")
	return kind, text
}

// F41, F42: of a server with keys of several types, any one may be pinned, also one of RSA by an old "ssh-rsa" line.
func TestF41OnePinOfSeveralKeys(t *testing.T) {
	t.Parallel()
	s := startReal(t, sftptest.Options{})
	hub := startHub(t)
	for _, key := range s.HostKeys {
		for _, form := range []string{strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))), key.Type() + " " + ssh.FingerprintSHA256(key)} {
			name := key.Type() + "-" + form[len(key.Type())+1:][:4]
			agree(t, hub, strings.ToLower(strings.Map(wordly, name)), openssh(s).with(func(terms *partners.SFTP) {
				terms.HostKeys, terms.After = []string{form}, partners.AfterKeep
			}))
		}
	}
	s.Put("in/one.edi", invoice(1))
	as2test.Eventually(t, "all pins to have served", func() bool { return hub.Count(`SELECT count(*) FROM delivery`) == 2*len(s.HostKeys) })
}

func wordly(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}

// F41: another key than the pinned one is refused, before any secret is sent, and said.
func TestF41OtherHostKey(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	w := newWitness(t, hub)
	s := startScripted(t, sftptest.Script{HostKeys: []ssh.Signer{sftptest.NewKey(t, ssh.KeyAlgoED25519, "impostor")}})
	s.Files.Put("in/one.edi", invoice(1))
	agree(t, hub, "acme", scripted(t, s))
	kind, text := failure(t, hub, "acme")
	if !strings.Contains(text, "SHA256:") {
		t.Errorf("%s: %q names no fingerprint", kind, text)
	}
	if c := s.Counts(); c.Logins+c.Refused != 0 {
		t.Errorf("a login was tried: %+v", c)
	}
	w.works()
}

// F41, F45: a rotation with both keys pinned goes unnoticed; a host certificate is as good as a pin; a revoked key is not.
func TestF45Rotation(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{})
	next := sftptest.NewKey(t, ssh.KeyAlgoECDSA256, "next")
	terms := scripted(t, s)
	terms.hostKeys = append(terms.hostKeys, next.PublicKey())
	agree(t, hub, "acme", terms)
	s.Files.Put("in/one.edi", invoice(1))
	taken(t, hub, "acme", invoice(1))
	s.Change(func(script *sftptest.Script) { script.HostKeys = []ssh.Signer{next} })
	s.Disconnect()
	s.Files.Put("in/two.edi", invoice(2))
	taken(t, hub, "acme", invoice(1), invoice(2))
}

func TestHostCertificate(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	authority := sftptest.NewKey(t, ssh.KeyAlgoED25519, "authority")
	s := startReal(t, sftptest.Options{HostCertificate: func(host sftptest.Key) ssh.Signer { return sftptest.Certify(t, authority, host, "127.0.0.1") }})
	byAuthority := func(terms *partners.SFTP) {
		terms.HostKeys = nil
		terms.HostAuthorities = []string{strings.TrimSpace(string(ssh.MarshalAuthorizedKey(authority.PublicKey())))}
	}
	agree(t, hub, "acme", openssh(s).with(byAuthority))
	s.Put("in/one.edi", invoice(1))
	taken(t, hub, "acme", invoice(1))
	agree(t, hub, "revoked", openssh(s).with(func(terms *partners.SFTP) {
		byAuthority(terms)
		terms.RevokedKeys = []string{strings.TrimSpace(string(ssh.MarshalAuthorizedKey(s.HostKeys[0])))}
	}))
	failure(t, hub, "revoked")
}

// F44: a pin that is no key is refused when the agreement is applied, and harms no other agreement.
func TestF44BadPin(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	w := newWitness(t, hub)
	bad := w.terms.terms(t)
	bad.HostKeys = append(bad.HostKeys, "ssh-ed25519 AAAAnothing")
	_, err := partners.NewStore(hub.Pool).Apply(t.Context(), "test", []partners.Agreement{{Tenant: partners.DefaultTenant, Name: "acme",
		Sink: "dir:" + t.TempDir(), Drift: partners.DriftHold, OnDuplicate: partners.AnswerProcessed, SFTP: bad,
		Windows: partners.Windows{Default: partners.DefaultWindow}, Limits: partners.Limits{Payload: 1 << 20, Concurrent: 1}}}, partners.ApplyOptions{})
	if err == nil || !strings.Contains(err.Error(), "host_keys[1]") {
		t.Errorf("applying says: %v", err)
	}
	w.works()
}

// F48: a connection that was closed while it was idle is made anew, and nobody is told of a failure.
func TestF48ClosedWhileIdle(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{})
	agree(t, hub, "acme", scripted(t, s))
	var want []string
	for i := range 3 {
		want = append(want, invoice(i))
		s.Files.Put(fmt.Sprintf("in/%d.edi", i), invoice(i))
		taken(t, hub, "acme", slices.Clone(want)...)
		s.Disconnect()
	}
	if c := s.Counts(); c.Connections < 3 {
		t.Errorf("%d connections", c.Connections)
	}
}

// F43: an old server is reached when the agreement allows what it needs, and told apart when it does not.
func TestF43OldServer(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	old := sftptest.NewKey(t, ssh.KeyAlgoRSA, "host")
	sha1, err := ssh.NewSignerWithAlgorithms(old.Signer.(ssh.AlgorithmSigner), []string{ssh.KeyAlgoRSA})
	if err != nil {
		t.Fatal(err)
	}
	s := startScripted(t, sftptest.Script{HostKeys: []ssh.Signer{sha1}, Algorithms: ssh.Config{
		KeyExchanges: []string{ssh.InsecureKeyExchangeDH14SHA1}, Ciphers: []string{ssh.InsecureCipherAES128CBC}, MACs: []string{ssh.HMACSHA1}}})
	s.Files.Put("in/one.edi", invoice(1))
	terms := scripted(t, s)
	terms.hostKeys = []ssh.PublicKey{old.PublicKey()}
	agree(t, hub, "strict", terms)
	if kind, text := failure(t, hub, "strict"); !strings.Contains(text, ssh.InsecureKeyExchangeDH14SHA1) && !strings.Contains(text, ssh.KeyAlgoRSA) {
		t.Errorf("%s: %q does not say what the server offers", kind, text)
	}
	agree(t, hub, "lenient", terms.with(func(terms *partners.SFTP) {
		terms.Algorithms = partners.Algorithms{KeyExchanges: []string{ssh.InsecureKeyExchangeDH14SHA1}, Ciphers: []string{ssh.InsecureCipherAES128CBC},
			MACs: []string{ssh.HMACSHA1}, HostKeys: []string{ssh.KeyAlgoRSA}}
	}))
	taken(t, hub, "lenient", invoice(1))
}

// F46: passwords, questions, several steps, each by agreement.
func TestF46Logins(t *testing.T) {
	t.Parallel()
	byKey := sftptest.ByKey(sftptest.NewKey(t, ssh.KeyAlgoED25519, "partner").PublicKey())
	secret := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(secret, []byte("open sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	password, question := sftptest.ByPassword("open sesame"), sftptest.ByAnswers([]string{"Password: "}, []string{"open sesame"})
	for name, tt := range map[string]struct {
		script sftptest.Script
		auth   func(*partners.Auth)
	}{
		"banner":   {sftptest.Script{Banner: "Authorised use only.\n"}, func(*partners.Auth) {}},
		"password": {sftptest.Script{Auth: []sftptest.Auth{password}}, func(a *partners.Auth) { *a = partners.Auth{PasswordFile: secret} }},
		"questions": {sftptest.Script{Auth: []sftptest.Auth{question}},
			func(a *partners.Auth) { *a = partners.Auth{PasswordFile: secret, KeyboardInteractive: true} }},
		"key-then-password": {sftptest.Script{Auth: []sftptest.Auth{byKey}, Then: []sftptest.Auth{password}},
			func(a *partners.Auth) { a.PasswordFile = secret }},
		"key-then-question": {sftptest.Script{Auth: []sftptest.Auth{byKey}, Then: []sftptest.Auth{question}},
			func(a *partners.Auth) { a.PasswordFile, a.KeyboardInteractive = secret, true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := startHub(t)
			s := startScripted(t, tt.script)
			s.Files.Put("in/one.edi", invoice(1))
			agree(t, hub, "acme", scripted(t, s).with(func(terms *partners.SFTP) { tt.auth(&terms.Auth) }))
			taken(t, hub, "acme", invoice(1))
			if c := s.Counts(); c.Refused > 0 {
				t.Errorf("%d logins were refused on the way", c.Refused)
			}
		})
	}
}

// F47: whoever is refused does not storm: accounts get locked.
func TestF47RefusedLogin(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	w := newWitness(t, hub)
	s := startScripted(t, sftptest.Script{Auth: []sftptest.Auth{sftptest.ByPassword("something else")}})
	agree(t, hub, "acme", scripted(t, s))
	if _, text := failure(t, hub, "acme"); !strings.Contains(text, "unable to authenticate") {
		t.Errorf("%q does not say that we are not let in", text)
	}
	before := time.Now()
	for time.Since(before) < 2*time.Second { // twenty polls of the others
		w.works()
	}
	if _, text := failure(t, hub, "acme"); !strings.Contains(text, "not dialled again until ") || strings.Contains(text, `\x0A`) {
		t.Errorf("between two dials the fault is %q", text)
	}
	if c := s.Counts(); c.Connections > 3 || c.MostOpen > 1 {
		t.Errorf("%d connections in two seconds, %d at a time", c.Connections, c.MostOpen)
	}
}

// Terms that were mended are tried at once, however long it would have been to the next poll, and the old fault is gone.
func TestChangedTermsAreTriedAtOnce(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{})
	s.Files.Put("in/one.edi", invoice(1))
	terms := scripted(t, s)
	agree(t, hub, "acme", terms.with(func(terms *partners.SFTP) { terms.Folders.In, terms.Interval = "inn", partners.Period(time.Hour) }))
	failure(t, hub, "acme")
	agree(t, hub, "acme", terms)
	taken(t, hub, "acme", invoice(1))
	if n := hub.Count(`SELECT count(*) FROM sftp_poll WHERE error_kind <> '' OR last_error <> '' OR failures <> 0`); n != 0 {
		t.Error("the old fault is shown still")
	}
}

// F47: one connection a partner, not one a file; servers limit them.
func TestF47OneConnection(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{})
	var want []string
	for i := range 100 {
		want = append(want, invoice(i))
		s.Files.Put(fmt.Sprintf("in/%d.edi", i), invoice(i))
	}
	agree(t, hub, "acme", scripted(t, s))
	polls(t, hub, "acme", 10)
	taken(t, hub, "acme", want...)
	if c := s.Counts(); c.Connections > 2 {
		t.Errorf("%d connections for ten polls", c.Connections)
	}
}

// F49, F50: text where the protocol should be: a login script's, a long greeting.
func TestF49Text(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	noisy := startScripted(t, sftptest.Script{Noise: "Last login: Monday\nPlease change your password.\n"})
	agree(t, hub, "noisy", scripted(t, noisy))
	greeting := startScripted(t, sftptest.Script{Lines: "Welcome to the exchange.\r\nAll is recorded.\r\n"})
	greeting.Files.Put("in/one.edi", invoice(1))
	agree(t, hub, "greeting", scripted(t, greeting))
	long := startScripted(t, sftptest.Script{Lines: strings.Repeat("Welcome to the exchange. ", 2000) + "\r\n"})
	agree(t, hub, "long", scripted(t, long))
	taken(t, hub, "greeting", invoice(1))
	if kind, text := failure(t, hub, "noisy"); !strings.Contains(text, "Last login") && !strings.Contains(text, "text") {
		t.Errorf("%s: %q does not say that the server sent text", kind, text)
	}
	failure(t, hub, "long")
}
