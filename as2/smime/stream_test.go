package smime_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"encoding/asn1"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"firstcopy/as2/internal/cmstest"
	"firstcopy/as2/smime"
)

// authEnveloped makes an AuthEnvelopedData with the standard library's GCM, with
// authenticated attributes, which openssl does not write.
func authEnveloped(t *testing.T, content, attrs []byte, tagSize int) []byte {
	key, nonce := make([]byte, 16), make([]byte, 12)
	rand.Read(key)
	rand.Read(nonce)
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	var aad []byte
	if attrs != nil {
		aad = cmstest.TLV(0x31, attrs)
	}
	sealed := aead.Seal(nil, nonce, content, aad)
	tag := sealed[len(content):][:tagSize]
	receiver := cmstest.Receiver()
	//lint:ignore SA1019 PKCS #1 v1.5 is what AS2 has
	wrapped, err := rsa.EncryptPKCS1v15(rand.Reader, receiver.Certificate.PublicKey.(*rsa.PublicKey), key)
	if err != nil {
		t.Fatal(err)
	}
	serial, _ := asn1.Marshal(receiver.Certificate.SerialNumber)
	oid := func(arcs ...int) []byte { der, _ := asn1.Marshal(asn1.ObjectIdentifier(arcs)); return der }
	recipient := cmstest.TLV(0x30, []byte{2, 1, 0}, cmstest.TLV(0x30, receiver.Certificate.RawIssuer, serial),
		cmstest.Algorithm(cmstest.OIDRSA), cmstest.TLV(4, wrapped))
	params := [][]byte{cmstest.TLV(4, nonce)}
	if tagSize != 12 { // which is the default
		params = append(params, []byte{2, 1, byte(tagSize)})
	}
	parts := [][]byte{{2, 1, 0}, cmstest.TLV(0x31, recipient), cmstest.TLV(0x30, cmstest.OIDData,
		cmstest.TLV(0x30, oid(2, 16, 840, 1, 101, 3, 4, 1, 6), cmstest.TLV(0x30, params...)), cmstest.TLV(0x80, sealed[:len(content)]))}
	if attrs != nil {
		parts = append(parts, cmstest.TLV(0xa1, attrs))
	}
	parts = append(parts, cmstest.TLV(4, tag))
	return cmstest.TLV(0x30, oid(1, 2, 840, 113549, 1, 9, 16, 1, 23), cmstest.TLV(0xa0, cmstest.TLV(0x30, parts...)))
}

// GCM in pieces comes to what the standard library makes in one.
func TestDecryptGCM(t *testing.T) {
	t.Parallel()
	const piece = 64 << 10
	receiver := cmstest.Receiver()
	content := make([]byte, 3*piece+100)
	rand.Read(content)
	for _, n := range []int{0, 1, 15, 16, 17, 4095, 4096, 4097, piece - 1, piece, piece + 1, piece + 4096, 2 * piece, 2*piece + 4096, 2*piece + 4097, len(content)} {
		for _, attrs := range [][]byte{nil, cmstest.Attribute(cmstest.OIDContent, cmstest.OIDData), bytes.Repeat(cmstest.Attribute(cmstest.OIDTime, make([]byte, 90)), 800)} {
			for _, tagSize := range []int{12, 13, 16} {
				der := authEnveloped(t, content[:n], attrs, tagSize)
				got, _, err := decrypt(der, receiver.Key)
				if err != nil || !bytes.Equal(got, content[:n]) {
					t.Errorf("%d octets, %d of attributes, tag of %d: %v", n, len(attrs), tagSize, err)
				}
				for _, at := range []int{len(der) - 1, len(der) - tagSize - 3} { // the tag, and what stands before it
					if got, _, err := decrypt(flip(der, at), receiver.Key); err != smime.ErrDecrypt {
						t.Errorf("%d octets, altered at -%d: %q, %v", n, len(der)-at, got[:min(len(got), 20)], err)
					}
				}
			}
		}
	}
}

// What is written in pieces is read by openssl, in DER or, beyond 1 MiB of
// unknown length, in BER.
func TestWritersStream(t *testing.T) {
	t.Parallel()
	receiver := cmstest.Receiver()
	for _, size := range []int{0, 1 << 10, 1<<20 - 16, 1 << 20, 1<<20 + 1, 3 << 20} {
		content := make([]byte, size)
		rand.Read(content)
		for _, cipher := range []string{"aes-128-cbc", "3des-cbc", "aes-192-gcm"} {
			for _, src := range []io.Reader{bytes.NewReader(content), iotest.HalfReader(bytes.NewReader(content))} {
				var der bytes.Buffer
				if err := smime.Encrypt(&der, src, receiver.Cert(), cipher); err != nil {
					t.Fatal(err)
				}
				if got, name, err := decrypt(der.Bytes(), receiver.Key); err != nil || !bytes.Equal(got, content) || name != cipher {
					t.Errorf("%s, %d octets: %d, %v", cipher, size, len(got), err)
				}
				if size > 1<<20 {
					continue
				}
				got := cmstest.OpenSSL(t, der.Bytes(), "cms", "-decrypt", "-binary", "-inform", "DER", "-recip", receiver.CertFile(t), "-inkey", receiver.KeyFile(t))
				if !bytes.Equal(got, content) {
					t.Errorf("openssl, %s, %d octets: %d", cipher, size, len(got))
				}
			}
		}
		var der bytes.Buffer
		if err := smime.Compress(&der, bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := decompress(der.Bytes(), smime.Expansion{}); err != nil || !bytes.Equal(got, content) {
			t.Errorf("compressed, %d octets: %d, %v", size, len(got), err)
		}
		cmstest.OpenSSL(t, der.Bytes(), "asn1parse", "-i", "-inform", "DER")
	}
}

func decompress(der []byte, limit smime.Expansion) ([]byte, error) {
	d, err := smime.OpenCompressed(bytes.NewReader(der), limit)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(d)
}

func TestDecompress(t *testing.T) {
	t.Parallel()
	octets := cmstest.Deflate(entity)
	good := cmstest.Compressed(octets)
	for name, der := range map[string][]byte{
		"zlib": good, "BER": cmstest.ToBER(good), "deflate alone": cmstest.Compressed(octets[2 : len(octets)-4]),
		"octets behind": append(bytes.Clone(good), "\r\n"...), "octets behind the checksum": cmstest.Compressed(append(octets[:len(octets):len(octets)], 1, 2)),
	} {
		if got, err := decompress(der, smime.Expansion{}); err != nil || !bytes.Equal(got, entity) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, der := range map[string][]byte{
		"checksum": cmstest.Compressed(flip(octets, len(octets)-1)), "cut": cmstest.Compressed(octets[:len(octets)-5]),
		"empty": cmstest.Compressed(nil), "one octet": cmstest.Compressed(octets[:1]), "noise": cmstest.Compressed([]byte("\x78\x9cnoise and no more")),
		"truncated": good[:len(good)-1], "not closed": cmstest.ToBER(good)[:len(cmstest.ToBER(good))-2],
		"another kind": cmstest.Sender().Sign(t, entity), "other algorithm": bytes.Replace(good, cmstest.OIDZLIB, cmstest.OIDData, 1),
		"dictionary": cmstest.Compressed([]byte("\x78\xbb\x01\x02\x03\x04\x05")), "nothing": nil,
	} {
		if got, err := decompress(der, smime.Expansion{}); !errors.Is(err, smime.ErrDecompress) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for cut := range good {
		src := io.MultiReader(bytes.NewReader(good[:cut]), iotest.ErrReader(io.ErrUnexpectedEOF))
		d, err := smime.OpenCompressed(src, smime.Expansion{})
		if err == nil {
			_, err = io.ReadAll(d)
		}
		if errors.Is(err, smime.ErrDecompress) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("broken off at %d: %v", cut, err)
		}
	}
	_, err := decompress(cmstest.Compressed(cmstest.Deflate(make([]byte, 8<<20))), smime.Expansion{})
	if !errors.Is(err, smime.ErrExpansion) {
		t.Errorf("zeros: %v", err)
	}
	if _, err := decompress(good, smime.Expansion{Max: 10}); !errors.Is(err, smime.ErrExpansion) {
		t.Errorf("ten octets allowed: %v", err)
	}
}

// Structures are bounded in what they make the reader hold and do.
func TestBounds(t *testing.T) {
	t.Parallel()
	sender, receiver := cmstest.Sender(), cmstest.Receiver()
	good := sender.Sign(t, entity, "-md", "sha256")
	info := signerInfoOf(t, good)
	signed := func(declared, infos []byte) []byte {
		return cmstest.TLV(0x30, cmstest.OIDSigned, cmstest.TLV(0xa0, cmstest.TLV(0x30, []byte{2, 1, 1},
			cmstest.TLV(0x31, declared), cmstest.TLV(0x30, cmstest.OIDData), cmstest.TLV(0x31, infos))))
	}
	sha256 := cmstest.Bare(cmstest.OIDSHA256)
	if _, err := verify(entity, signed(sha256, info), sender.Certificate); err != nil {
		t.Fatal(err)
	}
	manyAttrs := cmstest.Signature{Attrs: slices.Repeat([][]byte{cmstest.Attribute(cmstest.OIDTime, []byte{5, 0})}, 300)}
	for name, der := range map[string][]byte{
		"declared digests":   signed(bytes.Repeat(sha256, 65), info),
		"signers":            signed(sha256, bytes.Repeat(info, 257)),
		"large attribute":    cmstest.Signature{Attrs: [][]byte{cmstest.Attribute(cmstest.OIDTime, cmstest.TLV(4, make([]byte, 130<<10)))}}.SignBy(sender, entity),
		"attributes":         manyAttrs.SignBy(sender, entity),
		"nested":             bytes.Repeat([]byte{0x30, 0x80}, 100),
		"certificate nested": signed(sha256, append(append([]byte{0xa0, 0x80}, bytes.Repeat([]byte{0x30, 0x80}, 100)...), info...)),
	} {
		if s, err := verify(entity, der, sender.Certificate); err == nil {
			t.Errorf("%s: accepted, by %v", name, s.Signer.Subject)
		}
	}
	// Seventeen signers: the last is not looked at, but costs nothing either.
	strangers := bytes.Repeat(signerInfoOf(t, cmstest.Stranger().Sign(t, entity, "-md", "sha256")), 16)
	if _, err := verify(entity, signed(sha256, append(strangers, info...)), sender.Certificate); !errors.Is(err, smime.ErrNoSigner) {
		t.Errorf("seventeenth signer: %v", err)
	}
	// Segments of one octet.
	long := append([]byte("Content-Type: a/b\r\n\r\n"), make([]byte, 128<<10)...)[:128<<10]
	envelope := receiver.Encrypt(t, long, "-aes-128-cbc")
	i := bytes.LastIndex(envelope[:800], []byte{0x80, 0x83})
	content := envelope[i+5:]
	var segments []byte
	for _, c := range content {
		segments = append(segments, 4, 1, c)
	}
	ber := cmstest.ToBER(envelope)
	at := bytes.Index(ber, []byte{0xa0, 0x80, 0x04, 0x00, 0x04, 0x01})
	if at < 0 {
		t.Fatal("no segments in the envelope")
	}
	split := slices.Concat(ber[:at+2], segments, []byte{0, 0}, make([]byte, 10))
	if got, _, err := decrypt(split, receiver.Key); !errors.Is(err, smime.ErrDecrypt) {
		t.Errorf("%d segments of one octet: %d, %v", len(content), len(got), err)
	}
	few := slices.Concat(ber[:at+2], segments[:3*(32<<10)], cmstest.TLV(4, content[32<<10:]), []byte{0, 0}, make([]byte, 10))
	if got, _, err := decrypt(few, receiver.Key); err != nil || len(got) != 128<<10 {
		t.Errorf("fewer segments: %d, %v", len(got), err)
	}
}

// signerInfoOf cuts the only SignerInfo out of a SignedData.
func signerInfoOf(t *testing.T, der []byte) []byte {
	t.Helper()
	var v asn1.RawValue
	for _, step := range []int{0, 1, 0, -1, 0} { // ContentInfo, [0], SignedData, its last element, the SignerInfo
		rest := der
		for n := 0; ; n++ {
			var err error
			if rest, err = asn1.Unmarshal(rest, &v); err != nil {
				t.Fatal(err)
			}
			if n == step || step < 0 && len(rest) == 0 {
				break
			}
		}
		der = v.Bytes
	}
	return v.FullBytes
}
