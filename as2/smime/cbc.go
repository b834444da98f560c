package smime

import (
	"crypto/cipher"
	"crypto/subtle"
	"io"
)

// cbcReader decrypts as it is read. The last block is kept back until it is
// known to be the last, since the padding stands in it (RFC 5652 §6.3).
type cbcReader struct {
	src     io.Reader
	mode    cipher.BlockMode
	buf     []byte // one block kept back, then what is decrypted
	out     []byte // decrypted and not yet read
	kept    bool   // buf begins with a block
	damaged bool   // the padding is wrong
	err     error
}

func newCBCReader(src io.Reader, block cipher.Block, iv []byte) *cbcReader {
	return &cbcReader{src: src, mode: cipher.NewCBCDecrypter(block, iv)}
}

func (r *cbcReader) Read(p []byte) (int, error) {
	for len(r.out) == 0 && r.err == nil {
		r.fill()
	}
	if len(r.out) == 0 {
		return 0, r.err
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

func (r *cbcReader) fill() {
	size := r.mode.BlockSize()
	switch {
	case r.buf == nil:
		r.buf = make([]byte, size+minBuffer)
	case len(r.buf) < maxBuffer: // it was filled
		buf := make([]byte, size+2*(len(r.buf)-size))
		copy(buf, r.buf[len(r.buf)-size:])
		r.buf = buf
	default:
		copy(r.buf, r.buf[len(r.buf)-size:])
	}
	n, err := readFull(r.src, r.buf[size:])
	if err != nil && err != io.EOF {
		r.err = err
		return
	}
	if n%size != 0 {
		r.err = ErrDecrypt
		return
	}
	r.mode.CryptBlocks(r.buf[size:size+n], r.buf[size:size+n])
	from := size
	if r.kept {
		from = 0
	}
	r.kept = true
	if n == len(r.buf)-size {
		r.out = r.buf[from:n]
		return
	}
	r.last(r.buf[from : size+n])
}

// last releases the end of the content. Wrong padding is remembered instead of
// reported: what follows must not depend on it, see [Envelope.Damaged].
func (r *cbcReader) last(b []byte) {
	r.err = io.EOF
	if len(b) == 0 {
		r.err = ErrDecrypt
		return
	}
	pad := paddingLength(b[len(b)-r.mode.BlockSize():])
	r.damaged = pad == 0
	r.out = b[:len(b)-pad]
}

// paddingLength checks RFC 5652 §6.3 padding in constant time and returns its
// length, 0 if it is wrong.
func paddingLength(block []byte) int {
	size := len(block)
	pad := int(block[size-1])
	good := subtle.ConstantTimeLessOrEq(pad, size)
	for i, b := range block {
		inside := subtle.ConstantTimeLessOrEq(size-i, pad)
		good &= subtle.ConstantTimeSelect(inside, subtle.ConstantTimeByteEq(b, byte(pad)), 1)
	}
	return subtle.ConstantTimeSelect(good, pad, 0)
}
