package smime

import "crypto/x509"

// derTLV encodes an element in DER: identifier, length, contents.
func derTLV(tag byte, contents ...[]byte) []byte {
	n := 0
	for _, c := range contents {
		n += len(c)
	}
	out := append(make([]byte, 0, n+10), tag)
	out = appendLength(out, int64(n))
	for _, c := range contents {
		out = append(out, c...)
	}
	return out
}

// appendLength appends length octets in the definite form (X.690 §10.1).
func appendLength(b []byte, n int64) []byte {
	if n < 0x80 {
		return append(b, byte(n))
	}
	size := 0
	for v := n; v > 0; v >>= 8 {
		size++
	}
	b = append(b, 0x80|byte(size))
	for size--; size >= 0; size-- {
		b = append(b, byte(n>>(8*size)))
	}
	return b
}

func derInteger(n byte) []byte { return []byte{tagInteger, 1, n} }

func derOID(oid string) []byte { return derTLV(tagOID, []byte(oid)) }

// derAlgorithm is an AlgorithmIdentifier; without parameters they are left out.
func derAlgorithm(oid string, params ...[]byte) []byte {
	return derTLV(tagSequence, append([][]byte{derOID(oid)}, params...)...)
}

var derNull = []byte{0x05, 0x00}

// issuerAndSerial is an IssuerAndSerialNumber (RFC 5652 §10.2.4). The serial is
// taken from the certificate's own encoding, whatever it is.
func issuerAndSerial(cert *x509.Certificate) []byte {
	tbs := cursor{rest: cert.RawTBSCertificate}
	c := tbs.enter(tagSequence)
	c.skip(tagContext0) // version
	return derTLV(tagSequence, cert.RawIssuer, c.expect(tagInteger).raw)
}
