package mdn

import (
	"crypto"
	_ "crypto/md5"    // links MD5, for HashByName's promise that h.New works
	_ "crypto/sha1"   // links SHA-1
	_ "crypto/sha256" // links SHA-224 and SHA-256
	_ "crypto/sha512" // links SHA-384 and SHA-512
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// defaultHash is used where nobody says otherwise. RFC 4130 §7.4.3 says SHA-1
// for unsigned messages; its revision prefers SHA-256, and no sender that named
// no algorithm has reason to expect the weaker one.
const defaultHash = crypto.SHA256

// MIC is a Received-content-MIC: the digest over the content a sender sent
// (RFC 4130 §7.3.1, §7.4.3).
type MIC struct {
	// Digest is the digest in binary.
	Digest []byte
	// Algorithm is its name as spelled on the wire: the sender's own spelling,
	// because some senders compare it as text.
	Algorithm string
}

// IsZero reports whether there is no digest.
func (m MIC) IsZero() bool { return len(m.Digest) == 0 }

// String is the field's value: base64, comma, one space, algorithm; "" for a
// zero MIC.
func (m MIC) String() string {
	if m.IsZero() {
		return ""
	}
	return base64.StdEncoding.EncodeToString(m.Digest) + ", " + m.Algorithm
}

// ParseMIC reads the value of a Received-content-MIC field: with or without the
// space behind the comma, quotes or padding, and with base64 that was folded.
// Algorithm is as spelled, "" if it is missing.
func ParseMIC(s string) (MIC, error) {
	encoded, algorithm, _ := strings.Cut(s, ",")
	digest, err := decodeBase64([]byte(encoded))
	if err != nil {
		return MIC{}, fmt.Errorf("mdn: content digest: %w", err)
	}
	if len(digest) == 0 {
		return MIC{}, errors.New("mdn: content digest is empty")
	}
	return MIC{Digest: digest, Algorithm: unquote(algorithm)}, nil
}

// names are the digests that may stand in a receipt, in the spelling of
// RFC 5751 §3.4.3.2, save SHA-1, which RFC 4130 §7.3 calls "sha1".
var names = map[crypto.Hash]string{
	crypto.MD5: "md5", crypto.SHA1: "sha1", crypto.SHA224: "sha-224",
	crypto.SHA256: "sha-256", crypto.SHA384: "sha-384", crypto.SHA512: "sha-512",
}

// hashes maps names without case, dashes and decoration.
var hashes = map[string]crypto.Hash{
	"md5": crypto.MD5, "sha": crypto.SHA1, "sha1": crypto.SHA1,
	"sha224": crypto.SHA224, "sha2224": crypto.SHA224,
	"sha256": crypto.SHA256, "sha2256": crypto.SHA256,
	"sha384": crypto.SHA384, "sha2384": crypto.SHA384,
	"sha512": crypto.SHA512, "sha2512": crypto.SHA512,
}

var plainName = strings.NewReplacer("-", "", "_", "")

// HashByName understands the names digests have in micalg parameters and
// receipts: sha1, SHA-1, sha2-256, rsa-sha256, "sha-256", SHA256withRSA, md5;
// rsassa-pss-sha-256 is phase2's, which takes no other name back.
// A hash it returns is linked into the program. Whether it is good enough is the
// caller's policy.
func HashByName(name string) (crypto.Hash, bool) {
	s := plainName.Replace(strings.ToLower(unquote(name)))
	s = strings.TrimPrefix(strings.TrimPrefix(s, "rsassapss"), "rsa")
	s, _, _ = strings.Cut(s, "withrsa")
	h, found := hashes[s]
	return h, found
}

// NameOf is the name to write for h: "sha-256", but "sha1", which is how
// RFC 4130 spells it; "" for a hash that has no place in a receipt.
func NameOf(h crypto.Hash) string { return names[h] }

// ChooseMIC chooses the digest of a receipt: the first of requested that is
// supported, in the sender's spelling (RFC 4130 §7.3); if none is requested,
// that of the message's signature (§7.4.3), 0 meaning there is none; else
// SHA-256. ok is false if digests were requested but none is supported: then
// [UnsupportedMICAlgorithms] is the answer, and h and spelling, chosen as though
// nothing had been requested, serve to sign it. MD5 is not supported.
func ChooseMIC(requested []string, signature crypto.Hash) (h crypto.Hash, spelling string, ok bool) {
	ok = true
	for _, name := range requested {
		name = unquote(name)
		if name == "" {
			continue
		}
		if h, found := HashByName(name); found && h != crypto.MD5 {
			return h, name, true
		}
		ok = false
	}
	if h = signature; NameOf(h) == "" || h == crypto.MD5 {
		h = defaultHash
	}
	return h, NameOf(h), ok
}
