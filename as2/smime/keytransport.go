package smime

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
)

// unwrap recovers the content key, size octets long. For RSAES-PKCS1-v1_5 a
// wrong padding yields a random key instead of a failure, so that the sender
// cannot learn which it was (RFC 3218 §2.3.2).
func (r recipient) unwrap(k Key, size int) ([]byte, bool) {
	private, ok := k.Private.(crypto.Decrypter)
	if !ok {
		return nil, false
	}
	if public, ok := private.Public().(*rsa.PublicKey); !ok || !usableRSA(public) {
		return nil, false
	}
	var opts crypto.DecrypterOpts
	switch r.algorithm {
	case oidRSA:
		//lint:ignore SA1019 RFC 4130 partners encrypt keys with PKCS #1 v1.5; reading it has the random-key defence
		opts = &rsa.PKCS1v15DecryptOptions{SessionKeyLen: size}
	case oidOAEP:
		oaep, ok := parseOAEP(r.params)
		if !ok {
			return nil, false
		}
		opts = oaep
	default:
		return nil, false
	}
	key, err := private.Decrypt(rand.Reader, r.key, opts)
	return key, err == nil && len(key) == size
}

// parseOAEP reads RSAES-OAEP-params (RFC 4055 §4.1); every field defaults, the
// hashes to SHA-1.
func parseOAEP(params []byte) (*rsa.OAEPOptions, bool) {
	opts := &rsa.OAEPOptions{Hash: crypto.SHA1, MGFHash: crypto.SHA1}
	if len(params) == 0 {
		return opts, true
	}
	top := cursor{rest: params}
	seq := top.enter(tagSequence)
	if seq.peek() == tagContext0 { // hashFunc
		inner := seq.enter(tagContext0)
		oid, _ := readAlgorithm(inner)
		opts.Hash = hashOf(oid)
	}
	if seq.peek() == tagContext1 { // maskGenFunc
		mgf, hash := readAlgorithm(seq.enter(tagContext1))
		oid, _ := readAlgorithm(&cursor{rest: hash})
		if opts.MGFHash = hashOf(oid); mgf != oidMGF1 {
			return nil, false
		}
	}
	if seq.peek() == tagContext2 { // pSourceFunc
		_, label := readAlgorithm(seq.enter(tagContext2))
		inner := cursor{rest: label}
		opts.Label = inner.octetString()
	}
	return opts, seq.err == nil && opts.Hash != 0 && opts.MGFHash != 0
}
