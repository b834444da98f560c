package cmstest

import (
	"bytes"
	"compress/zlib"
	"crypto"
	"crypto/rand"
	"encoding/asn1"
)

// Object identifiers in DER, for what openssl cannot be made to write.
var (
	OIDData       = oid(1, 2, 840, 113549, 1, 7, 1)
	OIDSigned     = oid(1, 2, 840, 113549, 1, 7, 2)
	OIDCompressed = oid(1, 2, 840, 113549, 1, 9, 16, 1, 9)
	OIDZLIB       = oid(1, 2, 840, 113549, 1, 9, 16, 3, 8)
	OIDRSA        = oid(1, 2, 840, 113549, 1, 1, 1)
	OIDSHA256RSA  = oid(1, 2, 840, 113549, 1, 1, 11)
	OIDSHA512RSA  = oid(1, 2, 840, 113549, 1, 1, 13)
	OIDSHA256     = oid(2, 16, 840, 1, 101, 3, 4, 2, 1)
	OIDContent    = oid(1, 2, 840, 113549, 1, 9, 3)
	OIDDigest     = oid(1, 2, 840, 113549, 1, 9, 4)
	OIDTime       = oid(1, 2, 840, 113549, 1, 9, 5)
	OIDProtection = oid(1, 2, 840, 113549, 1, 9, 52)
)

func oid(arcs ...int) []byte {
	der, err := asn1.Marshal(asn1.ObjectIdentifier(arcs))
	if err != nil {
		panic(err)
	}
	return der
}

// TLV encodes an element in DER.
func TLV(tag byte, contents ...[]byte) []byte {
	body := bytes.Join(contents, nil)
	n := len(body)
	switch {
	case n < 0x80:
		return append([]byte{tag, byte(n)}, body...)
	case n < 0x100:
		return append([]byte{tag, 0x81, byte(n)}, body...)
	case n < 0x10000:
		return append([]byte{tag, 0x82, byte(n >> 8), byte(n)}, body...)
	}
	return append([]byte{tag, 0x83, byte(n >> 16), byte(n >> 8), byte(n)}, body...)
}

// Deflate compresses as zlib does (RFC 1950).
func Deflate(content []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write(content)
	w.Close()
	return b.Bytes()
}

// Compressed makes a CompressedData in DER of octets that are compressed
// already (RFC 3274 §1.1).
func Compressed(octets []byte) []byte {
	return TLV(0x30, OIDCompressed, TLV(0xa0, TLV(0x30, []byte{2, 1, 0}, TLV(0x30, OIDZLIB),
		TLV(0x30, OIDData, TLV(0xa0, TLV(0x04, octets))))))
}

// ToBER re-encodes DER in the loosest BER: indefinite lengths for everything
// constructed, the content in nested segments, some of them empty, lengths with
// leading zeros. The signed attributes of a SignerInfo stay as they are
// (RFC 5652 §5.4).
func ToBER(der []byte) []byte { return toBER(der, 0) }

func toBER(der []byte, depth int) []byte {
	var out []byte
	for len(der) > 0 {
		var v asn1.RawValue
		rest, err := asn1.Unmarshal(der, &v)
		if err != nil {
			panic(err)
		}
		tag, whole := der[0], der[:len(der)-len(rest)]
		der = rest
		content := tag == 0x80 && depth == 4 || tag == 0x04 && depth == 5
		switch {
		case tag == 0xa0 && depth == 5, tag == 0xa1 && depth > 2, depth > 5 && tag == 0x31:
			out = append(out, whole...)
		case tag&0x20 != 0:
			out = append(append(append(out, tag, 0x80), toBER(v.Bytes, depth+1)...), 0, 0)
		case content && len(v.Bytes) > 3:
			out = append(out, tag|0x20, 0x80, 0x04, 0x00, 0x04, 0x01, v.Bytes[0])
			out = append(out, 0x24, 0x80, 0x24, 0x80, 0x04, 0x02, v.Bytes[1], v.Bytes[2], 0x04, 0x00, 0, 0, 0, 0)
			out = append(append(out, long(0x04, v.Bytes[3:])...), 0, 0)
		default:
			out = append(out, long(tag, v.Bytes)...)
		}
	}
	return out
}

// long encodes with a length of five octets.
func long(tag byte, body []byte) []byte {
	n := len(body)
	return append([]byte{tag, 0x85, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, body...)
}

// Signature is a SignedData to be put together by hand, with SHA-256.
type Signature struct {
	Declared  []byte   // AlgorithmIdentifier in digestAlgorithms
	Digest    []byte   // and in the SignerInfo
	Algorithm []byte   // of the signature
	Attrs     [][]byte // signed attributes besides the message digest, in DER
	Plain     bool     // sign the content itself, without attributes
	Certs     []byte   // contents of the certificates field
	Content   []byte   // nil: detached
}

// Algorithm is an AlgorithmIdentifier with NULL for its parameters.
func Algorithm(oid []byte) []byte { return TLV(0x30, oid, []byte{5, 0}) }

// Bare is an AlgorithmIdentifier without parameters.
func Bare(oid []byte) []byte { return TLV(0x30, oid) }

// Attribute is a signed attribute with one value.
func Attribute(oid []byte, value []byte) []byte { return TLV(0x30, oid, TLV(0x31, value)) }

// SignBy puts the SignedData over content together.
func (s Signature) SignBy(p Party, content []byte) []byte {
	sum := func(b []byte) []byte { h := crypto.SHA256.New(); h.Write(b); return h.Sum(nil) }
	or := func(b, other []byte) []byte {
		if b == nil {
			return other
		}
		return b
	}
	digest := or(s.Digest, Algorithm(OIDSHA256))
	serial, err := asn1.Marshal(p.Certificate.SerialNumber)
	if err != nil {
		panic(err)
	}
	info := [][]byte{{2, 1, 1}, TLV(0x30, p.Certificate.RawIssuer, serial), digest}
	tbs := content
	if !s.Plain {
		attrs := bytes.Join(append(s.Attrs, Attribute(OIDDigest, TLV(0x04, sum(content)))), nil)
		tbs = TLV(0x31, attrs)
		info = append(info, TLV(0xa0, attrs))
	}
	signature, err := p.Private.(crypto.Signer).Sign(rand.Reader, sum(tbs), crypto.SHA256)
	if err != nil {
		panic(err)
	}
	info = append(info, or(s.Algorithm, Algorithm(OIDRSA)), TLV(0x04, signature))
	encap := TLV(0x30, OIDData)
	if s.Content != nil {
		encap = TLV(0x30, OIDData, TLV(0xa0, TLV(0x04, s.Content)))
	}
	data := [][]byte{{2, 1, 1}, TLV(0x31, or(s.Declared, digest)), encap}
	if s.Certs != nil {
		data = append(data, TLV(0xa0, s.Certs))
	}
	data = append(data, TLV(0x31, TLV(0x30, info...)))
	return TLV(0x30, OIDSigned, TLV(0xa0, TLV(0x30, data...)))
}
