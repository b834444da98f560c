package sftpwatch

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"firstcopy/partners"
)

// Ways to a server: directly, through a SOCKS5 proxy (RFC 1928, 1929), or by HTTP CONNECT (RFC 9110 §9.3.6). A jump host is
// an SSH connection of its own and stands in dial.go. What a proxy says is read octet for octet and no further: what follows
// belongs to SSH.

// dialTCP reaches an address with keepalives, which find out within minutes that a peer is gone without a word.
func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 15 * time.Second, Count: 4}}
	return d.DialContext(ctx, "tcp", address)
}

// dialRoute opens the TCP connection of a hop that has no jump host before it. The deadline of ctx is on the connection.
func dialRoute(ctx context.Context, h *partners.Hop) (net.Conn, error) {
	target := net.JoinHostPort(h.Host, strconv.Itoa(h.Port))
	proxy, shake := h.Route.SOCKS5, socks5
	if h.Route.HTTPConnect != "" {
		proxy, shake = h.Route.HTTPConnect, httpConnect
	}
	if proxy == "" {
		return dialTCP(ctx, target)
	}
	conn, err := dialTCP(ctx, proxy)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	password := ""
	if h.Route.ProxyPasswordFile != "" {
		if password, err = readSecret(h.Route.ProxyPasswordFile); err != nil {
			conn.Close()
			return nil, &Fault{Kind: KindSecret, Doing: "reading the proxy's password", Err: err}
		}
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if err := shake(conn, h, h.Route.ProxyUser, password); err != nil {
		conn.Close()
		return nil, fmt.Errorf("proxy %s: %w", proxy, err)
	}
	return conn, nil
}

// SOCKS5 (RFC 1928 §3 to §6): version, methods, address types, replies.
const (
	socksVersion  = 5
	socksNoAuth   = 0
	socksPassword = 2
	socksConnect  = 1
	socksIPv4     = 1
	socksName     = 3
	socksIPv6     = 4
)

var socksReplies = [...]string{"", "general failure", "not allowed", "network unreachable", "host unreachable", "connection refused",
	"time to live expired", "command not supported", "address type not supported"}

func socks5(conn net.Conn, h *partners.Hop, user, password string) error {
	methods := []byte{socksVersion, 1, socksNoAuth}
	if user != "" {
		methods = []byte{socksVersion, 2, socksNoAuth, socksPassword}
	}
	if _, err := conn.Write(methods); err != nil {
		return err
	}
	var chosen [2]byte
	if _, err := io.ReadFull(conn, chosen[:]); err != nil {
		return err
	}
	switch {
	case chosen[0] != socksVersion:
		return errors.New("it does not speak SOCKS5")
	case chosen[1] == socksPassword && user != "":
		if err := socksLogin(conn, user, password); err != nil {
			return err
		}
	case chosen[1] != socksNoAuth:
		return errors.New("it accepts none of our ways to log in")
	}
	if _, err := conn.Write(socksRequest(h)); err != nil {
		return err
	}
	return socksReply(conn)
}

// socksLogin is RFC 1929.
func socksLogin(conn net.Conn, user, password string) error {
	if len(password) > 255 {
		return errors.New("a SOCKS5 password has 255 octets at most")
	}
	request := append([]byte{1, byte(len(user))}, user...)
	request = append(append(request, byte(len(password))), password...)
	if _, err := conn.Write(request); err != nil {
		return err
	}
	var answer [2]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return err
	}
	if answer[1] != 0 {
		return errors.New("it refuses our user name or password")
	}
	return nil
}

// socksRequest asks for the host by name, which the proxy resolves, unless it is an address.
func socksRequest(h *partners.Hop) []byte {
	request := []byte{socksVersion, socksConnect, 0}
	if address, err := netip.ParseAddr(h.Host); err == nil {
		kind := byte(socksIPv4)
		if address.Is6() {
			kind = socksIPv6
		}
		request = append(append(request, kind), address.AsSlice()...)
	} else {
		name := h.Host[:min(len(h.Host), 255)]
		request = append(append(request, socksName, byte(len(name))), name...)
	}
	return binary.BigEndian.AppendUint16(request, uint16(h.Port))
}

func socksReply(conn net.Conn) error {
	var head [5]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	if code := int(head[1]); code != 0 {
		if code < len(socksReplies) {
			return errors.New(socksReplies[code])
		}
		return fmt.Errorf("reply %d", code)
	}
	left := 0 // of the bound address and port; one octet of it is read
	switch head[3] {
	case socksIPv4:
		left = 3 + 2
	case socksName:
		left = int(head[4]) + 2
	case socksIPv6:
		left = 15 + 2
	default:
		return errors.New("a reply with an unknown address type")
	}
	_, err := io.CopyN(io.Discard, conn, int64(left))
	return err
}

// maxConnectAnswer bounds the header of a proxy's answer.
const maxConnectAnswer = 16 << 10

func httpConnect(conn net.Conn, h *partners.Hop, user, password string) error {
	target := net.JoinHostPort(h.Host, strconv.Itoa(h.Port))
	request := "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n"
	if user != "" {
		request += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return err
	}
	answer := bufio.NewReaderSize(octetwise{io.LimitReader(conn, maxConnectAnswer)}, 16)
	status, err := readLine(answer)
	if err != nil {
		return err
	}
	version, rest, _ := strings.Cut(status, " ")
	if !strings.HasPrefix(version, "HTTP/1.") || !strings.HasPrefix(rest, "2") {
		return fmt.Errorf("it answers %q", status)
	}
	for {
		line, err := readLine(answer)
		if err != nil || line == "" {
			return err
		}
	}
}

// octetwise reads one octet at a time, so that none of what follows the proxy's answer is taken.
type octetwise struct{ io.Reader }

func (o octetwise) Read(p []byte) (int, error) { return o.Reader.Read(p[:min(len(p), 1)]) }

func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
