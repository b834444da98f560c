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
	nonce []byte
	hash  *ghash
}

func newGCMOpener(block cipher.Block, nonce []byte) (*gcmOpener, error) {
	if len(nonce) != nonceSize { // RFC 5084 §3.2 recommends no other
		return nil, errTag
	}
	hash, err := newGHASH(block)
	return &gcmOpener{block: block, nonce: nonce, hash: hash}, err
}

// decrypt reads the ciphertext to its end.
func (o *gcmOpener) decrypt(dst io.Writer, src io.Reader) error {
	stream := gcmStream(o.block, o.nonce)
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
	computed := o.hash.tag(o.block, o.nonce, data)
	if len(tag) < 12 || len(tag) > blockSize || subtle.ConstantTimeCompare(computed[:len(tag)], tag) != 1 {
		return errTag
	}
	return nil
}
