package demo

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// dropServer is the partner's SFTP server: OpenSSH's where it is installed, else one in this process.
type dropServer struct {
	address string
	user    string
	hostKey string // as a known_hosts line has it
	kind    string // for the reader
	close   func()
}

// startDropServer makes the keys of both sides and serves this machine's files to the partner's key.
func startDropServer(ctx context.Context, dir string) (*dropServer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	host, err := writeSSHKey(filepath.Join(dir, "host_key"))
	if err != nil {
		return nil, err
	}
	client, err := writeSSHKey(filepath.Join(dir, "client_key"))
	if err != nil {
		return nil, err
	}
	authorized := ssh.MarshalAuthorizedKey(client.PublicKey())
	if err := os.WriteFile(filepath.Join(dir, "authorized_keys"), authorized, 0o600); err != nil {
		return nil, err
	}
	s, err := startOpenSSH(ctx, dir, client, host.PublicKey())
	if err != nil {
		if s, err = serveInProcess(host, client.PublicKey()); err != nil {
			return nil, err
		}
	}
	s.hostKey = strings.TrimSpace(string(ssh.MarshalAuthorizedKey(host.PublicKey())))
	return s, nil
}

func writeSSHKey(path string) (ssh.Signer, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "firstcopy demo")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		return nil, err
	}
	return ssh.NewSignerFromSigner(private)
}

var sshdPlaces = []string{"/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd", "/opt/homebrew/sbin/sshd"}

// startOpenSSH starts the machine's sshd for the user who runs the demo, and tries to log in.
func startOpenSSH(ctx context.Context, dir string, client ssh.Signer, host ssh.PublicKey) (*dropServer, error) {
	program := ""
	for _, path := range sshdPlaces {
		if _, err := os.Stat(path); err == nil {
			program = path
			break
		}
	}
	me, err := user.Current()
	if program == "" || err != nil {
		return nil, errors.Join(errors.New("OpenSSH's server is not installed"), err)
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	config := filepath.Join(dir, "sshd_config")
	lines := []string{"ListenAddress 127.0.0.1", "Port " + port, "HostKey " + filepath.Join(dir, "host_key"),
		"AuthorizedKeysFile " + filepath.Join(dir, "authorized_keys"), "Subsystem sftp internal-sftp", "PidFile none", "StrictModes no",
		"UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin prohibit-password"}
	if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "-D", "-q", "-f", config)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	s := &dropServer{address: address, user: me.Username, kind: "OpenSSH", close: func() { _ = cmd.Process.Kill(); <-ended }}
	if err := s.await(ctx, client, host, ended); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// await waits until the server lets the partner in.
func (s *dropServer) await(ctx context.Context, client ssh.Signer, host ssh.PublicKey, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	config := &ssh.ClientConfig{User: s.user, Auth: []ssh.AuthMethod{ssh.PublicKeys(client)}, HostKeyCallback: ssh.FixedHostKey(host), Timeout: time.Second}
	for {
		c, err := ssh.Dial("tcp", s.address, config)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ended:
			return errors.New("sshd ended by itself")
		case <-ctx.Done():
			return fmt.Errorf("sshd lets nobody in: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// serveInProcess serves SFTP to one key.
func serveInProcess(host ssh.Signer, client ssh.PublicKey) (*dropServer, error) {
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(client.Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveConnection(conn, config)
		}
	}()
	return &dropServer{address: l.Addr().String(), user: "acme", kind: "in this process, since OpenSSH's server is not to be had", close: func() { l.Close() }}, nil
}

func serveConnection(conn net.Conn, config *ssh.ServerConfig) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		if offered.ChannelType() != "session" {
			_ = offered.Reject(ssh.UnknownChannelType, "sessions only")
			continue
		}
		channel, wanted, err := offered.Accept()
		if err != nil {
			return
		}
		go serveSession(channel, wanted)
	}
}

func serveSession(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	for r := range requests {
		fine := r.Type == "subsystem" && len(r.Payload) > 4 && string(r.Payload[4:]) == "sftp"
		_ = r.Reply(fine, nil)
		if !fine {
			continue
		}
		server, err := sftp.NewServer(channel)
		if err == nil {
			_ = server.Serve()
		}
		return
	}
}
