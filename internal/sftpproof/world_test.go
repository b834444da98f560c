package sftpproof_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"firstcopy/internal/as2test"
	"firstcopy/internal/pgtest"
	"firstcopy/internal/sftptest"
	"firstcopy/partners"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// Waits of the agreements in these tests. A poll follows the other quickly, and whoever is to be given up is so within a
// second.
const (
	pollEvery = 100 * time.Millisecond
	quiet     = 150 * time.Millisecond
	giveUp    = time.Second
)

// server is what an agreement has to know of either kind of server.
type server struct {
	address, user, keyFile string
	hostKeys               []ssh.PublicKey
	change                 func(*partners.SFTP)
}

func openssh(s *sftptest.OpenSSH) server {
	return server{address: s.Address, user: s.User, keyFile: s.KeyFile, hostKeys: s.HostKeys}
}

// startReal starts OpenSSH with the folders of every agreement here.
func startReal(tb testing.TB, o sftptest.Options) *sftptest.OpenSSH {
	tb.Helper()
	s := sftptest.StartOpenSSH(tb, o)
	s.Mkdir("in", "archive", "error", "ack")
	return s
}

func scripted(tb testing.TB, s *sftptest.Scripted) server {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "key")
	if err := os.WriteFile(file, sftptest.NewKey(tb, ssh.KeyAlgoED25519, "partner").PEM, 0o600); err != nil {
		tb.Fatal(err)
	}
	return server{address: s.Address, user: "acme", keyFile: file,
		hostKeys: []ssh.PublicKey{sftptest.NewKey(tb, ssh.KeyAlgoED25519, "host").PublicKey()}}
}

// startScripted starts a server that misbehaves, with the same folders.
func startScripted(tb testing.TB, script sftptest.Script) *sftptest.Scripted {
	tb.Helper()
	s := sftptest.StartScripted(tb, script)
	s.Files.Mkdir("in", "archive", "error", "ack")
	return s
}

// with has the terms changed before they are applied.
func (s server) with(change func(*partners.SFTP)) server {
	s.change = change
	return s
}

// terms are an agreement to fetch from the server.
func (s server) terms(tb testing.TB) *partners.SFTP {
	tb.Helper()
	host, portText, err := net.SplitHostPort(s.address)
	if err != nil {
		tb.Fatal(err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		tb.Fatal(err)
	}
	terms := &partners.SFTP{
		Hop:     partners.Hop{Host: host, Port: port, User: s.user, Auth: partners.Auth{Keys: []partners.AuthKey{{File: s.keyFile}}}},
		Folders: partners.Folders{In: "in", Archive: "archive", Error: "error", Acknowledgement: "ack"},
		Ready:   partners.Ready{Quiet: partners.Period(quiet), Grace: partners.DefaultGrace},
		After:   partners.AfterArchive, Empty: partners.EmptyWait,
		Interval: partners.Period(pollEvery), Jitter: partners.Period(pollEvery / 10),
		MaxFiles: partners.DefaultMaxFiles, MaxEntries: partners.DefaultMaxEntries,
		Timeouts: partners.Timeouts{Connect: partners.Period(giveUp), Request: partners.Period(giveUp),
			List: partners.Period(3 * giveUp), File: partners.Period(3 * giveUp)},
	}
	for _, key := range s.hostKeys {
		terms.HostKeys = append(terms.HostKeys, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))))
	}
	if s.change != nil {
		s.change(terms)
	}
	return terms
}

// startHub runs a node.
func startHub(tb testing.TB) *as2test.Hub {
	tb.Helper()
	return as2test.Start(tb, as2test.Options{})
}

// agree has the hub fetch from a server.
func agree(tb testing.TB, hub *as2test.Hub, name string, s server) {
	tb.Helper()
	hub.Agree(name, func(a *partners.Agreement) { a.AS2, a.SFTP = partners.AS2{}, s.terms(tb) })
}

// taken waits until as many documents have been forwarded, and compares them with what was put.
func taken(tb testing.TB, hub *as2test.Hub, name string, want ...string) {
	tb.Helper()
	arrived(tb, hub, name, len(want))
	slices.Sort(want)
	if got := hub.Forwarded(name); !slices.Equal(got, want) {
		tb.Errorf("%s forwarded %.200q, want %.200q", name, got, want)
	}
}

// arrived waits for a number of forwarded documents.
func arrived(tb testing.TB, hub *as2test.Hub, name string, n int) {
	tb.Helper()
	const forwarded = `SELECT count(*) FROM document d JOIN partner p USING (partner_id) WHERE p.name = $1 AND d.state = 'forwarded'`
	as2test.Eventually(tb, fmt.Sprintf("%d documents of %s", n, name), func() bool { return hub.Count(forwarded, name) >= n })
}

// polls waits until a partner has been polled n times more, whatever came of it.
func polls(tb testing.TB, hub *as2test.Hub, name string, n int) {
	tb.Helper()
	const last = `SELECT coalesce(max(last_poll_at), '-infinity')::text FROM sftp_poll JOIN partner USING (partner_id) WHERE partner.name = $1`
	seen := map[string]bool{hub.Strings(last, name)[0]: true}
	as2test.Eventually(tb, fmt.Sprintf("%d more polls of %s", n, name), func() bool {
		seen[hub.Strings(last, name)[0]] = true
		return len(seen) > n
	})
}

// invoice is a file's content; different ones differ in their reference.
func invoice(n int) string { return as2test.Invoice(fmt.Sprintf("R%06d", n), "100.00") }

// witness is an honest partner of the same hub, by whom can be seen that the others do it no harm.
type witness struct {
	tb     testing.TB
	hub    *as2test.Hub
	server *sftptest.Scripted
	terms  server
	put    []string
}

func newWitness(tb testing.TB, hub *as2test.Hub) *witness {
	tb.Helper()
	w := &witness{tb: tb, hub: hub, server: startScripted(tb, sftptest.Script{})}
	w.terms = scripted(tb, w.server)
	agree(tb, hub, "witness", w.terms)
	return w
}

// works puts a file and waits for it.
func (w *witness) works() {
	w.tb.Helper()
	content := invoice(900000 + len(w.put))
	w.put = append(w.put, content)
	w.server.Files.Put(fmt.Sprintf("in/w%d.edi", len(w.put)), content)
	taken(w.tb, w.hub, "witness", slices.Clone(w.put)...)
}
