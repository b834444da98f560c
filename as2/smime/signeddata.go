package smime

import (
	"bytes"
	"crypto"
	"fmt"
)

// maxSigners bounds the public-key operations one signature can cost.
const maxSigners = 16

// signerInfo is a SignerInfo (RFC 5652 §5.3), parsed but not verified.
type signerInfo struct {
	id        signerID
	digest    crypto.Hash
	attrs     []byte // signedAttrs contents as transmitted, nil if absent
	algorithm string // signature OID
	signature []byte
}

// parseSignedData reads the SignerInfos of a SignedData. Embedded certificates
// and revocation lists are passed over unread: they are never trusted, and
// many are malformed. Signers with unknown digests are left out.
func parseSignedData(b []byte) ([]signerInfo, error) {
	top := cursor{rest: b}
	info := top.enter(tagSequence)
	if kindOf(string(info.expect(tagOID).body)) != Signed {
		return nil, fmt.Errorf("%w: not a CMS SignedData", ErrNoSigner)
	}
	data := info.enter(tagContext0).enter(tagSequence)
	data.expect(tagInteger)
	data.expect(tagSet)      // digestAlgorithms: each signer repeats its own
	data.expect(tagSequence) // encapContentInfo: the content is detached
	data.skip(tagContext0)   // certificates
	data.skip(tagContext1)   // crls
	set := data.enter(tagSet)

	var signers []signerInfo
	for set.more() && len(signers) < maxSigners {
		if s, ok := readSigner(set.enter(tagSequence)); ok {
			signers = append(signers, s)
		}
	}
	if set.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSigner, set.err)
	}
	return signers, nil
}

func readSigner(c *cursor) (signerInfo, bool) {
	c.expect(tagInteger)
	s := signerInfo{id: readID(c)}
	oid, _ := readAlgorithm(c)
	s.digest = hashOf(oid)
	if c.peek() == tagContext0 {
		s.attrs = c.next().body
	}
	s.algorithm, _ = readAlgorithm(c)
	sig, err := octets(c.expect(tagOctetString))
	s.signature = sig
	return s, c.err == nil && err == nil && s.digest != 0 && s.digest.Available()
}

// messageDigest returns the message-digest attribute (RFC 5652 §11.2), of
// which there is exactly one with one value.
func (s signerInfo) messageDigest() ([]byte, bool) {
	var digest []byte
	c := cursor{rest: s.attrs}
	for c.more() {
		attr := c.enter(tagSequence)
		if string(attr.expect(tagOID).body) != oidMessageDigest {
			continue
		}
		values := attr.enter(tagSet)
		value, err := octets(values.expect(tagOctetString))
		if digest != nil || values.err != nil || values.more() || err != nil {
			return nil, false
		}
		digest = value
	}
	return digest, c.err == nil && digest != nil
}

// signedOctets returns the encodings of the signed attributes that may have
// been signed: the DER order that RFC 5652 §5.4 demands, which the transmitted
// order usually is, and otherwise both, because signers exist that sign what
// they send. The same attributes are authenticated either way.
func (s signerInfo) signedOctets() [][]byte {
	wire := derSet(s.attrs)
	sorted, err := sortedMembers(s.attrs)
	if err != nil || bytes.Equal(sorted, s.attrs) {
		return [][]byte{wire}
	}
	return [][]byte{derSet(sorted), wire}
}
