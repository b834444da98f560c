package as2_test

import (
	"bytes"
	"compress/flate"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"io"
	"math/big"
	"runtime"
	"strings"
	"testing"

	"firstcopy/as2"
	"firstcopy/as2/internal/cmstest"
)

// Rank 23: what expands without end is refused early, whatever is around it.
func TestFault23Expansion(t *testing.T) {
	t.Parallel()
	bomb := func(size int64) []byte {
		pr, pw := io.Pipe()
		go func() {
			_, err := io.CopyN(pw, zeros{}, size)
			pw.CloseWithError(err)
		}()
		var b bytes.Buffer
		b.Write([]byte{0x78, 0xda})
		w, _ := flate.NewWriter(&b, flate.BestSpeed)
		io.WriteString(w, partHeader)
		io.Copy(w, pr)
		w.Close()
		return b.Bytes()
	}
	octets := bomb(200 << 20)
	m := message{contentType: "application/pkcs7-mime; smime-type=compressed-data", body: cmstest.Compressed(octets)}
	twice := compressedEntity(m.entity())
	for name, m := range map[string]message{"bare": m, "signed": sign(t, m.entity()), "encrypted": encrypt(t, m.entity()), "twice": twice} {
		sink := &countingWriter{}
		_, err := as2.Open(m.header(), bytes.NewReader(m.body), sink, policy())
		if kindOf(err) != as2.KindDecompression || sink.n > 64<<20 {
			t.Errorf("%s: %d octets out of %d, %v", name, sink.n, len(m.body), err)
		}
	}
	p := policy()
	p.MaxPayload, p.MaxRatio = 1<<20, 2000
	sink := &countingWriter{}
	if _, err := as2.Open(m.header(), bytes.NewReader(m.body), sink, p); kindOf(err) != as2.KindDecompression || sink.n > 1<<20 {
		t.Errorf("beyond the agreed size: %d octets, %v", sink.n, err)
	}
	p.MaxPayload = 0
	// By agreement all of it passes, up to its checksum, which is missing.
	if _, err := as2.Open(m.header(), bytes.NewReader(m.body), sink, p); kindOf(err) != as2.KindDecompression || sink.n < 200<<20 {
		t.Errorf("without bounds: %d octets, %v", sink.n, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Rank 23: nesting, in layers and in parts.
func TestFault23Nesting(t *testing.T) {
	t.Parallel()
	m := message{contentType: "application/EDIFACT", body: []byte(edi)}
	for range 6 {
		m = compressedEntity(m.entity())
	}
	if _, payload, err := m.open(policy()); err != nil || string(payload) != edi {
		t.Errorf("six layers: %v", err)
	}
	mustRefuse(t, compressedEntity(m.entity()), policy(), as2.KindMalformed)
	parts := "end"
	for range 40 {
		parts = "Content-Type: multipart/mixed; boundary=m\r\n\r\n--m\r\n" + parts + "\r\n--m--\r\n"
	}
	mustRefuse(t, sign(t, []byte(parts)), policy(), as2.KindMalformed)
	many := "--m\r\n" + strings.Repeat("\r\n\r\n--m\r\n", 1001) + "\r\n--m--"
	mustRefuse(t, message{contentType: "multipart/related; boundary=m", body: []byte(many)}, policy(), as2.KindMalformed)
}

// Large messages pass in constant memory in every packaging, payload writer
// apart.
func TestOpenConstantMemory(t *testing.T) {
	const size = 16 << 20
	d := draft()
	payload := make([]byte, size)
	for i := range payload {
		payload[i] = "0123456789ABCDEF"[(i*i>>7)&15]
	}
	d.Payload = as2.Octets(payload)
	sender := cmstest.Sender()
	for _, cipher := range []string{"", "aes-256-cbc"} {
		for _, compress := range []as2.Compression{as2.Uncompressed, as2.CompressBeforeSigning, as2.CompressAfterSigning} {
			d.SignWith, d.Compress = &sender.Key, compress
			if d.EncryptFor = nil; cipher != "" {
				d.EncryptFor, d.Cipher = cmstest.Receiver().Cert(), cipher
			}
			m, err := as2.Build(d)
			if err != nil {
				t.Fatal(err)
			}
			h, err := as2.ParseHeader(headerMap(m))
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			sink := &countingWriter{}
			if _, err := as2.Open(h, bytes.NewReader(m.Body), sink, policy()); err != nil || sink.n != size {
				t.Fatalf("%q, compression %d: %d octets, %v", cipher, compress, sink.n, err)
			}
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 2<<20 {
				t.Errorf("%q, compression %d: %d octets allocated for %d", cipher, compress, used, size)
			}
		}
	}
}

// Keys that are too large to compute with, or too small to mean anything, are
// nobody's.
func TestOpenKeySizes(t *testing.T) {
	t.Parallel()
	for _, bits := range []int{512, 1016, 8200, 65536} {
		n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), uint(bits)))
		if err != nil {
			t.Fatal(err)
		}
		n.SetBit(n, bits-1, 1).SetBit(n, 0, 1)
		pinned := *cmstest.Sender().Certificate
		pinned.PublicKey = &rsa.PublicKey{N: n, E: 65537}
		p := policy()
		p.Signers = []*x509.Certificate{&pinned}
		mustRefuse(t, sign(t, part(edi)), p, as2.KindAuthentication)
	}
}
