package as2_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"firstcopy/as2"
	"firstcopy/as2/internal/cmstest"
	"firstcopy/as2/smime"
)

func benchmarkOpen(b *testing.B, size int, signed, encrypted bool) {
	d := draft()
	d.Payload = as2.Octets([]byte(strings.Repeat("UNH+1+ORDERS:D:96A:UN'\r\n", size/24+1)[:size]))
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

// BenchmarkSmallMessage opens a signed and encrypted message of 10 KiB and signs
// its receipt, and divides the time by that of the two private-key operations
// in it.
func BenchmarkSmallMessage(b *testing.B) {
	receiver, sender := cmstest.Receiver(), cmstest.Sender()
	key := receiver.Private.(*rsa.PrivateKey)
	//lint:ignore SA1019 PKCS #1 v1.5 is what AS2 has
	encrypted, err := rsa.EncryptPKCS1v15(rand.Reader, &key.PublicKey, make([]byte, 32))
	if err != nil {
		b.Fatal(err)
	}
	d := draft()
	d.Payload = as2.Octets([]byte(strings.Repeat("UNH+1+ORDERS:D:96A:UN'\r\n", 10<<10/24)))
	d.SignWith, d.EncryptFor = &sender.Key, receiver.Cert()
	m, err := as2.Build(d)
	if err != nil {
		b.Fatal(err)
	}
	h, err := as2.ParseHeader(headerMap(m))
	if err != nil {
		b.Fatal(err)
	}
	sum, p := make([]byte, 32), policy()
	var bare, whole time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		//lint:ignore SA1019 PKCS #1 v1.5 is what AS2 has
		if _, err := key.Decrypt(rand.Reader, encrypted, &rsa.PKCS1v15DecryptOptions{SessionKeyLen: 32}); err != nil {
			b.Fatal(err)
		}
		if _, err := key.Sign(rand.Reader, sum, crypto.SHA256); err != nil {
			b.Fatal(err)
		}
		bare += time.Since(start)
		start = time.Now()
		if _, err := as2.Open(h, bytes.NewReader(m.Body), io.Discard, p); err != nil {
			b.Fatal(err)
		}
		if _, err := smime.Sign(bytes.NewReader(m.Body[:1000]), receiver.Key, crypto.SHA256); err != nil {
			b.Fatal(err)
		}
		whole += time.Since(start)
	}
	b.ReportMetric(float64(whole)/float64(bare), "×RSA")
}

// BenchmarkLargeMessage opens signed and encrypted messages from a file, and
// divides the rate, and the processor time, by that of `openssl cms -decrypt`
// followed by `openssl dgst -sha256` on the same file.
func BenchmarkLargeMessage(b *testing.B) {
	for _, size := range []int64{100 << 20, 1 << 30} {
		for _, cipher := range []string{"aes-256-cbc", "aes-128-gcm"} {
			b.Run(fmt.Sprintf("%dMiB/%s", size>>20, cipher), func(b *testing.B) { benchmarkLarge(b, size, cipher) })
		}
	}
}

func benchmarkLarge(b *testing.B, size int64, cipher string) {
	file := largeMessage(b, size, cipher)
	h := message{contentType: envelopedType}.header()
	p := policy()
	p.NewSpool = func() (smime.Spool, error) {
		f, err := os.CreateTemp(b.TempDir(), "spool")
		return fileSpool{f}, err
	}
	b.SetBytes(size)
	b.ReportAllocs()
	var ours, cpu time.Duration
	for b.Loop() {
		f, err := os.Open(file)
		if err != nil {
			b.Fatal(err)
		}
		start, before := time.Now(), processorTime(b)
		if _, err := as2.Open(h, f, io.Discard, p); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(start)
		cpu += processorTime(b) - before
		f.Close()
	}
	ours, cpu = ours/time.Duration(b.N), cpu/time.Duration(b.N)
	receiver, plain := cmstest.Receiver(), filepath.Join(b.TempDir(), "plain")
	decrypt := exec.Command("openssl", "cms", "-decrypt", "-binary", "-inform", "DER", "-in", file, "-out", plain,
		"-recip", receiver.CertFile(b), "-inkey", receiver.KeyFile(b))
	start, theirCPU := time.Now(), time.Duration(0)
	for _, cmd := range []*exec.Cmd{decrypt, exec.Command("openssl", "dgst", "-sha256", plain)} {
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		theirCPU += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	theirs := time.Since(start)
	b.ReportMetric(float64(size)/theirs.Seconds()/1e6, "openssl-MB/s")
	b.ReportMetric(float64(theirs)/float64(ours), "×openssl")
	b.ReportMetric(float64(theirCPU)/float64(cpu), "×openssl-CPU")
}

// processorTime is what this process has used, which says more than a clock
// where others compute beside it.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

type fileSpool struct{ *os.File }

func (s fileSpool) Open() (io.Reader, error) { return s.File, second(s.Seek(0, io.SeekStart)) }

func second(_ int64, err error) error { return err }

// largeMessage writes a signed and encrypted message to a file, streaming.
func largeMessage(b *testing.B, size int64, cipher string) string {
	b.Helper()
	entity := func() io.Reader {
		return io.MultiReader(strings.NewReader(partHeader), io.LimitReader(&ediLines{}, size))
	}
	der, err := smime.Sign(entity(), cmstest.Sender().Key, crypto.SHA256)
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(filepath.Join(b.TempDir(), "message"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	signed := io.MultiReader(strings.NewReader("Content-Type: "+signedType+"\r\n\r\n--b\r\n"), entity(),
		strings.NewReader("\r\n--b\r\n"), bytes.NewReader(base64Part(der)), strings.NewReader("\r\n--b--\r\n"))
	if err := smime.Encrypt(f, signed, cmstest.Receiver().Cert(), cipher); err != nil {
		b.Fatal(err)
	}
	return f.Name()
}

// ediLines is text without end.
type ediLines struct{ rest []byte }

var ediBlock = []byte(strings.Repeat("LIN+1++4000862141404:EN'\r\nQTY+47:12'\r\nMOA+77:9'\r\n", 1<<10))

func (r *ediLines) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(r.rest) == 0 {
			r.rest = ediBlock
		}
		k := copy(p[n:], r.rest)
		n, r.rest = n+k, r.rest[k:]
	}
	return n, nil
}
