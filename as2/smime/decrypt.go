package smime

import (
	"crypto/cipher"
	"crypto/subtle"
	"fmt"
	"io"
)

// maxAttempts bounds the private-key operations spent on one message, which
// anyone can post with as many recipients as fit.
const maxAttempts = 16

// chunk is how much plaintext is handed to the writer at a time.
const chunk = 32 << 10

// Decrypt opens a binary CMS EnvelopedData or AuthEnvelopedData from src with
// whichever key fits and writes its content to dst. It returns the name of the
// content cipher, such as "aes-256-cbc", even on failure if it could be read.
//
// Recipients are found by issuer and serial or by key identifier. If none
// means one of our keys, every pair is tried, since issuer names get
// re-encoded on the way; the result then has to look like a MIME entity,
// because without a matching identifier one wrong key in 256 passes for right.
//
// Every refusal is [ErrDecrypt]; a failing src or dst is reported as itself.
func Decrypt(dst io.Writer, src io.Reader, keys []Key) (cipherName string, err error) {
	b, err := io.ReadAll(src)
	if err != nil {
		return "", fmt.Errorf("smime: reading the envelope: %w", err)
	}
	env, err := parseEnvelope(b)
	if err != nil {
		return env.suite.name, ErrDecrypt
	}
	for _, a := range env.attempts(keys) {
		contentKey, ok := a.recipient.unwrap(a.key, env.suite.key)
		if !ok {
			continue
		}
		opened, err := env.open(dst, contentKey, a.trial)
		if opened || err != nil {
			return env.suite.name, err
		}
	}
	return env.suite.name, ErrDecrypt
}

// attempt is one pair of a recipient and a key of ours.
type attempt struct {
	recipient recipient
	key       Key
	trial     bool // the identifiers do not match
}

// attempts lists the pairs worth trying: those whose identifiers match or,
// failing that, all of them, equal serial numbers first.
func (env *envelope) attempts(keys []Key) []attempt {
	var named, serial, other []attempt
	for _, r := range env.recipients {
		for _, k := range keys {
			switch {
			case len(named)+len(serial) >= maxAttempts:
			case r.id.names(k.Certificate):
				named = append(named, attempt{r, k, false})
			case r.id.sameSerial(k.Certificate):
				serial = append(serial, attempt{r, k, true})
			case len(other) < maxAttempts:
				other = append(other, attempt{r, k, true})
			}
		}
	}
	list := named
	if len(list) == 0 {
		list = append(serial, other...)
	}
	return list[:min(len(list), maxAttempts)]
}

// open decrypts with one content key. It reports false if the key is not the
// right one; err is the writer's.
func (env *envelope) open(dst io.Writer, key []byte, trial bool) (bool, error) {
	block, err := env.suite.block(key)
	if err != nil {
		return false, nil
	}
	if env.suite.gcm {
		return env.openGCM(dst, block)
	}
	return env.openCBC(dst, block, trial)
}

// openGCM releases no plaintext before the tag is verified (RFC 5083 §3).
func (env *envelope) openGCM(dst io.Writer, block cipher.Block) (bool, error) {
	aead, err := env.gcm(block)
	if err != nil {
		return false, nil
	}
	plain, err := aead.Open(nil, env.iv, env.ciphertext, env.aad)
	if err != nil {
		return false, nil
	}
	return true, write(dst, plain)
}

// gcm is the cipher for the nonce and the tag at hand. RFC 5084 §3.2 recommends
// nonces of 12 octets; others come with tags of 16 only.
func (env *envelope) gcm(block cipher.Block) (cipher.AEAD, error) {
	switch size := len(env.iv); {
	case env.tagSize < 12 || env.tagSize > 16:
		return nil, ErrDecrypt
	case size == 12:
		return cipher.NewGCMWithTagSize(block, env.tagSize)
	case size == 16 && env.tagSize == 16:
		return cipher.NewGCMWithNonceSize(block, size)
	}
	return nil, ErrDecrypt
}

func (env *envelope) openCBC(dst io.Writer, block cipher.Block, trial bool) (bool, error) {
	size := block.BlockSize()
	ct := env.ciphertext
	if len(env.iv) != size || len(ct) == 0 || len(ct)%size != 0 {
		return false, nil
	}
	// The padding stands in the last block and tells a wrong key from a right
	// one before anything is written.
	last := make([]byte, size)
	prev := env.iv
	if len(ct) > size {
		prev = ct[len(ct)-2*size : len(ct)-size]
	}
	cipher.NewCBCDecrypter(block, prev).CryptBlocks(last, ct[len(ct)-size:])
	pad := paddingLength(last)
	if pad == 0 {
		return false, nil
	}
	if g, ok := dst.(interface{ Grow(n int) }); ok {
		g.Grow(len(ct)) // a bytes.Buffer then need not move what it has
	}
	mode := cipher.NewCBCDecrypter(block, env.iv)
	buf := make([]byte, min(chunk, len(ct)))
	for first := true; len(ct) > 0; first = false {
		n := copy(buf, ct)
		ct = ct[n:]
		mode.CryptBlocks(buf[:n], buf[:n])
		if len(ct) == 0 {
			n -= pad
		}
		if first && trial && !plausibleEntity(buf[:n]) {
			return false, nil
		}
		if err := write(dst, buf[:n]); err != nil {
			return false, err
		}
	}
	return true, nil
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

// plausibleEntity tells a MIME entity from noise: a field name first, and no
// octet in its first line that text would not have.
func plausibleEntity(b []byte) bool {
	line, _ := cutLine(b[:min(len(b), 64)])
	for _, c := range line {
		if c >= 0x7f || c < ' ' && c != '\t' {
			return false
		}
	}
	for i, c := range line {
		if !isFieldNameByte(c) {
			return c == ':' && i > 3
		}
	}
	return false
}

func write(dst io.Writer, b []byte) error {
	if _, err := dst.Write(b); err != nil {
		return fmt.Errorf("smime: writing the content: %w", err)
	}
	return nil
}
