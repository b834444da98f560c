package smime

import (
	"bytes"
	"crypto/x509"
	"math/big"
)

// recipient is a KeyTransRecipientInfo (RFC 5652 §6.2.1).
type recipient struct {
	id        signerID
	algorithm string // key encryption OID
	params    []byte
	key       []byte // the encrypted content key
}

// readRecipient reads a key transport recipient.
func readRecipient(e element) (recipient, bool) {
	c := cursor{rest: e.body}
	c.expect(tagInteger)
	r := recipient{id: readID(&c)}
	r.algorithm, r.params = readAlgorithm(&c)
	key, err := octets(c.next())
	r.key = key
	return r, c.err == nil && err == nil
}

// readAlgorithm reads an AlgorithmIdentifier: its OID and the encoding of its
// parameters, if any.
func readAlgorithm(c *cursor) (oid string, params []byte) {
	seq := c.enter(tagSequence)
	oid = string(seq.expect(tagOID).body)
	if seq.more() {
		params = seq.next().raw
	}
	if seq.err != nil {
		c.err = seq.err
	}
	return oid, params
}

// signerID is a RecipientIdentifier or SignerIdentifier: issuer and serial, or
// a subject key identifier.
type signerID struct {
	issuer []byte // DER Name
	serial []byte // INTEGER contents
	keyID  []byte
}

func readID(c *cursor) (id signerID) {
	switch c.peek() {
	case tagSequence:
		seq := c.enter(tagSequence)
		id.issuer = seq.expect(tagSequence).raw
		id.serial = seq.expect(tagInteger).body
		if seq.err != nil {
			c.err = seq.err
		}
	case tagImplicit0:
		id.keyID = c.next().body
	default: // [0] wrapped explicitly by some old senders, or in segments
		inner := c.enter(tagContext0)
		id.keyID = inner.octetString()
		if inner.err != nil {
			c.err = inner.err
		}
	}
	return id
}

// names reports whether id means cert. A certificate without the subject key
// identifier extension matches no key identifier.
func (id signerID) names(cert *x509.Certificate) bool {
	if cert == nil {
		return false
	}
	if id.keyID != nil {
		return len(cert.SubjectKeyId) > 0 && bytes.Equal(id.keyID, cert.SubjectKeyId)
	}
	return bytes.Equal(id.issuer, cert.RawIssuer) && id.sameSerial(cert)
}

// sameSerial compares contents octets, so that negative serials, which RFC 5280
// §4.1.2.2 asks receivers to be prepared for, are as good as others.
func (id signerID) sameSerial(cert *x509.Certificate) bool {
	if len(id.serial) == 0 || len(id.serial) > 64 || cert == nil || cert.SerialNumber == nil {
		return false
	}
	serial := new(big.Int).SetBytes(id.serial)
	if id.serial[0]&0x80 != 0 && cert.SerialNumber.Sign() < 0 {
		serial.Sub(serial, new(big.Int).Lsh(big.NewInt(1), uint(8*len(id.serial))))
	}
	return serial.Cmp(cert.SerialNumber) == 0
}
