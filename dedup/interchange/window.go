package interchange

import (
	"crypto/sha256"
	"io"
)

const (
	windowSize = blockSize
	// lookahead is how far ahead a header may be looked for and into.
	lookahead = 8 << 10
)

// A window is the part of the payload in memory. It is always filled to the
// brim, so nothing that is found in it depends on how the reader cuts the
// payload. The octets that have passed go into the raw digest.
type window struct {
	r        io.Reader
	buf      []byte // windowSize octets
	pos, end int    // buf[pos:end] is to be read
	hashed   int    // buf[:hashed] is in raw; never beyond pos
	base     int64  // offset of buf[0] in the payload
	eof      bool
	err      error // what ended the payload, if not io.EOF
	raw      digest
}

func newWindow() window {
	return window{buf: make([]byte, windowSize), raw: digest{hash: sha256.New()}}
}

func (w *window) open(r io.Reader) {
	*w = window{r: r, buf: w.buf, raw: w.raw}
}

// need returns at least n octets, n at most windowSize, or all that are left.
// The slice is good until the next call of need.
func (w *window) need(n int) []byte {
	if w.end-w.pos < n && !w.eof {
		w.fill()
	}
	return w.buf[w.pos:w.end]
}

func (w *window) fill() {
	left := w.buf[w.pos:w.end]
	if w.pos > 0 {
		w.buf = w.raw.hand(w.buf[w.hashed:w.pos], w.buf)
	}
	w.end = copy(w.buf, left)
	w.base += int64(w.pos)
	w.pos, w.hashed = 0, 0
	for idle := 0; w.end < len(w.buf) && !w.eof; {
		n, err := w.r.Read(w.buf[w.end:])
		w.end += n
		switch {
		case err == io.EOF:
			w.eof = true
		case err != nil:
			w.eof, w.err = true, err
		case n > 0:
			idle = 0
		default:
			if idle++; idle == 100 { // as bufio does with a broken reader
				w.eof, w.err = true, io.ErrNoProgress
			}
		}
	}
}

// advance passes over n octets of the window.
func (w *window) advance(n int) { w.pos += n }

func (w *window) offset() int64 { return w.base + int64(w.pos) }

// cut ends the raw digest at the current offset and begins the next one.
func (w *window) cut() [sha256.Size]byte {
	from := w.hashed
	w.hashed = w.pos
	return w.raw.sum(w.buf[from:w.pos])
}

// drain passes over the rest of the payload.
func (w *window) drain() {
	for {
		b := w.need(1)
		if len(b) == 0 {
			return
		}
		w.advance(len(b))
	}
}
