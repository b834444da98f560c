package sftptest_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"firstcopy/internal/sftptest"
)

// dial logs in and opens SFTP; everything is closed when the test ends.
func dial(t *testing.T, address, user string, key ssh.Signer, hostKeys ...ssh.PublicKey) *sftp.Client {
	t.Helper()
	client, err := login(address, user, key, hostKeys...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	session, err := sftp.NewClient(client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func login(address, user string, key ssh.Signer, hostKeys ...ssh.PublicKey) (*ssh.Client, error) {
	config := &ssh.ClientConfig{User: user, Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, Timeout: 10 * time.Second,
		HostKeyAlgorithms: []string{ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoRSASHA512},
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			if !slices.ContainsFunc(hostKeys, func(pin ssh.PublicKey) bool { return bytes.Equal(pin.Marshal(), key.Marshal()) }) {
				return errors.New("host key is not pinned")
			}
			return nil
		}}
	return ssh.Dial("tcp", address, config)
}

func TestOpenSSH(t *testing.T) {
	t.Parallel()
	s := sftptest.StartOpenSSH(t, sftptest.Options{})
	s.Mkdir("in", "archive")
	s.Put("in/one.edi", "UNB'")
	s.Append("in/two.edi", "UN")
	client := dial(t, s.Address, s.User, s.Key, s.HostKeys...)
	if wd, err := client.Getwd(); err != nil || wd != s.Root {
		t.Errorf("clients start in %s, %v; want %s", wd, err, s.Root)
	}
	file, err := client.Open("in/one.edi")
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 4)
	if _, err := file.ReadAt(content, 0); err != nil || string(content) != "UNB'" {
		t.Errorf("read %q, %v", content, err)
	}
	if err := errors.Join(file.Close(), client.PosixRename("in/one.edi", "archive/one.edi"), client.Remove("in/two.edi")); err != nil {
		t.Error(err)
	}
	if got := s.Names("archive"); !slices.Equal(got, []string{"one.edi"}) {
		t.Errorf("archive holds %q", got)
	}
	if len(s.Names("in")) != 0 {
		t.Errorf("in holds %q", s.Names("in"))
	}
	if text, ok := s.Read("archive/one.edi"); !ok || text != "UNB'" {
		t.Errorf("archived %q, %t", text, ok)
	}
}

func TestOpenSSHTakesOnlyItsKey(t *testing.T) {
	t.Parallel()
	s := sftptest.StartOpenSSH(t, sftptest.Options{})
	if _, err := login(s.Address, s.User, sftptest.NewKey(t, ssh.KeyAlgoED25519, "stranger"), s.HostKeys...); err == nil {
		t.Error("a stranger's key was accepted")
	}
	// The server closes the connection before its log has been read.
	for given, look := time.After(20*time.Second), time.NewTicker(10*time.Millisecond); ; {
		if strings.Contains(strings.Join(s.Log(), "\n"), s.User) {
			break
		}
		select {
		case <-look.C:
		case <-given:
			t.Fatal("the log says nothing of it")
		}
	}
}

func TestOpenSSHDenies(t *testing.T) {
	t.Parallel()
	s := sftptest.StartOpenSSH(t, sftptest.Options{SFTP: "-P remove"})
	s.Put("kept.edi", "UNB'")
	client := dial(t, s.Address, s.User, s.Key, s.HostKeys...)
	if err := client.Remove("kept.edi"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("removing says %v", err)
	}
}

func TestOpenSSHRestarts(t *testing.T) {
	t.Parallel()
	s := sftptest.StartOpenSSH(t, sftptest.Options{})
	client := dial(t, s.Address, s.User, s.Key, s.HostKeys...)
	s.Disconnect()
	if err := client.Wait(); err == nil {
		t.Error("the session did not notice its end")
	}
	again := dial(t, s.Address, s.User, s.Key, s.HostKeys...)
	s.Stop()
	if err := again.Wait(); err == nil {
		t.Error("the session outlived its server")
	}
	if _, err := login(s.Address, s.User, s.Key, s.HostKeys...); err == nil {
		t.Fatal("a stopped server answers")
	}
	s.Restart()
	if _, err := dial(t, s.Address, s.User, s.Key, s.HostKeys...).Getwd(); err != nil {
		t.Error(err)
	}
}

func TestOpenSSHShowsACertificate(t *testing.T) {
	t.Parallel()
	authority := sftptest.NewKey(t, ssh.KeyAlgoED25519, "authority")
	s := sftptest.StartOpenSSH(t, sftptest.Options{HostCertificate: func(host sftptest.Key) ssh.Signer {
		return sftptest.Certify(t, authority, host, "127.0.0.1")
	}})
	checker := &ssh.CertChecker{IsHostAuthority: func(key ssh.PublicKey, _ string) bool {
		return bytes.Equal(key.Marshal(), authority.PublicKey().Marshal())
	}}
	client, err := ssh.Dial("tcp", s.Address, &ssh.ClientConfig{User: s.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(s.Key)},
		HostKeyAlgorithms: []string{ssh.CertAlgoED25519v01}, HostKeyCallback: checker.CheckHostKey, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
}

// The user's own tools reach it, as the benchmarks need.
func TestOpenSSHServesItsOwnClient(t *testing.T) {
	t.Parallel()
	s := sftptest.StartOpenSSH(t, sftptest.Options{})
	s.Put("one.edi", "UNB'")
	cmd := exec.CommandContext(t.Context(), "sftp", s.Command("-q", "-b", "-")...)
	cmd.Stdin = strings.NewReader("rename one.edi two.edi\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("sftp: %v\n%s", err, out)
	}
	if _, ok := s.Read("two.edi"); !ok {
		t.Errorf("there is %q", s.Names("."))
	}
}
