package sftpwatch

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"firstcopy/internal/sftptest"
	"firstcopy/partners"
)

// listed proves that a dialled server serves files.
func listed(t *testing.T, terms *partners.SFTP, folder string) {
	t.Helper()
	l := dialled(t, terms)
	entries, err := l.list(t.Context(), folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	server := sftptest.StartOpenSSH(t, sftptest.Options{})
	server.Mkdir("in")
	server.Put("in/a", "x")
	t.Run("jump", func(t *testing.T) {
		t.Parallel()
		gate := sftptest.StartOpenSSH(t, sftptest.Options{Settings: []string{"AllowTcpForwarding yes"}})
		terms := openSSHTerms(t, server)
		terms.Route.Jump = &openSSHTerms(t, gate).Hop
		listed(t, terms, server.Path("in"))
		terms.Route.Jump.HostKeys = []string{string(ssh.MarshalAuthorizedKey(sftptest.NewKey(t, ssh.KeyAlgoED25519, "another").PublicKey()))}
		if _, err := dial(t.Context(), terms); kindOf(err) != KindHostKey {
			t.Errorf("another jump host: %v", err)
		}
	})
	for name, refuse := range map[string]bool{"socks5": false, "socks5 refused": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			terms := openSSHTerms(t, server)
			terms.Route.SOCKS5 = proxyFor(t, func(c net.Conn) (string, error) { return socksServer(c, "hub", "secret", refuse) })
			terms.Route.ProxyUser, terms.Route.ProxyPasswordFile = "hub", secretFile(t, "secret\n")
			if refuse {
				if _, err := dial(t.Context(), terms); kindOf(err) != KindReach || !strings.Contains(err.Error(), "not allowed") {
					t.Errorf("got %v", err)
				}
				return
			}
			listed(t, terms, server.Path("in"))
		})
	}
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		terms := openSSHTerms(t, server)
		terms.Route.HTTPConnect = proxyFor(t, func(c net.Conn) (string, error) { return connectServer(c, "Basic aHViOnNlY3JldA==") })
		terms.Route.ProxyUser, terms.Route.ProxyPasswordFile = "hub", secretFile(t, "secret")
		listed(t, terms, server.Path("in"))
		terms.Route.ProxyUser = "other"
		if _, err := dial(t.Context(), terms); kindOf(err) != KindReach || !strings.Contains(err.Error(), "407") {
			t.Errorf("another user: %v", err)
		}
	})
}

func secretFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// proxyFor serves connections: shake tells where to, and then octets pass both ways.
func proxyFor(t *testing.T, shake func(net.Conn) (string, error)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				target, err := shake(c)
				if err != nil {
					return
				}
				to, err := net.Dial("tcp", target)
				if err != nil {
					return
				}
				defer to.Close()
				go func() { _, _ = io.Copy(to, c); to.Close() }()
				_, _ = io.Copy(c, to)
			}()
		}
	}()
	return l.Addr().String()
}

// socksServer is RFC 1928 and 1929 from the other side, for addresses of IPv4.
func socksServer(c net.Conn, user, password string, refuse bool) (string, error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(c, head); err != nil {
		return "", err
	}
	if _, err := io.ReadFull(c, make([]byte, head[1])); err != nil {
		return "", err
	}
	_, _ = c.Write([]byte{5, 2})
	login := make([]byte, 3+len(user)+len(password))
	if _, err := io.ReadFull(c, login); err != nil || string(login) != fmt.Sprintf("\x01%c%s%c%s", len(user), user, len(password), password) {
		_, _ = c.Write([]byte{1, 1})
		return "", io.EOF
	}
	_, _ = c.Write([]byte{1, 0})
	request := make([]byte, 10)
	if _, err := io.ReadFull(c, request); err != nil {
		return "", err
	}
	if refuse {
		_, _ = c.Write([]byte{5, 2, 0, 1, 0, 0, 0, 0, 0, 0})
		return "", io.EOF
	}
	_, _ = c.Write(append([]byte{5, 0, 0, 3, 4}, "name\x00\x01"...))
	return fmt.Sprintf("%d.%d.%d.%d:%d", request[4], request[5], request[6], request[7], int(request[8])<<8|int(request[9])), nil
}

func connectServer(c net.Conn, authorization string) (string, error) {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return "", err
	}
	if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != authorization {
		_, _ = io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
		return "", io.EOF
	}
	_, err = io.WriteString(c, "HTTP/1.1 200 OK\r\nVia: a proxy\r\n\r\n")
	return r.Host, err
}

// Keys come from files, with or without a passphrase, and from an agent.
func TestKeys(t *testing.T) {
	t.Parallel()
	server := sftptest.StartOpenSSH(t, sftptest.Options{})
	server.Mkdir("in")
	server.Put("in/a", "x")
	private, err := ssh.ParseRawPrivateKey(server.Key.PEM)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("passphrase", func(t *testing.T) {
		t.Parallel()
		block, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("open sesame"))
		if err != nil {
			t.Fatal(err)
		}
		terms := openSSHTerms(t, server)
		terms.Auth.Keys = []partners.AuthKey{{File: secretFile(t, string(pem.EncodeToMemory(block))), PassphraseFile: secretFile(t, "open sesame\r\n")}}
		listed(t, terms, server.Path("in"))
		terms.Auth.Keys[0].PassphraseFile = secretFile(t, "wrong")
		if _, err := dial(t.Context(), terms); kindOf(err) != KindSecret || strings.Contains(err.Error(), "sesame") {
			t.Errorf("a wrong passphrase: %v", err)
		}
	})
	t.Run("agent", func(t *testing.T) {
		t.Parallel()
		ring := agent.NewKeyring()
		if err := ring.Add(agent.AddedKey{PrivateKey: private}); err != nil {
			t.Fatal(err)
		}
		dir, err := os.MkdirTemp("", "agent") // a socket's path is short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		socket := filepath.Join(dir, "s")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() { defer c.Close(); _ = agent.ServeAgent(ring, c) }()
			}
		}()
		terms := openSSHTerms(t, server)
		terms.Auth = partners.Auth{AgentSocket: socket}
		listed(t, terms, server.Path("in"))
	})
}
