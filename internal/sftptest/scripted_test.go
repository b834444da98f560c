package sftptest_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"firstcopy/internal/sftptest"
)

func start(t *testing.T, script sftptest.Script) *sftptest.Scripted {
	t.Helper()
	return sftptest.StartScripted(t, script)
}

func connect(t *testing.T, s *sftptest.Scripted) *sftp.Client {
	t.Helper()
	return dial(t, s.Address, "acme", sftptest.NewKey(t, ssh.KeyAlgoED25519, "partner"),
		sftptest.NewKey(t, ssh.KeyAlgoED25519, "host").PublicKey())
}

// read reads a file as careful clients do.
func read(c *sftp.Client, name string) (string, error) {
	file, err := c.Open(name)
	if err != nil {
		return "", err
	}
	content := make([]byte, 100)
	n, err := file.ReadAt(content, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return string(content[:n]), errors.Join(err, file.Close())
}

func names(t *testing.T, c *sftp.Client, folder string) []string {
	t.Helper()
	list, err := c.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, info := range list {
		names = append(names, info.Name())
	}
	slices.Sort(names)
	return names
}

func TestScriptedIsAnHonestServer(t *testing.T) {
	t.Parallel()
	s := start(t, sftptest.Script{})
	date := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	s.Files.Mkdir("in", "archive")
	s.Files.Put("in/one.edi", "UNB'")
	s.Files.Date("in/one.edi", date)
	c := connect(t, s)
	if info, err := c.Stat("in/one.edi"); err != nil || info.Size() != 4 || !info.ModTime().Equal(date) || !info.Mode().IsRegular() {
		t.Errorf("stat tells %v, %v", info, err)
	}
	if text, err := read(c, "/in/one.edi"); err != nil || text != "UNB'" {
		t.Errorf("read %q, %v", text, err)
	}
	if err := c.Rename("in/one.edi", "archive/one.edi"); err != nil {
		t.Error(err)
	}
	ack, err := c.OpenFile("archive/ack.tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		t.Fatal(err)
	}
	_, err = ack.Write([]byte("UCI"))
	if err := errors.Join(err, ack.Sync(), ack.Close(), c.PosixRename("archive/ack.tmp", "archive/ack.edi")); err != nil {
		t.Error(err)
	}
	if got := names(t, c, "archive"); !slices.Equal(got, []string{"ack.edi", "one.edi"}) {
		t.Errorf("archive holds %q", got)
	}
	if text, ok := s.Files.Read("archive/ack.edi"); !ok || text != "UCI" {
		t.Errorf("written %q, %t", text, ok)
	}
	if err := c.Rename("archive/ack.edi", "archive/one.edi"); err == nil {
		t.Error("version 3 renamed onto a file")
	}
	if err := errors.Join(c.Mkdir("new"), c.RemoveDirectory("new"), c.Remove("archive/ack.edi")); err != nil {
		t.Error(err)
	}
	if _, err := c.Stat("archive/ack.edi"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed file says %v", err)
	}
	counts := s.Counts()
	if counts.Logins != 1 || counts.Requests[sftptest.Rename] != 2 || counts.MostHandles != 1 {
		t.Errorf("counted %+v", counts)
	}
}

func TestScriptedListsManyNames(t *testing.T) {
	t.Parallel()
	s := start(t, sftptest.Script{})
	for i := range 1234 {
		s.Files.Put(fmt.Sprintf("in/%04d", i), "")
	}
	s.Files.Put("in/Bestellung für \xe4\n.edi", "")
	if got := names(t, connect(t, s), "in"); len(got) != 1235 || got[1233] != "1233" || got[1234] != "Bestellung für \xe4\n.edi" {
		t.Errorf("%d names, the last %q", len(got), got[len(got)-1])
	}
}

func TestScriptedFollowsLinks(t *testing.T) {
	t.Parallel()
	s := start(t, sftptest.Script{})
	s.Files.Put("in/one.edi", "UNB'")
	s.Files.Link("to-one", "in/one.edi")
	s.Files.Link("in/around", "../in/around")
	s.Files.Link("broken", "/nowhere")
	c := connect(t, s)
	if info, err := c.Lstat("to-one"); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link itself: %v, %v", info, err)
	}
	if info, err := c.Stat("to-one"); err != nil || info.Size() != 4 {
		t.Errorf("through the link: %v, %v", info, err)
	}
	for _, name := range []string{"broken", "in/around"} {
		if _, err := c.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every way of logging in, with the right secrets and without.
func TestScriptedAuth(t *testing.T) {
	t.Parallel()
	host, key := sftptest.NewKey(t, ssh.KeyAlgoED25519, "host"), sftptest.NewKey(t, ssh.KeyAlgoED25519, "partner")
	answer := func(_, _ string, questions []string, _ []bool) ([]string, error) {
		return slices.Repeat([]string{"secret"}, len(questions)), nil
	}
	byKey, byPassword, byAnswers := ssh.PublicKeys(key), ssh.Password("secret"), ssh.KeyboardInteractive(answer)
	question := sftptest.ByAnswers([]string{"Password: "}, []string{"secret"})
	for name, tt := range map[string]struct {
		script sftptest.Script
		with   []ssh.AuthMethod
		fails  bool
	}{
		"key":                        {sftptest.Script{}, []ssh.AuthMethod{byKey}, false},
		"password":                   {sftptest.Script{Auth: []sftptest.Auth{sftptest.ByPassword("secret")}}, []ssh.AuthMethod{byPassword}, false},
		"another password":           {sftptest.Script{Auth: []sftptest.Auth{sftptest.ByPassword("other")}}, []ssh.AuthMethod{byPassword}, true},
		"no password, but questions": {sftptest.Script{Auth: []sftptest.Auth{question}}, []ssh.AuthMethod{byPassword}, true},
		"questions":                  {sftptest.Script{Auth: []sftptest.Auth{question}}, []ssh.AuthMethod{byPassword, byAnswers}, false},
		"key, then password": {sftptest.Script{Auth: []sftptest.Auth{sftptest.ByKey(key.PublicKey())},
			Then: []sftptest.Auth{sftptest.ByPassword("secret")}}, []ssh.AuthMethod{byKey, byPassword}, false},
		"key alone, where a password has to follow": {sftptest.Script{Auth: []sftptest.Auth{sftptest.ByKey(key.PublicKey())},
			Then: []sftptest.Auth{sftptest.ByPassword("secret")}}, []ssh.AuthMethod{byKey}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tt.script)
			client, err := ssh.Dial("tcp", s.Address, &ssh.ClientConfig{User: "acme", Auth: tt.with, Timeout: 10 * time.Second,
				HostKeyCallback: ssh.FixedHostKey(host.PublicKey())})
			if (err != nil) != tt.fails {
				t.Errorf("logging in: %v", err)
			}
			if err == nil {
				client.Close()
			}
			s.Await("the login to be counted", func(c sftptest.Counts) bool { return c.Connections == 1 && (c.Logins == 1) != tt.fails })
		})
	}
}

func TestScriptedAlgorithmsAndHostKeys(t *testing.T) {
	t.Parallel()
	old := sftptest.NewKey(t, ssh.KeyAlgoRSA, "host")
	sha1, err := ssh.NewSignerWithAlgorithms(old.Signer.(ssh.AlgorithmSigner), []string{ssh.KeyAlgoRSA})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, sftptest.Script{HostKeys: []ssh.Signer{sha1}, Algorithms: ssh.Config{
		KeyExchanges: []string{ssh.InsecureKeyExchangeDH14SHA1}, Ciphers: []string{ssh.InsecureCipherAES128CBC}, MACs: []string{ssh.HMACSHA1}}})
	config := &ssh.ClientConfig{User: "acme", Auth: []ssh.AuthMethod{ssh.PublicKeys(sftptest.NewKey(t, ssh.KeyAlgoED25519, "partner"))},
		HostKeyCallback: ssh.FixedHostKey(old.PublicKey()), Timeout: 10 * time.Second}
	var negotiation *ssh.AlgorithmNegotiationError
	if _, err := ssh.Dial("tcp", s.Address, config); !errors.As(err, &negotiation) {
		t.Errorf("today's algorithms: %v", err)
	}
	config.HostKeyAlgorithms = []string{ssh.KeyAlgoRSA}
	config.KeyExchanges, config.MACs = []string{ssh.InsecureKeyExchangeDH14SHA1}, []string{ssh.HMACSHA1}
	config.Ciphers = []string{ssh.InsecureCipherAES128CBC}
	client, err := ssh.Dial("tcp", s.Address, config)
	if err != nil {
		t.Fatal(err)
	}
	client.Close()

	rotated := sftptest.NewKey(t, ssh.KeyAlgoED25519, "rotated")
	s.Change(func(script *sftptest.Script) { *script = sftptest.Script{HostKeys: []ssh.Signer{rotated}} })
	_, err = login(s.Address, "acme", sftptest.NewKey(t, ssh.KeyAlgoED25519, "partner"), old.PublicKey())
	if err == nil || !strings.Contains(err.Error(), "not pinned") {
		t.Errorf("after the rotation: %v", err)
	}
}

// At every point the server falls silent, or closes the connection; only a deadline frees the client from silence.
func TestScriptedPoints(t *testing.T) {
	t.Parallel()
	for p := sftptest.AtConnect; p <= sftptest.AtFirstRequest; p++ {
		for _, script := range []sftptest.Script{{Mute: p}, {HangUp: p}} {
			t.Run(fmt.Sprintf("%+v", [2]sftptest.Point{script.Mute, script.HangUp}), func(t *testing.T) {
				t.Parallel()
				err := within(t, start(t, script), 200*time.Millisecond, func(*sftp.Client) error { return nil })
				silent := errors.Is(err, os.ErrDeadlineExceeded)
				if err == nil || silent != (script.Mute != 0) {
					t.Errorf("the client got: %v", err)
				}
			})
		}
	}
}

// within has a client do something with a connection that ends after a while, and returns what the deadline said if it
// passed.
func within(t *testing.T, s *sftptest.Scripted, while time.Duration, do func(*sftp.Client) error) error {
	t.Helper()
	conn, err := net.Dial("tcp", s.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	watched := &watched{Conn: conn}
	if err := conn.SetDeadline(time.Now().Add(while)); err != nil {
		return err
	}
	err = func() error {
		c, channels, requests, err := ssh.NewClientConn(watched, s.Address, &ssh.ClientConfig{User: "acme", HostKeyCallback: ssh.InsecureIgnoreHostKey(),
			Auth: []ssh.AuthMethod{ssh.PublicKeys(sftptest.NewKey(t, ssh.KeyAlgoED25519, "partner"))}})
		if err != nil {
			return err
		}
		client := ssh.NewClient(c, channels, requests)
		defer client.Close()
		session, err := sftp.NewClient(client)
		if err != nil {
			return err
		}
		defer session.Close()
		return do(session)
	}()
	if watched.late.Load() {
		return os.ErrDeadlineExceeded
	}
	return err
}

// watched notices that a deadline has passed, which the libraries above do not pass on.
type watched struct {
	net.Conn
	late atomic.Bool
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.late.Store(true)
	}
	return n, err
}

func TestScriptedTwists(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789", 5)
	for name, tt := range map[string]struct {
		twist  sftptest.Twist
		expect string // of the error, or of what was read
	}{
		"short reads":     {sftptest.ShortReads(7), content[:7]},
		"denied":          {sftptest.Denies(sftptest.Open), "permission denied"},
		"status for data": {sftptest.Answers(sftptest.Failure, "odd", sftptest.Read), "odd"},
		"failure once":    {sftptest.Times(1, sftptest.Answers(sftptest.Failure, "Failure", sftptest.Open), sftptest.Open), `"Failure"`},
		"hangs up":        {sftptest.HangsUp(sftptest.Read), "connection lost"},
		"third request":   {sftptest.HangsUpAfter(3), "connection lost"},
		"loses an answer": {sftptest.LosesAnswer(sftptest.Open), "connection lost"},
		"silent":          {sftptest.Silent(sftptest.Open), os.ErrDeadlineExceeded.Error()},
		"another's id":    {sftptest.WrongID(sftptest.Open), ""},
		"oversized":       {sftptest.Oversized(1<<30, sftptest.Open), "connection lost"},
		"truncated":       {sftptest.Truncated(3, sftptest.Open), ""},
		"one handle":      {sftptest.MaxHandles(0), "maximum 0"},
		"elsewhere":       {sftptest.At("other.edi", sftptest.Denies()), content},
		"here":            {sftptest.At("one.edi", sftptest.Denies(sftptest.Read)), "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, sftptest.Script{Twists: []sftptest.Twist{tt.twist}})
			s.Files.Put("one.edi", content)
			var text string
			err := within(t, s, 500*time.Millisecond, func(c *sftp.Client) (err error) {
				text, err = read(c, "one.edi")
				return err
			})
			got := text
			if err != nil {
				got = err.Error()
			}
			if tt.expect == "" && err == nil || !strings.Contains(got, tt.expect) {
				t.Errorf("got %q, want %q", got, tt.expect)
			}
		})
	}
}

func TestScriptedListings(t *testing.T) {
	t.Parallel()
	s := start(t, sftptest.Script{Twists: []sftptest.Twist{
		sftptest.Attribute(func(_ string, a *sftptest.Attributes) { a.Has &^= sftptest.HasTimes }, sftptest.Readdir),
		sftptest.Lists("../up.edi", "nul\x00.edi")}})
	s.Files.Put("one.edi", "UNB'")
	c := connect(t, s)
	list, err := c.ReadDir(".")
	if err != nil || len(list) != 3 {
		t.Fatalf("listed %v, %v", list, err)
	}
	for _, info := range list {
		if info.ModTime().Unix() != 0 {
			t.Errorf("%q has a date", info.Name())
		}
	}
	s.Change(func(script *sftptest.Script) { script.Twists = []sftptest.Twist{sftptest.ListsForEver()} })
	err = within(t, s, 300*time.Millisecond, func(c *sftp.Client) error {
		_, err := c.ReadDir(".")
		return err
	})
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("an endless listing ended: %v", err)
	}
}

func TestScriptedReadOnce(t *testing.T) {
	t.Parallel()
	s := start(t, sftptest.Script{Twists: []sftptest.Twist{sftptest.ReadOnce()}})
	s.Files.Put("one.edi", "UNB'")
	c := connect(t, s)
	file, err := c.Open("one.edi")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Stat(); err == nil || !strings.Contains(err.Error(), "not extractable") {
		t.Errorf("a look after opening: %v", err)
	}
	if _, err := file.ReadAt(make([]byte, 4), 0); err != nil {
		t.Error(err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	if got := s.Files.Names("."); len(got) != 0 {
		t.Errorf("there is still %q", got)
	}
}

func TestScriptedOneTransfer(t *testing.T) {
	t.Parallel()
	s := start(t, sftptest.Script{Twists: []sftptest.Twist{sftptest.OneTransfer()}})
	s.Files.Put("one.edi", "UNB'")
	c := connect(t, s)
	file, err := c.Open("one.edi")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stat("one.edi"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a look beside the transfer: %v", err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Stat("one.edi"); err != nil {
		t.Error(err)
	}
}

// Text before the protocol, and a line so slow that it can be measured.
func TestScriptedTextAndTrickle(t *testing.T) {
	t.Parallel()
	s := start(t, sftptest.Script{Lines: "Welcome\r\n", Banner: "Authorised use only", Trickle: time.Millisecond})
	begin := time.Now()
	if _, err := connect(t, s).Getwd(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took < 20*time.Millisecond {
		t.Errorf("a kilobyte of handshake took only %s", took)
	}
	s.Change(func(script *sftptest.Script) { *script = sftptest.Script{Noise: "Last login: Monday\n"} })
	if err := within(t, s, time.Second, func(*sftp.Client) error { return nil }); err == nil {
		t.Error("the text was taken for a packet")
	}
}
