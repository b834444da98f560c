package as2

import (
	"errors"
	"fmt"
	"io"
)

// errTooLarge travels through readers and writers up to Open.
var errTooLarge = errors.New("as2: size limit exceeded")

// limit bounds the body.
func (o *opener) limit(r io.Reader) io.Reader {
	if max := o.policy.maxBody(); max > 0 {
		return &limitedReader{r, max}
	}
	return r
}

// maxBody is how large a body may be, and what it expands to. Two base64 layers
// inflate a payload by 16/9, and the layers' own headers and certificates want
// some room. 0 is no limit.
func (p *Policy) maxBody() int64 {
	if p.MaxPayload <= 0 {
		return 0
	}
	const room = 1 << 20
	return 2*min(p.MaxPayload, 1<<61) + room
}

// limitedReader fails where io.LimitedReader would end, so that a message that
// is too large is never taken for a complete one.
type limitedReader struct {
	r    io.Reader
	left int64
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n - 1, errTooLarge
	}
	return n, err
}

// transport remembers why the body broke off, whatever the layers above make
// of it.
type transport struct {
	r   io.Reader
	err error
}

func (t *transport) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if err != nil && err != io.EOF {
		t.err = err
	}
	return n, err
}

// payloadWriter counts towards the limit and marks the writer's own errors.
type payloadWriter struct {
	w       io.Writer
	limited bool
	left    int64
	count   int64
}

func newPayloadWriter(w io.Writer, limit int64) *payloadWriter {
	return &payloadWriter{w: w, limited: limit > 0, left: limit}
}

func (w *payloadWriter) Write(p []byte) (int, error) {
	if w.limited {
		if w.left -= int64(len(p)); w.left < 0 {
			return 0, errTooLarge
		}
	}
	n, err := w.w.Write(p)
	w.count += int64(n)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}

// rereadable reports whether what is written can be read again.
func (w *payloadWriter) rereadable() bool {
	_, ok := w.w.(Payload)
	return ok
}

// section reads again what has been written from start on.
func (w *payloadWriter) section(start int64) io.Reader {
	return w.w.(Payload).Section(start, w.count)
}

type writeError struct{ err error }

func (e *writeError) Error() string { return fmt.Sprintf("as2: writing the payload: %v", e.err) }
func (e *writeError) Unwrap() error { return e.err }
