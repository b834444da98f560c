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
	oidRC2   = "\x2a\x86\x48\x86\xf7\x0d\x03\x02" // 1.2.840.113549.3.2
	oidECDSA = "\x2a\x86\x48\xce\x3d\x04"         // 1.2.840.10045.4
	oidSKI   = "\x55\x1d\x0e"                     // 2.5.29.14
	oidSMIME = oidPKCS9 + "\x10"                  // 1.2.840.113549.1.9.16
	oidMGF1  = oidPKCS1 + "\x08"                  // RFC 8017 appendix B.2.1
	oidRSA   = oidPKCS1 + "\x01"                  // rsaEncryption
	oidOAEP  = oidPKCS1 + "\x07"                  // id-RSAES-OAEP
	oidPSS   = oidPKCS1 + "\x0a"                  // id-RSASSA-PSS
	oidData  = oidPKCS7 + "\x01"                  // id-data

	oidEnveloped     = oidPKCS7 + "\x03"
	oidSigned        = oidPKCS7 + "\x02"
	oidAuthEnveloped = oidSMIME + "\x01\x17"
	oidCompressed    = oidSMIME + "\x01\x09"
	oidZLIB          = oidSMIME + "\x03\x08" // RFC 3274 §2

	oidContentType   = oidPKCS9 + "\x03" // RFC 5652 §11.1
	oidMessageDigest = oidPKCS9 + "\x04" // §11.2
	oidSigningTime   = oidPKCS9 + "\x05" // §11.3
	oidProtection    = oidPKCS9 + "\x34" // CMSAlgorithmProtection, RFC 6211
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
	outer, ok := parseHead(prefix)
	if !ok || len(prefix) < outer.size+2 || prefix[outer.size] != tagOID {
		return Unknown
	}
	oid, ok := parseHead(prefix[outer.size:])
	if !ok {
		return Unknown
	}
	contents := prefix[outer.size+oid.size:]
	if oid.length < 0 || oid.length > int64(len(contents)) {
		return Unknown
	}
	return kindOf(string(contents[:oid.length]))
}

func kindOf(oid string) ContentKind {
	switch oid {
	case oidEnveloped:
		return Enveloped
	case oidAuthEnveloped:
		return AuthEnveloped
	case oidSigned:
		return Signed
	case oidCompressed:
		return Compressed
	}
	return Unknown
}

// hashOf maps a digest algorithm OID (RFC 5754 §2, RFC 3370 §2) to its hash,
// 0 if unknown.
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

// hashOfSignature maps a signature algorithm OID that names its digest (RFC
// 3370 §3, RFC 5754 §3) to that digest, 0 if unknown.
func hashOfSignature(oid string) crypto.Hash {
	switch oid {
	case oidPKCS1 + "\x04":
		return crypto.MD5
	case oidPKCS1 + "\x05", oidECDSA + "\x01":
		return crypto.SHA1
	case oidPKCS1 + "\x0e", oidECDSA + "\x03\x01":
		return crypto.SHA224
	case oidPKCS1 + "\x0b", oidECDSA + "\x03\x02":
		return crypto.SHA256
	case oidPKCS1 + "\x0c", oidECDSA + "\x03\x03":
		return crypto.SHA384
	case oidPKCS1 + "\x0d", oidECDSA + "\x03\x04":
		return crypto.SHA512
	}
	return 0
}

// suite is a content encryption algorithm.
type suite struct {
	name  string
	key   int // octets; 0 for RC2, whose parameters say
	block func(key []byte) (cipher.Block, error)
	gcm   bool
	oid   string // where it is to be written
}

// suiteOf finds a content encryption algorithm by OID (RFC 3565, RFC 5084,
// RFC 3370 §5.1). An unknown one has no name.
func suiteOf(oid string) suite {
	switch oid {
	case oidAES + "\x02":
		return suite{name: "aes-128-cbc", key: 16, block: aes.NewCipher}
	case oidAES + "\x16":
		return suite{name: "aes-192-cbc", key: 24, block: aes.NewCipher}
	case oidAES + "\x2a":
		return suite{name: "aes-256-cbc", key: 32, block: aes.NewCipher}
	case oidAES + "\x06":
		return suite{name: "aes-128-gcm", key: 16, block: aes.NewCipher, gcm: true}
	case oidAES + "\x1a":
		return suite{name: "aes-192-gcm", key: 24, block: aes.NewCipher, gcm: true}
	case oidAES + "\x2e":
		return suite{name: "aes-256-gcm", key: 32, block: aes.NewCipher, gcm: true}
	case oid3DES:
		return suite{name: "3des-cbc", key: 24, block: des.NewTripleDESCipher}
	case oidRC2:
		return suite{name: "rc2-cbc", key: 0, block: newRC2}
	}
	return suite{}
}
