package as2_test

import (
	"bytes"
	"crypto/x509"
	"slices"
	"strings"
	"testing"

	"firstcopy/as2"
	"firstcopy/as2/internal/cmstest"
)

// Rank 15: how the signer is identified, and what else is in the set.
func TestFault15SignerIdentification(t *testing.T) {
	t.Parallel()
	entity := part(edi)
	other := cmstest.Other()
	for _, args := range [][]string{
		{"-nocerts"}, {"-keyid"}, {"-certfile", other.CertFile(t)}, {"-signer", other.CertFile(t), "-inkey", other.KeyFile(t)},
	} {
		mustOpen(t, sign(t, entity, args...), edi, entity)
	}
	junk := cmstest.TLV(0xa3, []byte("an attribute certificate of some kind"))
	unparsable := cmstest.Signature{Certs: append(junk, cmstest.TLV(0x30, []byte{2, 1, 0x80})...)}.SignBy(cmstest.Sender(), entity)
	mustOpen(t, signedMessage(entity, unparsable), edi, entity)
}

// Rank 16: how the signature's algorithms are written.
func TestFault16SignatureAlgorithms(t *testing.T) {
	t.Parallel()
	entity := part(edi)
	sender := cmstest.Sender()
	protection := func(digest, algorithm []byte) []byte {
		return cmstest.Attribute(cmstest.OIDProtection, cmstest.TLV(0x30, digest, cmstest.TLV(0xa1, algorithm)))
	}
	null := []byte{5, 0}
	for name, tt := range map[string]struct {
		s    cmstest.Signature
		want as2.Kind
	}{
		"rsaEncryption":               {cmstest.Signature{}, 0},
		"sha256WithRSA":               {cmstest.Signature{Algorithm: cmstest.Algorithm(cmstest.OIDSHA256RSA)}, 0},
		"no parameters":               {cmstest.Signature{Digest: cmstest.Bare(cmstest.OIDSHA256), Algorithm: cmstest.Bare(cmstest.OIDRSA)}, 0},
		"signature OID for a digest":  {cmstest.Signature{Digest: cmstest.Algorithm(cmstest.OIDSHA256RSA)}, 0},
		"the same, undeclared":        {cmstest.Signature{Digest: cmstest.Algorithm(cmstest.OIDSHA256RSA), Declared: cmstest.Algorithm(cmstest.OIDSHA256)}, as2.KindAuthentication},
		"no attributes":               {cmstest.Signature{Plain: true}, 0},
		"attributes out of order":     {cmstest.Signature{Attrs: [][]byte{cmstest.Attribute(cmstest.OIDTime, []byte("\x17\x0d991231235959Z")), cmstest.Attribute(cmstest.OIDContent, cmstest.OIDData)}}, 0},
		"malformed attribute":         {cmstest.Signature{Attrs: [][]byte{cmstest.Attribute(cmstest.OIDTime, []byte{4, 1, 0})}}, 0},
		"algorithm protection":        {cmstest.Signature{Attrs: [][]byte{protection(cmstest.Algorithm(cmstest.OIDSHA256), append(slices.Clone(cmstest.OIDRSA), null...))}}, 0},
		"its other spelling":          {cmstest.Signature{Attrs: [][]byte{protection(cmstest.Bare(cmstest.OIDSHA256), cmstest.OIDSHA256RSA)}}, 0},
		"protection of another":       {cmstest.Signature{Attrs: [][]byte{protection(cmstest.Bare(cmstest.OIDSHA512RSA), cmstest.OIDRSA)}}, as2.KindAuthentication},
		"certificates of a kind [3]":  {cmstest.Signature{Certs: cmstest.TLV(0x83, []byte("?"))}, 0},
		"empty certificates":          {cmstest.Signature{Certs: []byte{}}, 0},
		"signature by another digest": {cmstest.Signature{Algorithm: cmstest.Algorithm(cmstest.OIDSHA512RSA)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, der := range [][]byte{tt.s.SignBy(sender, entity), cmstest.ToBER(tt.s.SignBy(sender, entity))} {
				m := signedMessage(entity, der)
				if tt.want != 0 {
					mustRefuse(t, m, policy(), tt.want)
				} else {
					mustOpen(t, m, edi, entity)
				}
			}
		})
	}
	for _, args := range [][]string{
		{"-keyopt", "rsa_padding_mode:pss"},
		{"-keyopt", "rsa_padding_mode:pss", "-keyopt", "rsa_pss_saltlen:0"},
		{"-keyopt", "rsa_padding_mode:pss", "-keyopt", "rsa_mgf1_md:sha1"},
		{"-keyopt", "rsa_padding_mode:pss", "-keyopt", "rsa_mgf1_md:sha512", "-keyopt", "rsa_pss_saltlen:17"},
	} {
		mustOpen(t, sign(t, entity, args...), edi, entity)
		forged := sign(t, entity, args...)
		forged.body = bytes.Replace(forged.body, []byte("UNH+1"), []byte("UNH+2"), 1)
		mustRefuse(t, forged, policy(), as2.KindIntegrity)
	}
}

// Rank 17: recipients and ciphers; RC2 by agreement only.
func TestFault17Recipients(t *testing.T) {
	t.Parallel()
	entity := part(edi)
	second := append([]string{"-aes-128-cbc"}, cmstest.Sender().CertFile(t))
	for _, args := range [][]string{
		second, {"-keyid"}, {"-keyopt", "rsa_padding_mode:oaep"}, {"-keyopt", "rsa_padding_mode:oaep", "-keyopt", "rsa_oaep_md:sha512"},
		{"-keyopt", "rsa_padding_mode:oaep", "-keyopt", "rsa_oaep_md:sha256", "-keyopt", "rsa_mgf1_md:sha1"}, {"-des3"}, {"-aes-192-cbc"},
		{"-pwri_password", "secret"},
	} {
		if args[0] != "-des3" && !strings.HasPrefix(args[0], "-aes") {
			args = append([]string{"-aes-256-cbc"}, args...)
		}
		mustOpen(t, encrypt(t, entity, args...), edi, entity)
	}
	mustRefuse(t, encrypt(t, entity, "-camellia256"), policy(), as2.KindDecryption)
	for _, bits := range []string{"-rc2-40", "-rc2-64", "-rc2-128"} {
		m := encrypt(t, entity, "-provider", "default", "-provider", "legacy", bits)
		mustRefuse(t, m, policy(), as2.KindDecryption)
		p := policy()
		p.Ciphers = []string{"aes-256-cbc", "rc2-cbc"}
		if opened, payload, err := m.open(p); err != nil || string(payload) != edi || opened.Cipher != "rc2-cbc" {
			t.Errorf("%s by agreement: %q, %v", bits, opened.Cipher, err)
		}
	}
}

// Rank 18: old and new certificates, on both sides; times that do not fit.
func TestFault18Rollover(t *testing.T) {
	t.Parallel()
	entity := part(edi)
	p := policy()
	p.Signers = []*x509.Certificate{cmstest.Other().Certificate, cmstest.Sender().Certificate}
	p.Keys = append(p.Keys, cmstest.Stranger().Key)
	for _, signer := range []cmstest.Party{cmstest.Sender(), cmstest.Other()} {
		for _, receiver := range []cmstest.Party{cmstest.Receiver(), cmstest.Stranger()} {
			m := signedMessage(entity, signer.Sign(t, entity))
			m = message{contentType: envelopedType, body: receiver.Encrypt(t, m.entity())}
			if opened, _, err := m.open(p); err != nil || opened.Signer != signer.Certificate {
				t.Errorf("%v", err)
			}
		}
	}
	early := cmstest.Signature{Attrs: [][]byte{cmstest.Attribute(cmstest.OIDTime, []byte("\x17\x0d700101000000Z"))}}
	mustOpen(t, signedMessage(entity, early.SignBy(cmstest.Sender(), entity)), edi, entity)
}

// Rank 19: whoever signs, it is the agreed key or nobody.
func TestFault19SignerAuthenticity(t *testing.T) {
	t.Parallel()
	entity := part(edi)
	for _, p := range []cmstest.Party{cmstest.Stranger(), cmstest.Other(), cmstest.Clone()} {
		certificate := p.Certificate.Raw
		for _, s := range []cmstest.Signature{{}, {Certs: certificate}, {Plain: true, Certs: certificate}} {
			mustRefuse(t, signedMessage(entity, s.SignBy(p, entity)), policy(), as2.KindAuthentication)
			s.Content = entity
			opaque := message{contentType: "application/pkcs7-mime; smime-type=signed-data", body: s.SignBy(p, entity)}
			mustRefuse(t, opaque, policy(), as2.KindAuthentication)
		}
	}
}
