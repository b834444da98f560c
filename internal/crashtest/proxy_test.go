//go:build failpoint

package crashtest_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy stands between gateways and their database. It can lose the answer to a COMMIT: the transaction is then durable,
// and the gateway cannot know.
type proxy struct {
	listener net.Listener
	target   string
	wait     sync.WaitGroup

	mu    sync.Mutex
	open  map[net.Conn]bool
	left  int           // COMMITs of the ingest pool until the answer is lost; 0 for never
	fired chan struct{} // closed when it has been lost
}

// startProxy listens for the server that a connection string names, and returns the connection string through it.
func startProxy(tb testing.TB, database string) (*proxy, string) {
	tb.Helper()
	u, err := url.Parse(database)
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{target: u.Host, open: map[net.Conn]bool{}}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		tb.Fatal(err)
	}
	p.wait.Go(p.serve)
	tb.Cleanup(p.close)
	u.Host = p.listener.Addr().String()
	return p, u.String()
}

// lose has the answer to the n-th COMMIT of an ingest from now on lost; the channel is closed when that has happened.
func (p *proxy) lose(n int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.fired = n, make(chan struct{})
	return p.fired
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	for c := range p.open {
		c.Close()
	}
	p.mu.Unlock()
	p.wait.Wait()
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil { // the database is down
			client.Close()
			continue
		}
		p.wait.Go(func() { p.relay(client, server) })
	}
}

func (p *proxy) relay(client, server net.Conn) {
	p.note(client, server)
	defer p.forget(client, server)
	from := bufio.NewReader(client)
	ingest, err := relayStartup(server, from)
	if err != nil {
		return
	}
	p.wait.Go(func() {
		_, _ = io.Copy(server, from)
		server.Close()
	})
	p.answers(client, bufio.NewReaderSize(server, 32<<10), ingest)
}

func (p *proxy) note(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.open[c] = true
	}
}

func (p *proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		c.Close()
		delete(p.open, c)
	}
}

// relayStartup passes the first message on, the only one without a type, and tells by the application's name whether the
// connection is one of the ingest pool's.
func relayStartup(server io.Writer, client io.Reader) (ingest bool, err error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(client, head); err != nil {
		return false, err
	}
	body := make([]byte, min(max(binary.BigEndian.Uint32(head), 4), 10_000)-4) // 10,000 is the server's own limit
	if _, err := io.ReadFull(client, body); err != nil {
		return false, err
	}
	if _, err := server.Write(append(head, body...)); err != nil {
		return false, err
	}
	return bytes.Contains(body, []byte("application_name\x00firstcopy\x00")), nil
}

// answers passes the server's messages on (PostgreSQL protocol 3.0: a type, a length that counts itself, the content).
func (p *proxy) answers(client io.Writer, server *bufio.Reader, ingest bool) {
	to := bufio.NewWriterSize(client, 32<<10)
	for {
		head, err := server.Peek(5)
		if err != nil {
			return
		}
		size := 1 + int64(binary.BigEndian.Uint32(head[1:]))
		if ingest && head[0] == 'C' && size == int64(5+len(commandCommit)) {
			if all, err := server.Peek(int(size)); err != nil || string(all[5:]) == commandCommit && p.loses() {
				return
			}
		}
		if _, err := io.CopyN(to, server, size); err != nil {
			return
		}
		if server.Buffered() == 0 {
			if err := to.Flush(); err != nil {
				return
			}
		}
	}
}

// commandCommit is the content of the CommandComplete message after a COMMIT.
const commandCommit = "COMMIT\x00"

func (p *proxy) loses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		return false
	}
	if p.left--; p.left > 0 {
		return false
	}
	close(p.fired)
	return true
}
