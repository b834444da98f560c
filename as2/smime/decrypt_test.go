package smime_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"go.mozilla.org/pkcs7"

	"firstcopy/as2/internal/cmstest"
	"firstcopy/as2/smime"
)

var entity = []byte("Content-Type: application/EDI-X12\r\n\r\nISA*00*~\n" + strings.Repeat("SEG*1\x1c\xfc~", 40))

// decrypt opens an envelope; what came out of one that is refused in the end is
// nobody's.
func decrypt(der []byte, keys ...smime.Key) ([]byte, string, error) {
	return decryptWith(der, smime.Decryption{Keys: keys})
}

func decryptWith(der []byte, d smime.Decryption) ([]byte, string, error) {
	e, err := smime.OpenEnvelope(bytes.NewReader(der), d)
	//lint:ignore SA5001 an envelope that is refused is there all the same, and names its cipher
	defer e.Close()
	if err != nil {
		return nil, e.Cipher(), err
	}
	out, err := io.ReadAll(e)
	if err == nil && e.Damaged() {
		err = smime.ErrDecrypt
	}
	if err != nil {
		return nil, e.Cipher(), err
	}
	return out, e.Cipher(), nil
}

func TestDecryptOpenSSL(t *testing.T) {
	t.Parallel()
	receiver, sender := cmstest.Receiver(), cmstest.Sender()
	tests := []struct {
		name, cipher string
		args         []string
	}{
		{"aes-128", "aes-128-cbc", []string{"-aes-128-cbc"}},
		{"aes-192", "aes-192-cbc", []string{"-aes-192-cbc"}},
		{"aes-256", "aes-256-cbc", []string{"-aes-256-cbc"}},
		{"3des", "3des-cbc", []string{"-des3"}},
		{"gcm", "aes-256-gcm", []string{"-aes-256-gcm"}},
		{"streamed BER", "aes-128-cbc", []string{"-aes-128-cbc", "-stream"}},
		{"streamed GCM", "aes-128-gcm", []string{"-aes-128-gcm", "-stream"}},
		{"key identifier", "aes-256-cbc", []string{"-aes-256-cbc", "-keyid"}},
		{"sender first", "aes-256-cbc", []string{"-aes-256-cbc", sender.CertFile(t)}},
		{"oaep", "aes-256-cbc", []string{"-aes-256-cbc", "-keyopt", "rsa_padding_mode:oaep"}},
		{"oaep sha-256", "aes-256-cbc", []string{
			"-aes-256-cbc", "-keyopt", "rsa_padding_mode:oaep", "-keyopt", "rsa_oaep_md:sha256",
		}},
		{"foreign recipient kind", "aes-256-cbc", []string{"-aes-256-cbc", "-pwri_password", "secret"}},
		{"large", "aes-256-cbc", []string{"-aes-256-cbc", "-stream"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			content := entity
			if tt.name == "large" {
				content = append(bytes.Clone(entity), make([]byte, 300<<10)...)
			}
			der := receiver.Encrypt(t, content, tt.args...)
			got, cipher, err := decrypt(der, cmstest.Other().Key, receiver.Key)
			if err != nil || !bytes.Equal(got, content) {
				t.Fatalf("got %d octets, %v; want %d", len(got), err, len(content))
			}
			if cipher != tt.cipher {
				t.Errorf("cipher %q, want %q", cipher, tt.cipher)
			}
			if got, _, err = decrypt(append(der, "\r\n"...), receiver.Key); err != nil || !bytes.Equal(got, content) {
				t.Errorf("with a line end behind it: %v", err)
			}
		})
	}
}

// The content is padded with every number of octets, the empty one included.
func TestDecryptLengths(t *testing.T) {
	t.Parallel()
	receiver := cmstest.Receiver()
	for n := range 33 {
		content := entity[:n]
		for _, cipher := range []string{"aes-128-cbc", "aes-256-gcm"} {
			var der bytes.Buffer
			if err := smime.Encrypt(&der, bytes.NewReader(content), receiver.Cert(), cipher); err != nil {
				t.Fatal(err)
			}
			if got, _, err := decrypt(der.Bytes(), receiver.Key); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s, %d octets: got %q, %v", cipher, n, got, err)
			}
		}
	}
}

func TestDecryptRefusals(t *testing.T) {
	t.Parallel()
	receiver := cmstest.Receiver()
	good := receiver.Encrypt(t, entity, "-aes-256-cbc")
	gcm := receiver.Encrypt(t, entity, "-aes-256-gcm")
	tests := map[string][]byte{
		"empty":               nil,
		"text":                []byte("UNB+UNOA:1+A+B'"),
		"truncated":           good[:len(good)-16],
		"cut in the header":   good[:100],
		"stranger":            cmstest.Stranger().Encrypt(t, entity, "-aes-256-cbc"),
		"unknown cipher":      receiver.Encrypt(t, entity, "-camellia256"),
		"signature":           cmstest.Sender().Sign(t, entity),
		"gcm tampered":        flip(gcm, len(gcm)-40),
		"deep":                bytes.Repeat([]byte{0x30, 0x80}, 8<<20),
		"deep definite":       bytes.Repeat([]byte{0x30, 0x84, 0x7f, 0xff, 0xff, 0xff}, 1<<16),
		"length of all ones":  {0x30, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"endless tag":         bytes.Repeat([]byte{0xff}, 100),
		"indefinite, no end":  {0x30, 0x80, 0x06, 0x01},
		"indefinite, nothing": {0x30, 0x80, 0x00, 0x00},
	}
	for name, der := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := decrypt(der, receiver.Key, smime.Key{}, cmstest.Elliptic().Key)
			if err != smime.ErrDecrypt || len(got) > 0 {
				t.Errorf("got %d octets, %v; want ErrDecrypt", len(got), err)
			}
		})
	}
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

// rebuild re-encodes DER with the contents of every primitive replaced.
func rebuild(t *testing.T, der []byte, replace func(tag byte, body []byte) []byte) []byte {
	t.Helper()
	var out []byte
	for len(der) > 0 {
		var v asn1.RawValue
		rest, err := asn1.Unmarshal(der, &v)
		if err != nil {
			t.Fatal(err)
		}
		body := v.Bytes
		if v.IsCompound {
			body = rebuild(t, body, replace)
		} else {
			body = replace(der[0], body)
		}
		out = append(out, primitive(der[0], body)...)
		der = rest
	}
	return out
}

// withCiphertext alters an envelope's ciphertext.
func withCiphertext(t *testing.T, der []byte, alter func([]byte) []byte) []byte {
	return rebuild(t, der, func(tag byte, body []byte) []byte {
		if tag == 0x80 {
			return alter(bytes.Clone(body))
		}
		return body
	})
}

func TestDecryptDamaged(t *testing.T) {
	t.Parallel()
	receiver := cmstest.Receiver()
	content := entity[:len(entity)/16*16-8] // eight octets of padding
	good := receiver.Encrypt(t, content, "-aes-256-cbc")
	gcm := receiver.Encrypt(t, content, "-aes-256-gcm")
	letters := receiver.Encrypt(t, bytes.Repeat([]byte("H"), 64), "-aes-256-cbc")
	whole := func(c []byte) []byte { return c }
	if got, _, err := decrypt(withCiphertext(t, good, whole), receiver.Key); err != nil || !bytes.Equal(got, content) {
		t.Fatalf("rebuilt: %v", err)
	}
	previous := func(at int, bits byte) func([]byte) []byte {
		return func(c []byte) []byte {
			c[len(c)-32+at] ^= bits
			return c
		}
	}
	tests := map[string][]byte{
		"no whole block":      withCiphertext(t, good, func(c []byte) []byte { return append([]byte{1, 2, 3}, c...) }),
		"no padding":          withCiphertext(t, letters, func(c []byte) []byte { return c[:len(c)-16] }),
		"nothing":             withCiphertext(t, good, func([]byte) []byte { return nil }),
		"padding, first":      withCiphertext(t, good, previous(8, 1)),
		"padding, middle":     withCiphertext(t, good, previous(12, 1)),
		"padding of none":     withCiphertext(t, good, previous(15, 8)),
		"padding beyond":      withCiphertext(t, good, previous(15, 0x40)),
		"gcm":                 withCiphertext(t, gcm, previous(3, 1)),
		"gcm without its tag": gcm[:len(gcm)-18],
		"gcm in EnvelopedData": rebuild(t, gcm, func(tag byte, body []byte) []byte {
			if tag == 0x06 && bytes.HasSuffix(body, []byte{9, 16, 1, 23}) {
				return append(body[:7:7], 7, 3)
			}
			return body
		}),
		"length overflows": append([]byte("\x30\x88\xff\xff\xff\xff\xff\xff\xff\xff"), toBER(t, good)[2:]...),
		"length too long":  append([]byte("\x30\x88\x7f\xff\xff\xff\xff\xff\xff\xff"), toBER(t, good)[2:]...),
	}
	for name, der := range tests {
		if got, _, err := decrypt(der, receiver.Key); err != smime.ErrDecrypt || len(got) > 0 {
			t.Errorf("%s: got %d octets, %v", name, len(got), err)
		}
	}
}

// Without a matching identifier every key is tried, and noise is never taken
// for content: with padding alone as proof, one try in 256 would be.
func TestDecryptTrial(t *testing.T) {
	t.Parallel()
	receiver := cmstest.Receiver()
	renamed := smime.Key{Certificate: cmstest.Other().Certificate, Private: receiver.Private}
	got, _, err := decrypt(receiver.Encrypt(t, entity, "-aes-128-cbc"), cmstest.Sender().Key, renamed)
	if err != nil || !bytes.Equal(got, entity) {
		t.Errorf("right key, other certificate: %v", err)
	}
	var der bytes.Buffer
	for range 400 {
		der.Reset()
		if err := smime.Encrypt(&der, bytes.NewReader(entity), cmstest.Stranger().Cert(), "aes-128-cbc"); err != nil {
			t.Fatal(err)
		}
		if got, _, err := decrypt(der.Bytes(), receiver.Key); err != smime.ErrDecrypt || len(got) > 0 {
			t.Fatalf("noise passed for content: %d octets, %v", len(got), err)
		}
	}
}

// toBER re-encodes DER in the loosest BER: indefinite lengths for everything
// constructed, octet strings in nested segments, lengths with leading zeros.
func toBER(t *testing.T, der []byte) []byte {
	t.Helper()
	var out []byte
	for len(der) > 0 {
		var v asn1.RawValue
		rest, err := asn1.Unmarshal(der, &v)
		if err != nil {
			t.Fatal(err)
		}
		tag := der[0]
		der = rest
		switch {
		case tag&0x20 != 0:
			out = append(append(append(out, tag, 0x80), toBER(t, v.Bytes)...), 0, 0)
		case tag == 0x80 && len(v.Bytes) > 3 && v.Bytes[0] != 0x04:
			out = append(out, tag|0x20, 0x80, 0x04, 0x01, v.Bytes[0], 0x24, 0x80, 0x04, 0x02, v.Bytes[1], v.Bytes[2], 0x04, 0x00)
			out = append(append(out, 0, 0), primitive(0x04, v.Bytes[3:])...)
			out = append(out, 0, 0)
		default:
			out = append(out, primitive(tag, v.Bytes)...)
		}
	}
	return out
}

func primitive(tag byte, body []byte) []byte {
	n := len(body)
	return append([]byte{tag, 0x85, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, body...)
}

func TestDecryptBER(t *testing.T) {
	t.Parallel()
	receiver := cmstest.Receiver()
	for _, args := range [][]string{{"-aes-128-cbc"}, {"-aes-128-gcm"}, {"-aes-256-cbc", "-keyopt", "rsa_padding_mode:oaep"}} {
		ber := toBER(t, receiver.Encrypt(t, entity, args...))
		got, _, err := decrypt(ber, receiver.Key)
		if err != nil || !bytes.Equal(got, entity) {
			t.Errorf("%v: %q, %v", args, got, err)
		}
		for n := range len(ber) - 24 { // at least one end-of-contents is missing
			if got, _, err := decrypt(ber[:n], receiver.Key); err != smime.ErrDecrypt || len(got) > 0 {
				t.Fatalf("%v: %d of %d octets: %q, %v", args, n, len(ber), got, err)
			}
		}
	}
}

// countingKey refuses and counts, as a private key in an HSM could be asked to.
type countingKey struct{ *rsa.PrivateKey }

var asked atomic.Int64

func (k countingKey) Decrypt(io.Reader, []byte, crypto.DecrypterOpts) ([]byte, error) {
	asked.Add(1)
	return nil, rsa.ErrDecryption
}

// Recipients are for the sender to list; the work they make is bounded.
func TestDecryptAttempts(t *testing.T) {
	t.Parallel()
	receiver, other := cmstest.Receiver(), cmstest.Other()
	for _, cert := range []*x509.Certificate{receiver.Certificate, other.Certificate} {
		var der bytes.Buffer
		if err := smime.Encrypt(&der, bytes.NewReader(entity), slices.Repeat([]*x509.Certificate{cert}, 500), "aes-128-cbc"); err != nil {
			t.Fatal(err)
		}
		asked.Store(0)
		key := smime.Key{Certificate: receiver.Certificate, Private: countingKey{receiver.Private.(*rsa.PrivateKey)}}
		if _, _, err := decrypt(der.Bytes(), key, key); err != smime.ErrDecrypt || asked.Load() == 0 || asked.Load() > 16 {
			t.Errorf("%d private-key operations, %v", asked.Load(), err)
		}
	}
}

func TestDecryptReaderFails(t *testing.T) {
	t.Parallel()
	receiver := cmstest.Receiver()
	for _, cipher := range []string{"-aes-128-cbc", "-aes-128-gcm"} {
		der := receiver.Encrypt(t, entity, cipher)
		for cut := 0; cut < len(der); cut += 7 {
			src := io.MultiReader(bytes.NewReader(der[:cut]), iotest.ErrReader(io.ErrUnexpectedEOF))
			e, err := smime.OpenEnvelope(src, smime.Decryption{Keys: []smime.Key{receiver.Key}})
			if err == nil {
				_, err = io.ReadAll(e)
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, smime.ErrDecrypt) {
				t.Errorf("%s cut at %d: %v", cipher, cut, err)
			}
		}
	}
}

// A spool that fails says nothing about the message, and is given back.
func TestDecryptSpoolFails(t *testing.T) {
	t.Parallel()
	receiver := cmstest.Receiver()
	der := receiver.Encrypt(t, entity, "-aes-128-gcm")
	spool := &failingSpool{}
	d := smime.Decryption{Keys: []smime.Key{receiver.Key}, NewSpool: func() (smime.Spool, error) { return spool, nil }}
	if _, _, err := decryptWith(der, d); !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, smime.ErrDecrypt) || !spool.closed {
		t.Errorf("failing spool: %v, closed %v", err, spool.closed)
	}
}

type failingSpool struct {
	failingWriter
	closed bool
}

func (*failingSpool) Open() (io.Reader, error) { return nil, io.ErrClosedPipe }
func (s *failingSpool) Close() error           { s.closed = true; return nil }

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestEncryptForOpenSSL(t *testing.T) {
	t.Parallel()
	receiver := cmstest.Receiver()
	for _, cipher := range []string{"aes-128-cbc", "aes-256-cbc", "aes-128-gcm", "aes-256-gcm"} {
		t.Run(cipher, func(t *testing.T) {
			t.Parallel()
			var der bytes.Buffer
			to := append(cmstest.Sender().Cert(), receiver.Certificate)
			if err := smime.Encrypt(&der, bytes.NewReader(entity), to, cipher); err != nil {
				t.Fatal(err)
			}
			got := cmstest.OpenSSL(t, der.Bytes(), "cms", "-decrypt", "-binary", "-inform", "DER",
				"-recip", receiver.CertFile(t), "-inkey", receiver.KeyFile(t))
			if !bytes.Equal(got, entity) {
				t.Errorf("openssl read %d octets, want %d", len(got), len(entity))
			}
			if strings.HasSuffix(cipher, "gcm") {
				return
			}
			p7, err := pkcs7.Parse(der.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if got, err = p7.Decrypt(receiver.Certificate, receiver.Private); err != nil || !bytes.Equal(got, entity) {
				t.Errorf("pkcs7: %v", err)
			}
		})
	}
}

func TestEncryptRefusals(t *testing.T) {
	t.Parallel()
	cert := cmstest.Receiver().Cert()
	for name, err := range map[string]error{
		"no recipient": smime.Encrypt(io.Discard, bytes.NewReader(entity), nil, "aes-128-cbc"),
		"elliptic key": smime.Encrypt(io.Discard, bytes.NewReader(entity), cmstest.Elliptic().Cert(), "aes-128-cbc"),
		"nil":          smime.Encrypt(io.Discard, bytes.NewReader(entity), append(cert, nil), "aes-128-cbc"),
		"cipher":       smime.Encrypt(io.Discard, bytes.NewReader(entity), cert, "des-cbc"),
		"reader":       smime.Encrypt(io.Discard, iotest.ErrReader(io.ErrClosedPipe), cert, "aes-128-cbc"),
		"writer":       smime.Encrypt(failingWriter{}, bytes.NewReader(entity), cert, "aes-128-gcm"),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Concurrent senders with different ciphers do not get into each other's way.
func TestEncryptConcurrently(t *testing.T) {
	t.Parallel()
	done := make(chan error)
	for i := range 8 {
		cipher := []string{"aes-128-cbc", "aes-256-cbc"}[i%2]
		go func() {
			for range 50 {
				var der bytes.Buffer
				if err := smime.Encrypt(&der, bytes.NewReader(entity[:10]), cmstest.Receiver().Cert(), cipher); err != nil {
					done <- err
					return
				}
				if _, got, _ := decrypt(der.Bytes()); got != cipher {
					done <- errors.New("made " + got + " for " + cipher)
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func FuzzDecrypt(f *testing.F) {
	receiver := cmstest.Receiver()
	for _, cipher := range []string{"aes-128-cbc", "aes-256-gcm"} {
		var der bytes.Buffer
		if err := smime.Encrypt(&der, bytes.NewReader(entity[:20]), receiver.Cert(), cipher); err != nil {
			f.Fatal(err)
		}
		f.Add(der.Bytes())
	}
	f.Add([]byte{0x30, 0x80, 0x06, 0x00})
	noise := make([]byte, 64)
	rand.Read(noise)
	f.Add(noise)
	f.Fuzz(func(t *testing.T, der []byte) {
		if got, _, err := decrypt(der, receiver.Key); err != nil && (err != smime.ErrDecrypt || len(got) > 0) {
			t.Errorf("%d octets, %v", len(got), err)
		}
	})
}
