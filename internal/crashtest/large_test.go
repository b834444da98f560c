package crashtest_test

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firstcopy/as2/smime"
	"firstcopy/internal/as2test"
	"firstcopy/internal/localpg"
	"firstcopy/internal/pgtest"
)

// BenchmarkLarge posts large messages to the program: over HTTP, through decryption, verification, identity and digests,
// into Postgres. The rate is divided by that of `openssl cms -decrypt` followed by `openssl dgst -sha256` on the same
// message, which neither inflates nor stores anything; x-openssl is to be 0.7 at least. peak-MiB is the most that the
// gateway's process has held (proc(5), VmHWM); it is to be 96 at most.
func BenchmarkLarge(b *testing.B) {
	for _, size := range []int64{100 << 20, 1 << 30} {
		for _, packaging := range []string{"signed", "compressed"} {
			b.Run(fmt.Sprintf("%dMiB/%s", size>>20, packaging), func(b *testing.B) { benchmarkPost(b, size, packaging) })
		}
	}
}

func benchmarkPost(b *testing.B, size int64, packaging string) {
	server := pgtest.Server(b, localpg.Options{Fsync: true, Settings: map[string]string{"synchronous_commit": "on",
		"shared_buffers": "256MB", "max_wal_size": "4GB"}})
	database, err := server.EnsureDatabase(b.Context(), "large")
	if err != nil {
		b.Fatal(err)
	}
	w := newWorld(b, program(b, ""), database)
	w.write("agreements.yaml", strings.Replace(w.agreements, "64MiB", "4GiB", 1))
	w.run("partner", "apply", "-f", filepath.Join(w.dir, "agreements.yaml"))
	g := w.start("large")
	var ours, theirs time.Duration
	for i := range b.N {
		file := largeMessage(b, size, packaging, fmt.Sprintf("LARGE%d", i))
		start := time.Now()
		postFile(b, g.url, file)
		ours += time.Since(start)
		theirs += opensslTime(b, w.dir, file)
	}
	b.StopTimer()
	b.ReportMetric(ours.Seconds()/float64(b.N), "s/message")
	b.ReportMetric(float64(theirs)/float64(ours), "x-openssl")
	b.ReportMetric(peakMemory(b, g.cmd.Process.Pid), "peak-MiB")
	b.ReportMetric(0, "ns/op")
	if err := g.stop(); err != nil {
		b.Error(err)
	}
}

// largeMessage writes an enveloped message with an interchange of about the given size to a file, streaming.
func largeMessage(b *testing.B, size int64, packaging, control string) string {
	b.Helper()
	entity := func() io.Reader { return largeInterchange(size, control) }
	if packaging == "compressed" {
		compressed := create(b, func(f io.Writer) error { return smime.Compress(f, entity()) })
		entity = func() io.Reader {
			f, err := os.Open(compressed)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { f.Close() })
			return io.MultiReader(strings.NewReader("Content-Type: application/pkcs7-mime; smime-type=compressed-data\r\n\r\n"), f)
		}
	}
	signature, err := smime.Sign(entity(), as2test.Key(b, "acme"), crypto.SHA256)
	if err != nil {
		b.Fatal(err)
	}
	signed := io.MultiReader(
		strings.NewReader("Content-Type: multipart/signed; protocol=\"application/pkcs7-signature\"; micalg=sha-256; boundary=b\r\n\r\n--b\r\n"),
		entity(),
		strings.NewReader("\r\n--b\r\nContent-Type: application/pkcs7-signature\r\nContent-Transfer-Encoding: base64\r\n\r\n"),
		strings.NewReader(base64.StdEncoding.EncodeToString(signature)), strings.NewReader("\r\n--b--\r\n"))
	return create(b, func(f io.Writer) error {
		return smime.Encrypt(f, signed, []*x509.Certificate{as2test.Key(b, "hub").Certificate}, "aes-256-cbc")
	})
}

func create(b *testing.B, write func(io.Writer) error) string {
	b.Helper()
	f, err := os.CreateTemp(b.TempDir(), "*")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := write(f); err != nil {
		b.Fatal(err)
	}
	return f.Name()
}

// largeInterchange is one INVOIC of many lines, all alike but for their number, so that it compresses as lists do.
func largeInterchange(size int64, control string) io.Reader {
	line := func(n int64) string {
		return fmt.Sprintf("LIN+%09d++40%011d:EN'\r\nQTY+47:%05d'\r\nMOA+203:%07d.%02d'\r\n", n, n*7919%1e11, n*31%1e5, n*104729%1e7, n%100)
	}
	lines := size / int64(len(line(0)))
	next := int64(0)
	body := &generator{next: func(buf []byte) []byte {
		for ; len(buf) < 64<<10 && next < lines; next++ {
			buf = append(buf, line(next)...)
		}
		return buf
	}}
	head := "Content-Type: application/EDIFACT\r\n\r\nUNB+UNOC:3+4012345000009:14+5412345000013:14+261201:1200+" + control +
		"'\r\nUNH+1+INVOIC:D:96A:UN'\r\nBGM+380+" + control + "+9'\r\n"
	return io.MultiReader(strings.NewReader(head), body,
		strings.NewReader(fmt.Sprintf("UNT+%d+1'\r\nUNZ+1+%s'\r\n", 3*lines+3, control)))
}

// generator reads what next appends, until that is nothing.
type generator struct {
	next func([]byte) []byte
	buf  []byte
	rest []byte
}

func (g *generator) Read(p []byte) (int, error) {
	if len(g.rest) == 0 {
		if g.buf = g.next(g.buf[:0]); len(g.buf) == 0 {
			return 0, io.EOF
		}
		g.rest = g.buf
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

func postFile(b *testing.B, url, file string) {
	b.Helper()
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, f)
	if err != nil {
		b.Fatal(err)
	}
	req.ContentLength = info.Size()
	for name, value := range map[string]string{"AS2-Version": "1.2", "AS2-From": "ACME", "AS2-To": as2test.HubID,
		"Message-ID": "<" + filepath.Base(file) + "@acme.example>", "Content-Type": "application/pkcs7-mime; smime-type=enveloped-data",
		"Disposition-Notification-To": "acme", "MIME-Version": "1.0"} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte("MDN-sent-automatically; processed\r\n")) {
		b.Fatalf("%s\n%s", resp.Status, answer)
	}
}

// opensslTime is how long decrypting a message and digesting its content takes openssl.
func opensslTime(b *testing.B, dir, file string) time.Duration {
	b.Helper()
	plain := filepath.Join(b.TempDir(), "plain")
	start := time.Now()
	for _, args := range [][]string{
		{"cms", "-decrypt", "-binary", "-inform", "DER", "-in", file, "-out", plain, "-recip", filepath.Join(dir, "hub.crt"),
			"-inkey", filepath.Join(dir, "hub.key")},
		{"dgst", "-sha256", plain},
	} {
		if out, err := exec.CommandContext(b.Context(), "openssl", args...).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	return time.Since(start)
}

// peakMemory is the most memory, in MiB, that a process has had (proc(5), VmHWM, in kB).
func peakMemory(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes float64
	if _, err := fmt.Sscan(after, &kilobytes); err != nil {
		b.Fatal(err)
	}
	return kilobytes / 1024
}
