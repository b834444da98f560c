package sftptest

import (
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

var errRefused = errors.New("refused")

// Scripted is an SFTP server that does what its script says.
type Scripted struct {
	Address string
	Files   *Tree

	tb       testing.TB
	listener net.Listener
	wait     sync.WaitGroup

	mu      sync.Mutex
	script  Script
	open    map[net.Conn]bool
	stopped bool
	counts  Counts
	changed chan struct{} // closed, and replaced, when counts change
}

// Counts are what has happened so far.
type Counts struct {
	Connections int
	Refused     int          // logins, by attempt
	Logins      int          // that succeeded
	Requests    map[Kind]int // of SFTP
	Wrong       []string     // what clients did wrong
	Handles     int          // open now, over all sessions
	MostHandles int          // at a time
	MostOpen    int          // connections at a time
}

// StartScripted starts a server, which is stopped when the test ends. The test fails if a client breaks the protocol.
func StartScripted(tb testing.TB, script Script) *Scripted {
	tb.Helper()
	s := &Scripted{tb: tb, Files: newTree(), script: script, open: map[net.Conn]bool{}, changed: make(chan struct{}),
		counts: Counts{Requests: map[Kind]int{}}}
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		tb.Fatalf("sftptest: %v", err)
	}
	s.Address = s.listener.Addr().String()
	key, host := NewKey(tb, ssh.KeyAlgoED25519, "partner"), NewKey(tb, ssh.KeyAlgoED25519, "host")
	s.wait.Go(func() { s.accept(key.PublicKey(), host) })
	tb.Cleanup(s.stop)
	return s
}

func (s *Scripted) stop() {
	s.listener.Close()
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.Disconnect()
	s.wait.Wait()
	for _, what := range s.Counts().Wrong {
		s.tb.Errorf("sftptest: the client sent %s", what)
	}
}

// Disconnect closes all connections.
func (s *Scripted) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		c.Close()
	}
}

// Change changes the script: for new connections, and for requests of those that are there.
func (s *Scripted) Change(change func(*Script)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.script)
}

func (s *Scripted) current() Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.script
}

func (s *Scripted) twists() []Twist { return s.current().Twists }

func (s *Scripted) extensions() []string {
	if s.current().NoExtensions {
		return nil
	}
	return []string{posixRename, "1", fsync, "1"}
}

// Counts returns what has happened so far.
func (s *Scripted) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.Requests, c.Wrong = map[Kind]int{}, slices.Clone(c.Wrong)
	for kind, n := range s.counts.Requests {
		c.Requests[kind] = n
	}
	return c
}

// Open is the number of connections there are.
func (s *Scripted) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// Await waits until the counts are as the test wants them.
func (s *Scripted) Await(what string, met func(Counts) bool) {
	s.tb.Helper()
	for late := time.After(patience); ; {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if met(s.Counts()) {
			return
		}
		select {
		case <-changed:
		case <-late:
			s.tb.Fatalf("sftptest: waited too long for: %s; so far %+v", what, s.Counts())
		}
	}
}

// count changes the counts.
func (s *Scripted) count(change func(*Counts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.counts)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Scripted) note(r *Request)   { s.count(func(c *Counts) { c.Requests[r.Kind]++ }) }
func (s *Scripted) wrong(what string) { s.count(func(c *Counts) { c.Wrong = append(c.Wrong, what) }) }

func (s *Scripted) countHandles(by int) {
	s.count(func(c *Counts) {
		c.Handles += by
		c.MostHandles = max(c.MostHandles, c.Handles)
	})
}

func (s *Scripted) forgetHandles(of *session) { s.countHandles(-len(of.handles)) }
