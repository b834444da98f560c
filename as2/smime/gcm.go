package smime

import (
	"crypto/cipher"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
)

// errTag is a GCM tag that does not verify.
var errTag = errors.New("smime: wrong authentication tag")

// gcmOpener decrypts into a spool and knows in the end whether the tag verifies.
type gcmOpener struct {
	block cipher.Block
	first [blockSize]byte // J0
	hash  *ghash
}

func newGCMOpener(block cipher.Block, nonce []byte) (*gcmOpener, error) {
	if len(nonce) != nonceSize && len(nonce) != blockSize { // RFC 5084 §3.2 recommends 12 octets; PKI.js writes 16
		return nil, errTag
	}
	hash, err := newGHASH(block)
	if err != nil {
		return nil, err
	}
	return &gcmOpener{block: block, first: hash.firstCounter(nonce), hash: hash}, nil
}

// decrypt reads the ciphertext to its end.
func (o *gcmOpener) decrypt(dst io.Writer, src io.Reader) error {
	stream := newGCMStream(o.block, o.first)
	buf := make([]byte, minBuffer)
	for {
		n, err := readFull(src, buf)
		o.hash.write(buf[:n])
		stream.XORKeyStream(buf[:n], buf[:n])
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return fmt.Errorf("smime: spooling: %w", err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if len(buf) < ghashPiece {
			buf = make([]byte, ghashPiece)
		}
	}
}

// verify compares with the transmitted tag, which may be cut to 12 octets
// (RFC 5084 §3.2).
func (o *gcmOpener) verify(data, tag []byte) error {
	computed := o.hash.tag(o.block, o.first, data)
	if len(tag) < 12 || len(tag) > blockSize || subtle.ConstantTimeCompare(computed[:len(tag)], tag) != 1 {
		return errTag
	}
	return nil
}

// tailReader holds the last octets of a source back: the tag of GCM that stands behind the ciphertext.
type tailReader struct {
	from io.Reader
	size int
	buf  []byte // read, and not yet passed on; at least size octets until the end
	err  error
}

func (r *tailReader) Read(p []byte) (int, error) {
	for len(r.buf) <= r.size && r.err == nil {
		if cap(r.buf)-len(r.buf) < minBuffer {
			r.buf = append(make([]byte, 0, maxBuffer), r.buf...)
		}
		var n int
		n, r.err = r.from.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
	}
	n := copy(p, r.buf[:max(0, len(r.buf)-r.size)])
	r.buf = r.buf[n:]
	if n > 0 {
		return n, nil
	}
	return 0, r.err
}

// tail is what was held back, once Read has returned io.EOF.
func (r *tailReader) tail() []byte { return r.buf }
