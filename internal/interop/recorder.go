package interop

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
)

// Recorder passes connections on to an HTTP server and keeps every octet of
// both directions, so that header fields can be looked at as they were spelled.
type Recorder struct {
	listener net.Listener
	target   string
	mu       sync.Mutex
	tapes    []*tape
	running  sync.WaitGroup
}

// tape is one connection's octets.
type tape struct {
	mu       sync.Mutex
	up, down bytes.Buffer
}

// Exchange is one recorded request with its response.
type Exchange struct {
	Query      string   // of the request's URL
	Header     []string // the request's header lines, folded ones joined, without those of the connection
	Body       []byte   // without transfer coding
	Status     int
	ReplyType  string // Content-Type
	ReplyBody  []byte
	RequestRaw []byte // header and body as sent
}

// Record starts a recorder in front of the server at a TCP address.
func Record(target string) (*Recorder, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	r := &Recorder{listener: listener, target: target}
	r.running.Go(r.accept)
	return r, nil
}

// Addr is the address to connect to.
func (r *Recorder) Addr() string { return r.listener.Addr().String() }

// Close stops taking connections.
func (r *Recorder) Close() error { return r.listener.Close() }

func (r *Recorder) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		t := &tape{}
		r.mu.Lock()
		r.tapes = append(r.tapes, t)
		r.mu.Unlock()
		go r.pass(conn, t)
	}
}

func (r *Recorder) pass(conn net.Conn, t *tape) {
	defer conn.Close()
	server, err := net.Dial("tcp", r.target)
	if err != nil {
		return
	}
	defer server.Close()
	var done sync.WaitGroup
	done.Go(func() {
		_, _ = io.Copy(server, io.TeeReader(conn, t.writer(&t.up))) // ends with either side
		_ = server.(*net.TCPConn).CloseWrite()
	})
	_, _ = io.Copy(conn, io.TeeReader(server, t.writer(&t.down)))
	_ = conn.Close()
	done.Wait()
}

func (t *tape) writer(b *bytes.Buffer) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		return b.Write(p)
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Exchanges are all complete ones so far, connection by connection.
func (r *Recorder) Exchanges() ([]Exchange, error) {
	r.mu.Lock()
	tapes := slices.Clone(r.tapes)
	r.mu.Unlock()
	var all []Exchange
	for _, t := range tapes {
		t.mu.Lock()
		up, down := bytes.Clone(t.up.Bytes()), bytes.Clone(t.down.Bytes())
		t.mu.Unlock()
		found, err := split(up, down)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// split cuts a connection into its exchanges.
func split(up, down []byte) ([]Exchange, error) {
	var found []Exchange
	replies := bufio.NewReader(bytes.NewReader(down))
	for len(up) > 0 {
		header, _, ok := bytes.Cut(up, []byte("\r\n\r\n"))
		if !ok {
			return found, nil // a request that broke off
		}
		source := bytes.NewReader(up)
		reader := bufio.NewReader(source)
		request, err := http.ReadRequest(reader)
		if err != nil {
			return nil, fmt.Errorf("reading a recorded request: %w", err)
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return found, nil // likewise
		}
		used := len(up) - source.Len() - reader.Buffered()
		x := Exchange{Query: request.URL.RawQuery, Header: fieldLines(header), Body: body, RequestRaw: up[:used]}
		if err := x.reply(replies, request); err != nil {
			return nil, err
		}
		found = append(found, x)
		up = up[used:]
	}
	return found, nil
}

func (x *Exchange) reply(replies *bufio.Reader, request *http.Request) error {
	for {
		response, err := http.ReadResponse(replies, request)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil // none came
		}
		if err != nil {
			return fmt.Errorf("reading a recorded response: %w", err)
		}
		if response.StatusCode == http.StatusContinue {
			continue
		}
		x.Status, x.ReplyType = response.StatusCode, response.Header.Get("Content-Type")
		if x.ReplyBody, err = io.ReadAll(response.Body); err != nil {
			return fmt.Errorf("reading a recorded response: %w", err)
		}
		return nil
	}
}

// connectionFields belong to the connection and not to the message.
var connectionFields = []string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Te", "Expect", "Accept", "Accept-Encoding", "Upgrade", "Keep-Alive"}

// fieldLines are the lines after the request line, folded ones joined as an
// HTTP server does.
func fieldLines(header []byte) []string {
	var lines []string
	for line := range strings.SplitSeq(string(header), "\r\n") {
		if len(lines) > 0 && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")) {
			lines[len(lines)-1] += " " + strings.TrimLeft(line, " \t")
			continue
		}
		lines = append(lines, line)
	}
	return slices.DeleteFunc(lines[1:], func(line string) bool {
		name, _, _ := strings.Cut(line, ":")
		return slices.Contains(connectionFields, textproto.CanonicalMIMEHeaderKey(name))
	})
}
