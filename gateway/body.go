package gateway

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// body reads a request's body under deadlines: each read must bring something within idle, and all of it must be there
// before the end. It counts, and remembers the transport's error, so that a body that stopped short is never taken for a
// message that is merely malformed.
type body struct {
	from     io.Reader
	control  *http.ResponseController
	idle     time.Duration
	end      time.Time
	deadline time.Time
	count    int64
	err      error
}

func newBody(w http.ResponseWriter, r *http.Request, limit int64, idle, total time.Duration) *body {
	return &body{from: http.MaxBytesReader(w, r.Body, limit), control: http.NewResponseController(w), idle: idle,
		end: time.Now().Add(total)}
}

func (b *body) Read(p []byte) (int, error) {
	b.extend()
	n, err := b.from.Read(p)
	b.count += int64(n)
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// extend moves the connection's deadline; not at every read, since it is a system's timer, so a read may take half as long
// again as idle.
func (b *body) extend() {
	now := time.Now()
	if b.deadline.Sub(now) >= b.idle || b.deadline.Equal(b.end) {
		return
	}
	b.deadline = now.Add(b.idle + b.idle/2)
	if b.deadline.After(b.end) {
		b.deadline = b.end
	}
	_ = b.control.SetReadDeadline(b.deadline) // a writer without deadlines, as in tests, has none to extend
}

// tooLarge reports whether the body went over its limit.
func (b *body) tooLarge() bool {
	var limit *http.MaxBytesError
	return errors.As(b.err, &limit)
}

// drain reads what is left, up to limit octets, so that the partner, who may only read after writing, gets its answer.
func (b *body) drain(limit int64) {
	_, _ = io.CopyN(io.Discard, b, limit)
}
