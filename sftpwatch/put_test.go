package sftpwatch

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"firstcopy/internal/sftptest"
	"firstcopy/partners"
)

// patient are timeouts that a busy machine keeps.
var patient = partners.Timeouts{Connect: partners.Period(20 * time.Second), Request: partners.Period(20 * time.Second),
	List: partners.Period(20 * time.Second), File: partners.Period(time.Minute)}

// termsOf are terms for a server, by the key of package sftptest.
func termsOf(t *testing.T, address, user string, keyFile string, pins ...ssh.PublicKey) *partners.SFTP {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	s := &partners.SFTP{Hop: partners.Hop{Host: host, Port: port, User: user, Auth: partners.Auth{Keys: []partners.AuthKey{{File: keyFile}}}},
		MaxEntries: 1000, Timeouts: patient}
	for _, k := range pins {
		s.HostKeys = append(s.HostKeys, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k))))
	}
	return s
}

func openSSHTerms(t *testing.T, s *sftptest.OpenSSH) *partners.SFTP {
	t.Helper()
	return termsOf(t, s.Address, s.User, s.KeyFile, s.HostKeys...)
}

func scriptedTerms(t *testing.T, s *sftptest.Scripted) *partners.SFTP {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, sftptest.NewKey(t, ssh.KeyAlgoED25519, "partner").PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	return termsOf(t, s.Address, "hub", file, sftptest.NewKey(t, ssh.KeyAlgoED25519, "host").PublicKey())
}

func dialled(t *testing.T, terms *partners.SFTP) *link {
	t.Helper()
	l, err := dial(t.Context(), terms)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.end)
	return l
}

// Exactly one file appears, however often it is put, and none is taken for it that has other content.
func TestPut(t *testing.T) {
	t.Parallel()
	server := sftptest.StartOpenSSH(t, sftptest.Options{})
	server.Mkdir("acks")
	l := dialled(t, openSSHTerms(t, server))
	folder, octets := server.Path("acks"), []byte(strings.Repeat("UNB+UNOC:3'", 10000))
	for range 3 {
		if err := l.put(t.Context(), folder, "CONTRL\xe4.edi", octets); err != nil {
			t.Fatal(err)
		}
		if names := server.Names("acks"); len(names) != 1 || names[0] != "CONTRL\xe4.edi" {
			t.Fatalf("there are %q", names)
		}
	}
	if got, _ := server.Read("acks/CONTRL\xe4.edi"); got != string(octets) {
		t.Errorf("%d octets lie there", len(got))
	}
	if err := l.put(t.Context(), folder, "CONTRL\xe4.edi", []byte("other")); !errors.Is(err, errTaken) {
		t.Errorf("other content under the name: %v", err)
	}
	if err := l.put(t.Context(), folder+"/none", "a", octets); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// A rename whose answer is lost, and a server without the extensions, end with one file all the same.
func TestPutTwice(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]sftptest.Script{
		"no extensions":          {NoExtensions: true},
		"lost answer":            {NoExtensions: true, Twists: []sftptest.Twist{sftptest.Times(1, sftptest.LosesAnswer(sftptest.Rename), sftptest.Rename)}},
		"hangs up while writing": {Twists: []sftptest.Twist{sftptest.Times(1, sftptest.HangsUp(sftptest.Write), sftptest.Write)}},
		"failure though done": {NoExtensions: true, Twists: []sftptest.Twist{func(r *sftptest.Request, next func() sftptest.Reply) sftptest.Reply {
			reply := next()
			if r.Kind == sftptest.Rename {
				reply.Kind, reply.Code, reply.Text = sftptest.Status, sftptest.Failure, "Failure"
			}
			return reply
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := sftptest.StartScripted(t, script)
			server.Files.Mkdir("acks")
			terms := scriptedTerms(t, server)
			terms.Timeouts.Request = partners.Period(2 * time.Second)
			for range 3 {
				l := dialled(t, terms)
				_ = l.put(t.Context(), "acks", "ack.edi", []byte("UNB'")) // the last one counts
			}
			if err := dialled(t, terms).put(t.Context(), "acks", "ack.edi", []byte("UNB'")); err != nil {
				t.Error(err)
			}
			if names := server.Files.Names("acks"); len(names) != 1 {
				t.Errorf("there are %q", names)
			}
			if got, _ := server.Files.Read("acks/ack.edi"); got != "UNB'" {
				t.Errorf("it has %q", got)
			}
		})
	}
}

// Where renaming is a copy, the original goes when the copy is whole, and no name is taken from another file.
func TestMoveByCopy(t *testing.T) {
	t.Parallel()
	server := sftptest.StartScripted(t, sftptest.Script{NoExtensions: true})
	server.Files.Put("in/a", strings.Repeat("x", 100_000))
	server.Files.Put("archive/b", "another")
	terms := scriptedTerms(t, server)
	terms.Quirks = []partners.Quirk{partners.QuirkNoRename}
	l := dialled(t, terms)
	if err := l.move(t.Context(), "in/a", "archive/b"); !errors.Is(err, errTaken) {
		t.Errorf("onto another file: %v", err)
	}
	if err := l.move(t.Context(), "in/a", "archive/a"); err != nil {
		t.Error(err)
	}
	if got, _ := server.Files.Read("archive/a"); len(got) != 100_000 {
		t.Errorf("%d octets are archived", len(got))
	}
	if got, _ := server.Files.Read("archive/b"); got != "another" || len(server.Files.Names("in")) != 0 {
		t.Errorf("archive/b has %q, in has %q", got, server.Files.Names("in"))
	}
	if n := server.Counts().Requests[sftptest.Rename]; n != 0 {
		t.Errorf("%d renames", n)
	}
}

// A file that is written anew, or taken away, while it is copied: the new version stays, and the only copy does.
func TestMoveByCopyMeanwhile(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{true, false} {
		server := sftptest.StartScripted(t, sftptest.Script{NoExtensions: true})
		server.Files.Mkdir("archive")
		server.Files.Put("in/a", strings.Repeat("x", 100_000))
		server.Change(func(s *sftptest.Script) {
			s.Twists = []sftptest.Twist{sftptest.Times(1, func(_ *sftptest.Request, next func() sftptest.Reply) sftptest.Reply {
				reply := next()
				server.Files.Remove("in/a")
				if again {
					server.Files.Now(time.Date(2026, 12, 1, 10, 16, 0, 0, time.UTC))
					server.Files.Put("in/a", strings.Repeat("y", 100_000))
				}
				return reply
			}, sftptest.Write)}
		})
		terms := scriptedTerms(t, server)
		terms.Quirks = []partners.Quirk{partners.QuirkNoRename}
		err := dialled(t, terms).move(t.Context(), "in/a", "archive/a")
		rewritten, _ := server.Files.Read("in/a")
		copied, there := server.Files.Read("archive/a")
		if again && (!errors.Is(err, errChanged) || rewritten != strings.Repeat("y", 100_000) || there) {
			t.Errorf("written anew: %v, %d octets in its folder, a copy: %v", err, len(rewritten), there)
		}
		if !again && (err != nil || copied != strings.Repeat("x", 100_000)) {
			t.Errorf("taken away: %v, %d octets are archived", err, len(copied))
		}
	}
}

// A put to a server that falls silent ends with the context.
func TestPutEnds(t *testing.T) {
	t.Parallel()
	server := sftptest.StartScripted(t, sftptest.Script{Twists: []sftptest.Twist{sftptest.Silent(sftptest.Write)}})
	server.Files.Mkdir("acks")
	l := dialled(t, scriptedTerms(t, server))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := l.put(ctx, "acks", "ack", []byte("UNB'")); kindOf(err) != KindTimeout {
		t.Errorf("got %v", err)
	}
}
