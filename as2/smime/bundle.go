package smime

import (
	"crypto/x509"
	"errors"
	"fmt"
)

// ErrBundle says that octets are no certs-only bundle at all.
var ErrBundle = errors.New("smime: not a PKCS #7 bundle of certificates")

// Bundle reads the certificates of a certs-only SignedData (RFC 5652 §5.1), which is what .p7b and .p7c files hold, DER or
// BER. It is for certificates that somebody hands over, never for those embedded in messages: nothing here is verified.
// One that cannot be read is an error, since it may be the one that is meant.
func Bundle(octets []byte) ([]*x509.Certificate, error) {
	top := cursor{rest: octets}
	info := top.enter(tagSequence)
	if kindOf(string(info.expect(tagOID).body)) != Signed {
		return nil, ErrBundle
	}
	data := info.enter(tagContext0).enter(tagSequence)
	data.expect(tagInteger)
	data.expect(tagSet)      // digest algorithms
	data.expect(tagSequence) // content info
	list := data.enter(tagContext0)
	if list.err != nil {
		return nil, ErrBundle
	}
	var certificates []*x509.Certificate
	for list.more() {
		e := list.next()
		if e.tag != tagSequence {
			continue // an attribute certificate or another choice (RFC 5652 §10.2.2)
		}
		c, err := x509.ParseCertificate(e.raw)
		if err != nil {
			return nil, fmt.Errorf("smime: certificate %d of the bundle: %w", len(certificates)+1, err)
		}
		certificates = append(certificates, c)
	}
	if list.err != nil || len(certificates) == 0 {
		return nil, ErrBundle
	}
	return certificates, nil
}
