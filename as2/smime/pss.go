package smime

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"encoding/binary"
	"math/big"
)

// verifiesPSS checks RSASSA-PSS (RFC 4056 §3, RFC 8017 §8.1.2). The standard
// library masks with the digest that signs, which is what RFC 4055 §3.1
// recommends; some signers leave the mask's digest at its default, SHA-1.
func (s *signerInfo) verifiesPSS(key *rsa.PublicKey, sum []byte) bool {
	if len(s.params) == 0 {
		// The default would be SHA-1 throughout, which is not what signers that leave them out use: pyas2lib signs and
		// masks with the digest of the content. The digest of the attributes is under the signature either way.
		opts := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthAuto}
		return rsa.VerifyPSS(key, s.digest, sum, s.signature, opts) == nil
	}
	params, ok := parsePSS(s.params)
	if !ok || params.hash != s.digest {
		return false
	}
	if params.mask == params.hash {
		opts := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthAuto} // the salt's length shows in the signature
		return rsa.VerifyPSS(key, s.digest, sum, s.signature, opts) == nil
	}
	return params.verify(key, sum, s.signature)
}

// pssParams is RSASSA-PSS-params.
type pssParams struct {
	hash, mask crypto.Hash
	salt       int
}

// parsePSS reads RSASSA-PSS-params (RFC 4055 §3.1); every field defaults, to
// SHA-1 and a salt of 20 octets.
func parsePSS(params []byte) (p pssParams, ok bool) {
	p = pssParams{crypto.SHA1, crypto.SHA1, 20}
	top := cursor{rest: params}
	seq := top.enter(tagSequence)
	if seq.peek() == tagContext0 { // hashAlgorithm
		oid, _ := readAlgorithm(seq.enter(tagContext0))
		p.hash = hashOf(oid)
	}
	if seq.peek() == tagContext1 { // maskGenAlgorithm
		mgf, hash := readAlgorithm(seq.enter(tagContext1))
		oid, _ := readAlgorithm(&cursor{rest: hash})
		if p.mask = hashOf(oid); mgf != oidMGF1 {
			return p, false
		}
	}
	if seq.peek() == tagContext2 { // saltLength
		value := seq.enter(tagContext2).expect(tagInteger).body
		if len(value) == 0 || len(value) > 3 || value[0]&0x80 != 0 {
			return p, false
		}
		p.salt = int(new(big.Int).SetBytes(value).Int64())
	}
	ok = seq.err == nil && p.hash != 0 && p.mask != 0 && p.hash.Available() && p.mask.Available()
	return p, ok
}

// verify is EMSA-PSS-VERIFY (RFC 8017 §9.1.2) behind RSAVP1. Nothing in it is
// secret.
func (p pssParams) verify(key *rsa.PublicKey, sum, signature []byte) bool {
	if len(signature) != key.Size() {
		return false
	}
	c := new(big.Int).SetBytes(signature)
	if c.Cmp(key.N) >= 0 {
		return false
	}
	bits := key.N.BitLen() - 1
	em := make([]byte, (bits+7)/8)
	m := c.Exp(c, big.NewInt(int64(key.E)), key.N)
	if m.BitLen() > 8*len(em) {
		return false
	}
	m.FillBytes(em)
	size := p.hash.Size()
	if len(sum) != size || len(em) < size+p.salt+2 || em[len(em)-1] != 0xbc {
		return false
	}
	db, h := em[:len(em)-size-1], em[len(em)-size-1:len(em)-1]
	unused := byte(0xff) << (8 - (8*len(em) - bits))
	if db[0]&unused != 0 {
		return false
	}
	mgf1XOR(db, p.mask, h)
	db[0] &^= unused
	zeros := len(db) - p.salt - 1
	if len(bytes.TrimLeft(db[:zeros], "\x00")) > 0 || db[zeros] != 1 {
		return false
	}
	d := p.hash.New()
	d.Write(make([]byte, 8))
	d.Write(sum)
	d.Write(db[zeros+1:])
	return bytes.Equal(d.Sum(nil), h)
}

// mgf1XOR applies the mask of RFC 8017 appendix B.2.1.
func mgf1XOR(out []byte, h crypto.Hash, seed []byte) {
	for counter := uint32(0); len(out) > 0; counter++ {
		d := h.New()
		d.Write(seed)
		d.Write(binary.BigEndian.AppendUint32(nil, counter))
		for _, b := range d.Sum(nil) {
			if len(out) == 0 {
				return
			}
			out[0] ^= b
			out = out[1:]
		}
	}
}
