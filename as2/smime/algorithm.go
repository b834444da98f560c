package smime

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	_ "crypto/md5"    // linked in for partners whose agreement still allows it
	_ "crypto/sha1"   // RFC 4130's default digest
	_ "crypto/sha256" // SHA-224 and SHA-256
	_ "crypto/sha512" // SHA-384 and SHA-512
)

// Contents octets of the object identifiers in use, as strings so that they
// can be switched on.
const (
	oidPKCS1 = "\x2a\x86\x48\x86\xf7\x0d\x01\x01" // 1.2.840.113549.1.1
	oidPKCS7 = "\x2a\x86\x48\x86\xf7\x0d\x01\x07" // 1.2.840.113549.1.7
	oidPKCS9 = "\x2a\x86\x48\x86\xf7\x0d\x01\x09" // 1.2.840.113549.1.9
	oidAES   = "\x60\x86\x48\x01\x65\x03\x04\x01" // 2.16.840.1.101.3.4.1
	oidSHA2  = "\x60\x86\x48\x01\x65\x03\x04\x02" // 2.16.840.1.101.3.4.2
	oidSHA1  = "\x2b\x0e\x03\x02\x1a"             // 1.3.14.3.2.26
	oidMD5   = "\x2a\x86\x48\x86\xf7\x0d\x02\x05" // 1.2.840.113549.2.5
	oid3DES  = "\x2a\x86\x48\x86\xf7\x0d\x03\x07" // 1.2.840.113549.3.7
	oidSKI   = "\x55\x1d\x0e"                     // 2.5.29.14
	oidSMIME = oidPKCS9 + "\x10"                  // 1.2.840.113549.1.9.16
	oidMGF1  = oidPKCS1 + "\x08"                  // RFC 8017 appendix B.2.1
	oidRSA   = oidPKCS1 + "\x01"                  // rsaEncryption
	oidOAEP  = oidPKCS1 + "\x07"                  // id-RSAES-OAEP
	oidPSS   = oidPKCS1 + "\x0a"                  // id-RSASSA-PSS
	oidData  = oidPKCS7 + "\x01"                  // id-data

	oidMessageDigest = oidPKCS9 + "\x04" // RFC 5652 §11.2
)

// ContentKind is what a CMS ContentInfo holds.
type ContentKind uint8

// The kinds AS2 meets. What is no CMS, or CMS of another kind, is Unknown.
const (
	Unknown       ContentKind = iota
	Enveloped                 // EnvelopedData, RFC 5652 §6
	AuthEnveloped             // AuthEnvelopedData, RFC 5083
	Signed                    // SignedData, RFC 5652 §5
	Compressed                // CompressedData, RFC 3274
)

// Kind tells the kind of a binary CMS object by its content type OID, which,
// unlike the smime-type parameter, is always there and always right. The first
// 32 octets are enough.
func Kind(prefix []byte) ContentKind {
	if len(prefix) < 2 || prefix[0] != tagSequence {
		return Unknown
	}
	head := 2
	if prefix[1] > 0x80 {
		head += int(prefix[1] & 0x7f)
	}
	if len(prefix) < head+2 || prefix[head] != tagOID {
		return Unknown
	}
	oid := prefix[head+2:]
	if n := int(prefix[head+1]); n <= len(oid) {
		return kindOf(string(oid[:n]))
	}
	return Unknown
}

func kindOf(oid string) ContentKind {
	switch oid {
	case oidPKCS7 + "\x03":
		return Enveloped
	case oidSMIME + "\x01\x17":
		return AuthEnveloped
	case oidPKCS7 + "\x02":
		return Signed
	case oidSMIME + "\x01\x09":
		return Compressed
	}
	return Unknown
}

// hashOf maps a digest algorithm OID (RFC 5754 §2, RFC 3370 §2) to its hash,
// 0 if unknown. Signature OIDs in this place are not accepted: RFC 5652
// §10.1.1 wants a digest algorithm.
func hashOf(oid string) crypto.Hash {
	switch oid {
	case oidSHA1:
		return crypto.SHA1
	case oidSHA2 + "\x01":
		return crypto.SHA256
	case oidSHA2 + "\x02":
		return crypto.SHA384
	case oidSHA2 + "\x03":
		return crypto.SHA512
	case oidSHA2 + "\x04":
		return crypto.SHA224
	case oidMD5:
		return crypto.MD5
	}
	return 0
}

// suite is a content encryption algorithm.
type suite struct {
	name  string
	key   int // octets
	block func(key []byte) (cipher.Block, error)
	gcm   bool
}

// suiteOf finds a content encryption algorithm by OID (RFC 3565, RFC 5084,
// RFC 3370 §5.1). An unknown one has no name.
func suiteOf(oid string) suite {
	switch oid {
	case oidAES + "\x02":
		return suite{"aes-128-cbc", 16, aes.NewCipher, false}
	case oidAES + "\x16":
		return suite{"aes-192-cbc", 24, aes.NewCipher, false}
	case oidAES + "\x2a":
		return suite{"aes-256-cbc", 32, aes.NewCipher, false}
	case oidAES + "\x06":
		return suite{"aes-128-gcm", 16, aes.NewCipher, true}
	case oidAES + "\x1a":
		return suite{"aes-192-gcm", 24, aes.NewCipher, true}
	case oidAES + "\x2e":
		return suite{"aes-256-gcm", 32, aes.NewCipher, true}
	case oid3DES:
		return suite{"3des-cbc", 24, des.NewTripleDESCipher, false}
	}
	return suite{}
}
