package as2_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"io"
	"strings"
	"testing"

	"firstcopy/as2"
	"firstcopy/as2/internal/cmstest"
)

func benchmarkOpen(b *testing.B, size int, signed, encrypted bool) {
	d := draft()
	d.Payload = []byte(strings.Repeat("UNH+1+ORDERS:D:96A:UN'\r\n", size/24+1)[:size])
	if signed {
		sender := cmstest.Sender()
		d.SignWith = &sender.Key
	}
	if encrypted {
		d.EncryptFor = cmstest.Receiver().Cert()
	}
	m, err := as2.Build(d)
	if err != nil {
		b.Fatal(err)
	}
	h, err := as2.ParseHeader(headerMap(m))
	if err != nil {
		b.Fatal(err)
	}
	p := policy()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := as2.Open(h, bytes.NewReader(m.Body), io.Discard, p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenSignedEncrypted10KiB(b *testing.B) { benchmarkOpen(b, 10<<10, true, true) }
func BenchmarkOpenSigned10KiB(b *testing.B)          { benchmarkOpen(b, 10<<10, true, false) }
func BenchmarkOpenPlain10KiB(b *testing.B)           { benchmarkOpen(b, 10<<10, false, false) }
func BenchmarkOpenSignedEncrypted16MiB(b *testing.B) { benchmarkOpen(b, 16<<20, true, true) }

// BenchmarkRSA2048Decrypt is the private-key operation by itself, to compare
// the opening of an envelope with.
func BenchmarkRSA2048Decrypt(b *testing.B) {
	receiver := cmstest.Receiver()
	//lint:ignore SA1019 it is what partners' keys are encrypted with
	encrypted, err := rsa.EncryptPKCS1v15(rand.Reader, receiver.Certificate.PublicKey.(*rsa.PublicKey), make([]byte, 32))
	if err != nil {
		b.Fatal(err)
	}
	key := receiver.Private.(*rsa.PrivateKey)
	//lint:ignore SA1019 it is what partners' keys are encrypted with
	opts := &rsa.PKCS1v15DecryptOptions{SessionKeyLen: 32}
	for b.Loop() {
		if _, err := key.Decrypt(rand.Reader, encrypted, opts); err != nil {
			b.Fatal(err)
		}
	}
}
