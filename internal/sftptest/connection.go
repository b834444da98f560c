package sftptest

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// accept takes connections until the server stops.
func (s *Scripted) accept(partner ssh.PublicKey, host ssh.Signer) {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		script := s.current()
		if script.Auth == nil {
			script.Auth = []Auth{ByKey(partner)}
		}
		if script.HostKeys == nil {
			script.HostKeys = []ssh.Signer{host}
		}
		if !s.enter(conn) {
			conn.Close()
			return
		}
		s.wait.Go(func() {
			defer s.leave(conn)
			s.converse(conn, script)
		})
	}
}

func (s *Scripted) enter(conn net.Conn) bool {
	s.mu.Lock()
	stopped := s.stopped
	if !stopped {
		s.open[conn] = true
	}
	open := len(s.open)
	s.mu.Unlock()
	s.count(func(c *Counts) { c.Connections, c.MostOpen = c.Connections+1, max(c.MostOpen, open) })
	return !stopped
}

func (s *Scripted) leave(conn net.Conn) {
	conn.Close()
	s.mu.Lock()
	delete(s.open, conn)
	s.mu.Unlock()
}

// reach does what the script wants at a point; false means that this is the connection's end.
func (script *Script) reach(p Point, conn net.Conn) bool {
	switch p {
	case script.Mute:
		_, _ = io.Copy(io.Discard, conn) // until the client, or the test, has had enough
		return false
	case script.HangUp:
		return false
	}
	return true
}

// converse is a connection's life up to its sessions.
func (s *Scripted) converse(conn net.Conn, script Script) {
	if !script.reach(AtConnect, conn) {
		return
	}
	if _, err := io.WriteString(conn, script.Lines); err != nil {
		return
	}
	line := &line{Conn: conn, pause: script.Trickle}
	if script.Mute == InHandshake || script.HangUp == InHandshake {
		_, _ = io.WriteString(conn, "SSH-2.0-firstcopy\r\n")
		script.reach(InHandshake, conn)
		return
	}
	server, channels, requests, err := ssh.NewServerConn(line, s.serverConfig(&script, conn))
	if err != nil {
		return
	}
	s.count(func(c *Counts) { c.Logins++ })
	defer server.Close()
	s.wait.Go(func() { ssh.DiscardRequests(requests) })
	var sessions sync.WaitGroup
	defer sessions.Wait()
	for offered := range channels {
		// Not even the channel's opening is answered: the connection goes on, or its packets would not be read.
		if script.Mute == AtChannel {
			continue
		}
		if script.HangUp == AtChannel {
			return
		}
		if offered.ChannelType() != "session" {
			_ = offered.Reject(ssh.UnknownChannelType, "only sessions are served")
			continue
		}
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		sessions.Go(func() {
			if s.subsystem(channel, requests, &script) {
				conn.Close()
			}
		})
	}
}

func (s *Scripted) serverConfig(script *Script, conn net.Conn) *ssh.ServerConfig {
	config := &ssh.ServerConfig{Config: script.Algorithms, MaxAuthTries: 20}
	for _, key := range script.HostKeys {
		config.AddHostKey(key)
	}
	if script.Banner != "" {
		config.BannerCallback = func(ssh.ConnMetadata) string { return script.Banner }
	}
	var first, then ssh.ServerAuthCallbacks
	for _, auth := range script.Auth {
		auth(&first)
	}
	for _, auth := range script.Then {
		auth(&then)
	}
	if script.Then != nil {
		first = s.partial(first, then)
	}
	config.PasswordCallback, config.PublicKeyCallback = first.PasswordCallback, first.PublicKeyCallback
	config.KeyboardInteractiveCallback = first.KeyboardInteractiveCallback
	config.AuthLogCallback = func(_ ssh.ConnMetadata, method string, err error) {
		var partial *ssh.PartialSuccessError
		if err != nil && method != "none" && !errors.As(err, &partial) {
			s.count(func(c *Counts) { c.Refused++ })
		}
	}
	if script.Mute == AtLogin || script.HangUp == AtLogin {
		config.PreAuthConnCallback = func(ssh.ServerPreAuthConn) {
			script.reach(AtLogin, conn)
			conn.Close()
		}
	}
	return config
}

// partial has each success of the first step lead to the second.
func (s *Scripted) partial(first, then ssh.ServerAuthCallbacks) ssh.ServerAuthCallbacks {
	next := func(permissions *ssh.Permissions, err error) (*ssh.Permissions, error) {
		if err != nil {
			return permissions, err
		}
		return nil, &ssh.PartialSuccessError{Next: then}
	}
	var both ssh.ServerAuthCallbacks
	if check := first.PasswordCallback; check != nil {
		both.PasswordCallback = func(c ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) { return next(check(c, password)) }
	}
	if check := first.PublicKeyCallback; check != nil {
		both.PublicKeyCallback = func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) { return next(check(c, key)) }
	}
	if check := first.KeyboardInteractiveCallback; check != nil {
		both.KeyboardInteractiveCallback = func(c ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			return next(check(c, ask))
		}
	}
	return both
}

// subsystem waits for SFTP to be asked for, and serves it. It reports whether the connection is to be closed.
func (s *Scripted) subsystem(channel ssh.Channel, requests <-chan *ssh.Request, script *Script) (hangUp bool) {
	defer channel.Close()
	for request := range requests {
		if request.Type != "subsystem" || string(request.Payload) != "\x00\x00\x00\x04sftp" {
			s.wrong("a session request of type " + request.Type) // many servers know SFTP and nothing else
			_ = request.Reply(false, nil)
			continue
		}
		if script.Mute == AtSubsystem {
			continue
		}
		if script.HangUp == AtSubsystem {
			return true
		}
		if err := request.Reply(true, nil); err != nil {
			return false
		}
		s.wait.Go(func() { ssh.DiscardRequests(requests) })
		return s.sftp(channel, script)
	}
	return false
}

func (s *Scripted) sftp(channel ssh.Channel, script *Script) (hangUp bool) {
	if _, err := io.WriteString(channel, script.Noise); err != nil || script.HangUp == AtFirstRequest {
		return true
	}
	if script.Mute == AtFirstRequest {
		_, _ = io.Copy(io.Discard, channel)
		return false
	}
	session := &session{server: s, channel: channel, handles: map[string]*handle{}}
	return session.serve()
}

// line makes a connection slow in the one direction that matters.
type line struct {
	net.Conn
	pause time.Duration
}

func (l *line) Write(p []byte) (int, error) {
	if l.pause == 0 {
		return l.Conn.Write(p)
	}
	written := 0
	for written < len(p) {
		<-time.After(l.pause)
		n, err := l.Conn.Write(p[written:min(written+32, len(p))])
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}
