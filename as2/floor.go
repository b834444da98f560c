package as2

import (
	"crypto"
	"slices"
	"strings"

	"firstcopy/mdn"
)

const digestDetail = "The digest algorithm of the signature is not allowed."

// floor compares what a message has with what the agreement demands.
func (p *Policy) floor(o *Opened) error {
	detail := ""
	switch {
	case p.RequireEncrypted && !o.Encrypted:
		detail = "The agreement demands encrypted messages."
	case p.RequireSigned && !o.Signed:
		detail = "The agreement demands signed messages."
	case o.Signed && !p.allowsDigest(o.Digest):
		detail = digestDetail
	case o.Encrypted && !p.allowsCipher(o.Cipher):
		detail = "The encryption algorithm is not allowed."
	default:
		return nil
	}
	return refuse(KindInsufficientSecurity, detail, nil)
}

func (p *Policy) allowsDigest(h crypto.Hash) bool {
	if len(p.Digests) == 0 {
		return h != crypto.MD5
	}
	return slices.ContainsFunc(p.Digests, func(name string) bool {
		allowed, ok := mdn.HashByName(name)
		return ok && allowed == h
	})
}

// allowsCipher needs no default list: smime opens nothing weaker than 3DES
// unless it is told to.
func (p *Policy) allowsCipher(name string) bool {
	return len(p.Ciphers) == 0 || p.namesCipher(name)
}

// namesCipher reports whether the agreement names a cipher.
func (p *Policy) namesCipher(name string) bool {
	return slices.ContainsFunc(p.Ciphers, func(allowed string) bool {
		return cipherKey(allowed) == cipherKey(name)
	})
}

// cipherKey makes the spellings of a cipher comparable: "AES256-CBC",
// "aes-256-cbc" and "aes256_CBC" are one, and so are the names of 3DES.
func cipherKey(name string) string {
	key := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	switch key {
	case "3des", "des3", "desede3", "desede3cbc", "tripledes":
		return "3descbc"
	case "rc2", "rc240cbc", "rc264cbc", "rc2128cbc", "rc2128":
		return "rc2cbc"
	}
	return key
}
