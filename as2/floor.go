package as2

import (
	"crypto"
	"slices"
	"strings"

	"firstcopy/mdn"
)

// floor compares what a message has with what the agreement demands.
func (p *Policy) floor(o *Opened) error {
	detail := ""
	switch {
	case p.RequireEncrypted && !o.Encrypted:
		detail = "The agreement demands encrypted messages."
	case p.RequireSigned && !o.Signed:
		detail = "The agreement demands signed messages."
	case o.Signed && !p.allowsDigest(o.Digest):
		detail = "The digest algorithm of the signature is not allowed."
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

// allowsCipher needs no default list: smime opens nothing weaker than 3DES.
func (p *Policy) allowsCipher(name string) bool {
	return len(p.Ciphers) == 0 || slices.ContainsFunc(p.Ciphers, func(allowed string) bool {
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
	}
	return key
}
