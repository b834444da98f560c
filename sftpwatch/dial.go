package sftpwatch

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"firstcopy/partners"
)

// Server is what a server has shown of itself.
type Server struct {
	Address    string
	Version    string // its identification string (RFC 4253 §4.2)
	HostKey    string // type and fingerprint
	Algorithms ssh.NegotiatedAlgorithms
	Extensions []string // of those that are used
	TookDial   time.Duration
}

// dial logs in at the partner's server and opens SFTP, all under one deadline. At its end, or ctx's, the connection is closed,
// which is the only thing that frees every call of the libraries at once.
func dial(ctx context.Context, terms *partners.SFTP) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, terms.Timeouts.Connect.Duration())
	defer cancel()
	start := time.Now()
	l := newLink(terms)
	client, err := l.hop(ctx, &terms.Hop)
	if err != nil {
		l.end()
		return nil, err
	}
	stop := context.AfterFunc(ctx, l.close)
	err = l.open(client)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		l.end()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, dialFault(opening, l.server.Address, err)
	}
	_ = l.outer.SetDeadline(time.Time{})
	l.server.TookDial = time.Since(start)
	return l, nil
}

// hop logs in at one server, by way of those before it.
func (l *link) hop(ctx context.Context, h *partners.Hop) (*ssh.Client, error) {
	address := net.JoinHostPort(h.Host, strconv.Itoa(h.Port))
	conn, err := l.reach(ctx, h, address)
	if err != nil {
		return nil, err
	}
	pins, err := newPins(h)
	if err != nil {
		return nil, &Fault{Kind: KindSecret, Doing: "reading the agreement", Err: err}
	}
	secrets, err := readCredentials(&h.Auth)
	if err != nil {
		return nil, &Fault{Kind: KindSecret, Doing: "reading what to log in with", Err: err}
	}
	defer secrets.close()
	at := exchanging
	config := &ssh.ClientConfig{User: h.User, Auth: secrets.methods, ClientVersion: "SSH-2.0-firstcopy",
		HostKeyAlgorithms: pins.algorithms(h.Algorithms.HostKeys), BannerCallback: func(string) error { return nil },
		HostKeyCallback: func(name string, remote net.Addr, key ssh.PublicKey) error {
			l.server.HostKey = described(key)
			if err := pins.check(name, remote, key); err != nil {
				return err
			}
			at = loggingIn
			return nil
		}}
	config.KeyExchanges, config.Ciphers, config.MACs = offers(&h.Algorithms)
	stop := context.AfterFunc(ctx, l.close)
	client, err := handshake(conn, address, config)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if at == loggingIn {
			err = fmt.Errorf("%w (%s)", err, secrets.described(h.User))
		}
		return nil, dialFault(at, address, err)
	}
	l.server.Address, l.server.Version = address, string(client.ServerVersion())
	if told, ok := client.Conn.(ssh.AlgorithmsConnMetadata); ok {
		l.server.Algorithms = told.Algorithms()
	}
	l.hops = append(l.hops, client)
	return client, nil
}

// handshake contains the library's panics, which a hostile server may have found.
func handshake(conn net.Conn, address string, config *ssh.ClientConfig) (c *ssh.Client, err error) {
	defer contain(&err)
	connection, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		return nil, err
	}
	return ssh.NewClient(connection, channels, requests), nil
}

// reach opens the connection that SSH runs over. The outermost is the link's to close.
func (l *link) reach(ctx context.Context, h *partners.Hop, address string) (net.Conn, error) {
	if h.Route.Jump == nil {
		conn, err := dialRoute(ctx, h)
		if err != nil {
			return nil, dialFault(reaching, address, err)
		}
		if deadline, ok := ctx.Deadline(); ok {
			_ = conn.SetDeadline(deadline)
		}
		l.setOuter(conn)
		return l.outer, nil
	}
	jump, err := l.hop(ctx, h.Route.Jump)
	if err != nil {
		return nil, err
	}
	conn, err := jump.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, dialFault(reaching, address, err)
	}
	return conn, nil
}

// open starts the SFTP subsystem (RFC 4254 §6.5) behind a guard.
func (l *link) open(client *ssh.Client) (err error) {
	defer contain(&err)
	channel, requests, err := client.OpenChannel("session", nil)
	if err != nil {
		return err
	}
	go ssh.DiscardRequests(requests)
	go io.Copy(io.Discard, channel.Stderr())
	ok, err := channel.SendRequest("subsystem", true, ssh.Marshal(struct{ Name string }{"sftp"}))
	if err != nil {
		return err
	}
	if !ok {
		return errNoSubsystem
	}
	l.guard = &guard{from: channel, report: func(err error) { l.fail(faultOf("waiting for an answer", err)) }}
	packet := chunk
	if l.terms.Has(partners.QuirkSmallPackets) {
		packet = smallChunk
	}
	if l.sftp, err = sftp.NewClientPipe(l.guard, channel, sftp.MaxPacketChecked(packet), sftp.UseConcurrentReads(false)); err != nil {
		return err
	}
	for _, name := range []string{posixRename, fsync} {
		if _, ok := l.sftp.HasExtension(name); ok {
			l.server.Extensions = append(l.server.Extensions, name)
		}
	}
	return nil
}

// Extensions of OpenSSH that are used where a server has them.
const (
	posixRename = "posix-rename@openssh.com"
	fsync       = "fsync@openssh.com"
)

// weak names the algorithms in use that the library calls insecure, of those that the agreement allows.
func weak(in ssh.NegotiatedAlgorithms, h *partners.Hop) (found []string) {
	a := &h.Algorithms
	bad := ssh.InsecureAlgorithms()
	all := slices.Concat(bad.KeyExchanges, bad.Ciphers, bad.MACs, bad.HostKeys)
	for _, name := range []string{in.KeyExchange, in.HostKey, in.Read.Cipher, in.Read.MAC} {
		if slices.Contains(all, name) && slices.Contains(slices.Concat(a.KeyExchanges, a.Ciphers, a.MACs, a.HostKeys), name) {
			found = append(found, name)
		}
	}
	return found
}

// offers are the algorithms offered: the secure ones, the fastest first, and behind them what the agreement adds.
// ChaCha20-Poly1305 comes last of the ciphers: it alone needs the strict key exchange against Terrapin (CVE-2023-48795).
func offers(a *partners.Algorithms) (exchanges, ciphers, macs []string) {
	good := ssh.SupportedAlgorithms()
	ciphers = slices.DeleteFunc(good.Ciphers, func(c string) bool { return c == ssh.CipherChaCha20Poly1305 })
	ciphers = append(ciphers, ssh.CipherChaCha20Poly1305)
	add := func(list, more []string) []string {
		for _, name := range more {
			if !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
		return list
	}
	return add(good.KeyExchanges, a.KeyExchanges), add(ciphers, a.Ciphers), add(good.MACs, a.MACs)
}
