package sftpwatch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"firstcopy/partners"
)

// chunk is how much one READ asks for: every server gives that much (draft-ietf-secsh-filexfer-02 §3), and the library's own
// way of asking for more at once loses octets where a server answers with less.
const (
	chunk      = 32 << 10
	smallChunk = 4 << 10
)

// maxHandles bounds the open files: servers commonly allow a hundred.
const maxHandles = 64

// maxReads bounds the READs under way, and so the memory of a connection, to twice what the SSH channel's window holds.
const maxReads = 128

// link is a connection with an open SFTP session. Neither library knows deadlines; here every call has one, and when it
// passes the TCP connection is closed, which ends whatever else is under way on it. Safe for concurrent use.
type link struct {
	terms   *partners.SFTP
	server  Server
	outer   net.Conn // of TCP, under all hops
	hops    []*ssh.Client
	sftp    *sftp.Client
	guard   *guard
	handles chan struct{} // places for open files
	reads   chan struct{} // places for READs under way
	naming  chan struct{} // a place for the one call that asks for names
	calls   atomic.Int64  // under way
	used    atomic.Int64  // when the last call ended, Unix nanoseconds
	active  time.Time     // the keeper's: when somebody else last used it
	count   *counted

	mutex sync.Mutex
	cause error         // why it ended
	done  chan struct{} // closed with it
}

var errNoSubsystem = errors.New("the server has no SFTP subsystem for this user")

func newLink(terms *partners.SFTP) *link {
	handles := maxHandles
	if terms.Has(partners.QuirkOneHandle) {
		handles = 1
	}
	l := &link{terms: terms, handles: make(chan struct{}, handles), reads: make(chan struct{}, maxReads), done: make(chan struct{}),
		naming: make(chan struct{}, 1)}
	l.active = time.Now()
	l.used.Store(l.active.UnixNano())
	return l
}

// counted counts the octets of a connection.
type counted struct {
	net.Conn
	in, out atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.in.Add(int64(n))
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.out.Add(int64(n))
	return n, err
}

func (l *link) setOuter(conn net.Conn) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.count = &counted{Conn: conn}
	l.outer = l.count
	if l.cause != nil {
		conn.Close()
	}
}

// fail ends the link, for a reason; the first one counts. It never waits for the server.
func (l *link) fail(cause error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.cause != nil {
		return
	}
	l.cause = cause
	close(l.done)
	if l.outer != nil {
		l.outer.Close()
	}
}

var errClosed = &Fault{Kind: KindLost, Doing: "using the connection", Err: net.ErrClosed}

func (l *link) close() { l.fail(errClosed) }

// end waits until the libraries' goroutines are gone; the connection is closed, so they have nothing to wait for.
func (l *link) end() {
	l.close()
	_ = contained(func() error {
		if l.sftp != nil {
			l.sftp.Close()
		}
		for _, h := range slices.Backward(l.hops) {
			h.Close()
			_ = h.Wait()
		}
		return nil
	})
}

// ended is why the link has ended; nil while it lives.
func (l *link) ended() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.cause
}

// do makes one call of the library: with a deadline, ended by ctx, its panics contained, its error given a kind.
func (l *link) do(ctx context.Context, limit time.Duration, doing string, call func() error) error {
	if err := l.ended(); err != nil {
		return err
	}
	timer := time.AfterFunc(limit, func() {
		l.fail(&Fault{Kind: KindTimeout, Doing: doing, Err: fmt.Errorf("no answer within %s", limit)})
	})
	defer timer.Stop()
	stop := context.AfterFunc(ctx, func() { l.fail(faultOf(doing, context.Cause(ctx))) })
	defer stop()
	l.calls.Add(1)
	defer l.calls.Add(-1)
	err := contained(call)
	l.used.Store(time.Now().UnixNano())
	if err == nil {
		return nil
	}
	fault := faultOf(doing, err)
	switch kindOf(fault) {
	case KindLost, KindProtocol: // a server that has lost its place is not asked again
		l.fail(fault)
		return l.ended()
	}
	return fault
}

// request is do with the deadline of one request.
func (l *link) request(ctx context.Context, doing string, call func() error) error {
	return l.do(ctx, l.terms.Timeouts.Request.Duration(), doing, call)
}

func contained(call func() error) (err error) {
	defer contain(&err)
	return call()
}

// contain turns a panic into an error: a malformed answer must cost its own partner, not the process.
func contain(err *error) {
	if p := recover(); p != nil {
		*err = &Fault{Kind: KindProtocol, Doing: "reading an answer", Err: fmt.Errorf("the library panicked: %v\n%s", p, debug.Stack())}
	}
}

// list reads the folder, once, without a STAT for its entries.
func (l *link) list(ctx context.Context, folder string) (entries []os.FileInfo, err error) {
	if folder == "" {
		folder = "."
	}
	select {
	case l.naming <- struct{}{}: // or what is left over of the one would be taken from the other
		defer func() { <-l.naming }()
	case <-l.done:
		return nil, l.ended()
	case <-ctx.Done():
		return nil, faultOf("listing "+shown(folder), context.Cause(ctx))
	}
	l.guard.expect(l.terms.MaxEntries + 2) // . and ..
	defer l.guard.expectNoMore()
	err = l.do(ctx, l.terms.Timeouts.List.Duration(), "listing "+shown(folder), func() (err error) {
		entries, err = l.sftp.ReadDirContext(ctx, folder)
		return err
	})
	return entries, err
}

// stat asks for a file, not following a link at its end.
func (l *link) stat(ctx context.Context, path string) (v version, info os.FileInfo, err error) {
	err = l.request(ctx, "looking at "+shown(path), func() (err error) {
		info, err = l.sftp.Lstat(path)
		return err
	})
	if err == nil && info == nil { // what the library makes of some answers that are none
		err = &Fault{Kind: KindProtocol, Doing: "looking at " + shown(path), Err: errors.New("an answer without attributes")}
	}
	if err != nil {
		return version{}, nil, err
	}
	return version{info.Size(), info.ModTime().Unix()}, info, nil
}

func (l *link) remove(ctx context.Context, path string) error {
	return l.request(ctx, "deleting "+shown(path), func() error { return l.sftp.Remove(path) })
}

// ping is a request that servers count as life; many do not count SSH's own keepalive. A listing under way is life enough.
func (l *link) ping(ctx context.Context) error {
	select {
	case l.naming <- struct{}{}:
		defer func() { <-l.naming }()
	default:
		return nil
	}
	l.guard.expect(1)
	return l.request(ctx, "asking for a sign of life", func() error {
		_, err := l.sftp.RealPath(".")
		return err
	})
}

// open takes a place for a handle and opens a file; the place is given back by its close.
func (l *link) openFile(ctx context.Context, path string, flags int) (*remoteFile, error) {
	select {
	case l.handles <- struct{}{}:
	case <-l.done:
		return nil, l.ended()
	case <-ctx.Done():
		return nil, faultOf("opening "+shown(path), ctx.Err())
	}
	f := &remoteFile{link: l, path: path}
	err := l.request(ctx, "opening "+shown(path), func() (err error) {
		f.File, err = l.sftp.OpenFile(path, flags)
		return err
	})
	if err != nil {
		<-l.handles
		return nil, err
	}
	return f, nil
}

// remoteFile is an open file of the server.
type remoteFile struct {
	*sftp.File
	link *link
	path string
}

func (f *remoteFile) close(ctx context.Context) error {
	defer func() { <-f.link.handles }()
	return f.link.request(ctx, "closing "+shown(f.path), f.File.Close)
}
