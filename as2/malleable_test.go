package as2_test

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"io"
	"slices"
	"testing"

	"firstcopy/as2"
	"firstcopy/as2/internal/cmstest"
	"firstcopy/as2/smime"
)

// Every octet of a signed and of an authenticated message is altered, in two
// ways: nothing but the payload that was sealed is ever accepted.
func TestMalleability(t *testing.T) {
	t.Parallel()
	entity := part("UNB+1'\r\n")
	p := policy()
	p.Keys = []smime.Key{cmstest.Small().Key}
	signedOnly := p
	signedOnly.RequireSigned = true
	opaque := message{contentType: envelopedType, body: cmstest.Sender().Sign(t, entity, "-nodetach")}
	for name, tt := range map[string]struct {
		message message
		policy  as2.Policy
	}{
		"signed": {sign(t, entity), signedOnly}, "opaque": {opaque, signedOnly}, "plain signature": {sign(t, entity, "-noattr"), signedOnly},
		"authenticated": {encryptSmall(t, entity, "-aes-128-gcm"), p}, "signed in CBC": {encryptSmall(t, sign(t, entity).entity(), "-aes-128-cbc"), signedOnly},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			accepted := 0
			for i := range tt.message.body {
				for _, bit := range []byte{1, 0x80} {
					m := tt.message
					m.body = bytes.Clone(m.body)
					m.body[i] ^= bit
					var payload bytes.Buffer
					opened, err := as2.Open(m.header(), bytes.NewReader(m.body), &payload, tt.policy)
					if err != nil {
						continue
					}
					accepted++
					if payload.String() != "UNB+1'\r\n" || !bytes.Equal(opened.MIC.Digest, digest(crypto.SHA256, entity)) || opened.FileName != "order.edi" {
						t.Fatalf("octet %d of %d altered: accepted %q, MIC %v", i, len(m.body), payload.Bytes(), opened.MIC)
					}
				}
			}
			t.Logf("%d of %d alterations do not matter", accepted, 2*len(tt.message.body))
		})
	}
}

func encryptSmall(t *testing.T, entity []byte, cipher string) message {
	return message{contentType: envelopedType, body: cmstest.Small().Encrypt(t, entity, cipher)}
}

// ciphertextStart finds the content of an envelope in DER, which ends it.
func ciphertextStart(t *testing.T, body []byte, size int) int {
	t.Helper()
	start := len(body) - size
	if start < 4 || !bytes.Contains(body[start-5:start], []byte{0x80}) {
		t.Fatal("the envelope does not end in its content")
	}
	return start
}

// Whoever can tell right padding from wrong can decrypt. With a signature
// inside, or one demanded, the answer is the same for all 256 values of an octet
// that decide the padding.
func TestNoPaddingOracle(t *testing.T) {
	t.Parallel()
	lax := policy()
	lax.Keys = []smime.Key{cmstest.Small().Key}
	strict := lax
	strict.RequireSigned = true
	signed := sign(t, part(edi))
	signed.body = append(signed.body, bytes.Repeat([]byte("epilogue"), 16)...)
	unsigned := part(edi + string(bytes.Repeat([]byte("trailer "), 16)))
	for name, tt := range map[string]struct {
		entity []byte
		policy as2.Policy
		want   as2.Kind
	}{
		"signed":             {signed.entity(), lax, 0},
		"signed, demanded":   {signed.entity(), strict, 0},
		"unsigned, demanded": {unsigned, strict, as2.KindInsufficientSecurity},
	} {
		m := encryptSmall(t, tt.entity, "-aes-128-cbc")
		size := (len(tt.entity)/aes.BlockSize + 1) * aes.BlockSize
		start := ciphertextStart(t, m.body, size)
		for value := range 256 {
			altered := m
			altered.body = bytes.Clone(m.body)
			altered.body[start+size-aes.BlockSize-1] ^= byte(value)
			_, err := as2.Open(altered.header(), bytes.NewReader(altered.body), io.Discard, tt.policy)
			if kindOf(err) != tt.want || (err == nil) != (tt.want == 0) {
				t.Fatalf("%s, octet altered by %#x: %v, want kind %v", name, value, err, tt.want)
			}
		}
		// Blocks of the attacker's choice in front: there is nothing to go by.
		kinds := map[as2.Kind]bool{}
		for value := range 256 {
			altered := m
			altered.body = bytes.Clone(m.body)
			altered.body[start] ^= 1 // the header is noise
			altered.body[start+size-aes.BlockSize-1] ^= byte(value)
			_, err := as2.Open(altered.header(), bytes.NewReader(altered.body), io.Discard, strict)
			kinds[kindOf(err)] = true
		}
		if len(kinds) != 1 || !kinds[as2.KindDecryption] {
			t.Errorf("%s, without its header: %v", name, kinds)
		}
	}
	// Where nothing else authenticates, what lacks its padding is refused.
	m := encrypt(t, unsigned)
	m.body[len(m.body)-aes.BlockSize-1] ^= 0x40
	mustRefuse(t, m, policy(), as2.KindDecryption)
}

// What is sealed by GCM is not released before its tag, which comes last.
func TestNothingBeforeTheTag(t *testing.T) {
	t.Parallel()
	m := encrypt(t, part(edi), "-aes-256-gcm", "-stream")
	for i := len(m.body) - 24; i < len(m.body); i++ {
		altered := slices.Clone(m.body)
		altered[i] ^= 4
		var payload bytes.Buffer
		if _, err := as2.Open(m.header(), bytes.NewReader(altered), &payload, policy()); err != nil && payload.Len() > 0 {
			t.Errorf("octet %d altered: %q was released", i, payload.Bytes())
		}
	}
}
