package as2client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"firstcopy/mdn"
)

// maxReceived bounds the receipts a listener keeps.
const maxReceived = 100_000

// ReceiptListener is an HTTP server that collects asynchronous receipts
// (RFC 4130 §7.3) and sorts them by the message they are for.
type ReceiptListener struct {
	listener net.Listener
	server   http.Server
	served   chan struct{} // closed once the server has ended

	mu      sync.Mutex
	failing int           // requests still to be answered 500
	changed chan struct{} // closed and replaced when a receipt arrives
	all     []Received
	held    map[string][]Received // by Original-Message-ID, not yet waited for
}

// Received is one request that reached a [ReceiptListener].
type Received struct {
	Header  http.Header // names in Go's canonical spelling
	Raw     []byte      // the body's octets
	Receipt mdn.Parsed  // empty if it could not be read
	Status  int         // what was answered
}

// ListenReceipts starts a listener on a TCP address, such as "127.0.0.1:0".
func ListenReceipts(addr string) (*ReceiptListener, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening for receipts: %w", err)
	}
	l := &ReceiptListener{listener: listener, served: make(chan struct{}), changed: make(chan struct{}),
		held: map[string][]Received{}}
	l.server = http.Server{
		Handler: http.HandlerFunc(l.serve), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // strangers' faults are not the sender's
	}
	go func() {
		defer close(l.served)
		_ = l.server.Serve(listener) // ends with Close
	}()
	return l, nil
}

// Addr is the address listened on.
func (l *ReceiptListener) Addr() net.Addr { return l.listener.Addr() }

// URL is the address as a Receipt-Delivery-Option for senders on this machine.
// A listener on all interfaces has none: then it is "".
func (l *ReceiptListener) URL() string {
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return ""
	}
	return "http://" + l.Addr().String() + "/"
}

// FailFirst has the next n receipts answered 500, as a partner in trouble would;
// they are kept for [ReceiptListener.All] and otherwise lost.
func (l *ReceiptListener) FailFirst(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failing = n
}

// All returns every request so far in order of arrival, refused ones included.
func (l *ReceiptListener) All() []Received {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// Wait waits for the receipt of a message, which may have come already, and
// judges it as Post does. If several came, each Wait returns the next one. The
// error wraps [ErrNoReceipt] and the context's.
func (l *ReceiptListener) Wait(ctx context.Context, p Prepared) (Answer, error) {
	for {
		r, ok, changed := l.take(p.MessageID)
		if ok {
			return p.judgeLate(r), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Answer{}, fmt.Errorf("%w: waited for %s at %s (%d came for other messages): %w",
				ErrNoReceipt, p.MessageID, l.Addr(), l.others(), ctx.Err())
		}
	}
}

// Close stops listening and drops connections under way.
func (l *ReceiptListener) Close() error {
	err := l.server.Close()
	<-l.served
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("closing the receipt listener: %w", err)
	}
	return nil
}

func (l *ReceiptListener) take(id string) (r Received, ok bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.held[id]
	if len(queue) == 0 {
		return Received{}, false, l.changed
	}
	if len(queue) == 1 {
		delete(l.held, id)
	} else {
		l.held[id] = queue[1:]
	}
	return queue[0], true, nil
}

func (l *ReceiptListener) others() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.held)
}

func (l *ReceiptListener) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAnswer))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(l.keep(r.Header.Clone(), body))
}

// keep takes a receipt in and returns the status to answer.
func (l *ReceiptListener) keep(header http.Header, body []byte) int {
	parsed, err := mdn.Parse(header.Get("Content-Type"), body)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) >= maxReceived {
		return http.StatusServiceUnavailable
	}
	r := Received{Header: header, Raw: body, Receipt: parsed, Status: http.StatusOK}
	switch {
	case l.failing > 0:
		l.failing--
		r.Status = http.StatusInternalServerError
	case err != nil:
		r.Status = http.StatusBadRequest
	default:
		l.held[parsed.OriginalMessageID] = append(l.held[parsed.OriginalMessageID], r)
	}
	l.all = append(l.all, r)
	close(l.changed)
	l.changed = make(chan struct{})
	return r.Status
}
