package smime

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// Nonces of 16 octets go by their hash, and the counter wraps in its last 32 bits: as the standard library's GCM does it.
func TestGCMNonces(t *testing.T) {
	t.Parallel()
	block, err := aes.NewCipher([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	plain := []byte(strings.Repeat("UNB+UNOC:3+A+B'", 40))
	for _, size := range []int{nonceSize, blockSize} {
		nonce := bytes.Repeat([]byte{7}, size)
		aead, err := cipher.NewGCMWithNonceSize(block, size)
		if err != nil {
			t.Fatal(err)
		}
		sealed := aead.Seal(nil, nonce, plain, nil)
		opener, err := newGCMOpener(block, nonce)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		tail := &tailReader{from: iotest.OneByteReader(bytes.NewReader(sealed)), size: blockSize}
		if err := opener.decrypt(&out, tail); err != nil {
			t.Fatal(err)
		}
		if err := opener.verify(nil, tail.tail()); err != nil || !bytes.Equal(out.Bytes(), plain) {
			t.Errorf("nonce of %d octets: %v, %q", size, err, out.Bytes())
		}
	}
}

func TestGCMCounterWraps(t *testing.T) {
	t.Parallel()
	block, err := aes.NewCipher(make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	first := [blockSize]byte{12: 0xff, 13: 0xff, 14: 0xff, 15: 0xfd} // two blocks before the end
	got := make([]byte, 5*blockSize)
	s := newGCMStream(block, first)
	s.XORKeyStream(got[:24], got[:24])
	s.XORKeyStream(got[24:], got[24:])
	for i, count := range []byte{0xfe, 0xff, 0, 1, 2} {
		counter := first
		if count < 0xfe {
			copy(counter[12:], []byte{0, 0, 0, count})
		} else {
			counter[15] = count
		}
		var want [blockSize]byte
		block.Encrypt(want[:], counter[:])
		if !bytes.Equal(got[i*blockSize:(i+1)*blockSize], want[:]) {
			t.Errorf("block %d is not of counter %x", i, counter[12:])
		}
	}
}

func TestTailReader(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "ab", "abcd", "abcdef", strings.Repeat("x", 3*maxBuffer) + "tail"} {
		r := &tailReader{from: iotest.HalfReader(strings.NewReader(text)), size: 4}
		got, err := io.ReadAll(r)
		if err != nil || string(got)+string(r.tail()) != text || len(r.tail()) != min(4, len(text)) {
			t.Errorf("%d octets: %v, %d passed on, %d held back", len(text), err, len(got), len(r.tail()))
		}
	}
}
