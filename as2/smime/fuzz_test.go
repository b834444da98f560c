package smime_test

import (
	"bytes"
	"crypto"
	"errors"
	"io"
	"testing"

	"firstcopy/as2/internal/cmstest"
	"firstcopy/as2/smime"
)

// FuzzOpenSigned reads a SignedData with its content: what verifies is what was
// signed.
func FuzzOpenSigned(f *testing.F) {
	sender := cmstest.Sender()
	for _, s := range []cmstest.Signature{{Content: entity}, {Content: entity, Plain: true}, {Content: entity, Certs: sender.Certificate.Raw}} {
		der := s.SignBy(sender, entity)
		f.Add(der)
		f.Add(cmstest.ToBER(der))
	}
	f.Fuzz(func(t *testing.T, der []byte) {
		d, err := smime.OpenSigned(bytes.NewReader(der))
		if err != nil {
			return
		}
		digests := smime.NewDigests(d.Declared(), 0, true)
		content, err := io.ReadAll(io.TeeReader(d, digests))
		if err != nil {
			if !errors.Is(err, smime.ErrNoSigner) {
				t.Errorf("an error of no kind: %v", err)
			}
			return
		}
		if s, err := d.Verify(digests, sender.Cert()); err == nil && (s.Form != smime.AsReceived || !bytes.Equal(content, entity)) {
			t.Errorf("%q verifies, as %d", content, s.Form)
		}
	})
}

// FuzzDecompress finds neither panics nor what grows without bound.
func FuzzDecompress(f *testing.F) {
	f.Add(cmstest.Compressed(cmstest.Deflate(entity)))
	f.Add(cmstest.ToBER(cmstest.Compressed(cmstest.Deflate(entity))))
	f.Add(cmstest.Compressed(cmstest.Deflate(make([]byte, 5<<20))))
	f.Add(cmstest.Compressed(cmstest.Deflate(entity)[2:]))
	f.Fuzz(func(t *testing.T, der []byte) {
		d, err := smime.OpenCompressed(bytes.NewReader(der), smime.Expansion{})
		var n int64
		if err == nil {
			n, err = io.Copy(io.Discard, d)
		}
		if err != nil && !errors.Is(err, smime.ErrDecompress) {
			t.Errorf("an error of no kind: %v", err)
		}
		if n > 5<<20+251*int64(len(der)) {
			t.Errorf("%d octets out of %d", n, len(der))
		}
	})
}

// FuzzDigests cuts content into pieces of any size: the digests are the same,
// and those of the canonical form are those of the canonical octets.
func FuzzDigests(f *testing.F) {
	f.Add([]byte("A: b\n\r\nx\r\ny\n\r\r\n\n"), 5, 3)
	f.Add([]byte("\n"), 0, 1)
	f.Fuzz(func(t *testing.T, content []byte, header, size int) {
		if size <= 0 || header < 0 || header > len(content) {
			return
		}
		const h = crypto.SHA256
		d := smime.NewDigests([]crypto.Hash{h}, header, true)
		for rest := content; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			d.Write(rest[:min(size, len(rest))])
		}
		for form, octets := range map[smime.Form][]byte{
			smime.AsReceived: content, smime.Canonical: canonical(content),
			smime.CanonicalHeader: append(canonical(content[:header]), content[header:]...),
		} {
			want := h.New()
			want.Write(octets)
			if got := d.Sum(form, h); !bytes.Equal(got, want.Sum(nil)) {
				t.Errorf("form %d of %q with a header of %d in pieces of %d", form, content, header, size)
			}
		}
	})
}

func canonical(b []byte) (out []byte) {
	for i, c := range b {
		if c == '\n' && (i == 0 || b[i-1] != '\r') {
			out = append(out, '\r')
		}
		out = append(out, c)
	}
	return out
}
