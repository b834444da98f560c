package as2

import (
	"errors"
	"fmt"
	"io"
)

// errTooLarge travels through readers and writers up to Open.
var errTooLarge = errors.New("as2: size limit exceeded")

// limit bounds the body. Two base64 layers inflate a payload by 16/9, and the
// layers' own headers and certificates want some room.
func (o *opener) limit(r io.Reader) io.Reader {
	if o.policy.MaxPayload <= 0 {
		return r
	}
	const room = 1 << 20
	return &limitedReader{r, 2*min(o.policy.MaxPayload, 1<<61) + room}
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
}

func (w *payloadWriter) Write(p []byte) (int, error) {
	if w.limited {
		if w.left -= int64(len(p)); w.left < 0 {
			return 0, errTooLarge
		}
	}
	n, err := w.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}

type writeError struct{ err error }

func (e *writeError) Error() string { return fmt.Sprintf("as2: writing the payload: %v", e.err) }
func (e *writeError) Unwrap() error { return e.err }
