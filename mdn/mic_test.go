package mdn_test

import (
	"bytes"
	"crypto"
	"testing"

	"firstcopy/mdn"
)

func TestMICString(t *testing.T) {
	t.Parallel()
	m := mdn.MIC{Digest: []byte{0xfb, 0xff, 0x01, 0x02}, Algorithm: "SHA-256"}
	if got, want := m.String(), "+/8BAg==, SHA-256"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if m.IsZero() {
		t.Error("a digest is taken for none")
	}
	if zero := (mdn.MIC{Algorithm: "sha1"}); !zero.IsZero() || zero.String() != "" {
		t.Errorf("no digest is written as %q", zero)
	}
}

func TestParseMIC(t *testing.T) {
	t.Parallel()
	digest := []byte{0xfb, 0xff, 0x01, 0x02}
	tests := map[string]string{
		"+/8BAg==, sha-256":     "sha-256",
		"+/8BAg==,sha1":         "sha1",
		"+/8BAg== ,\tSHA1 ":     "SHA1",
		"+/8BAg, sha1":          "sha1",
		"+/8B Ag==, sha1":       "sha1",
		`+/8BAg==, "sha-256"`:   "sha-256",
		"+/8BAg==":              "",
		" +/8BAg== , rsa-sha1 ": "rsa-sha1",
	}
	for in, algorithm := range tests {
		got, err := mdn.ParseMIC(in)
		if err != nil || !bytes.Equal(got.Digest, digest) || got.Algorithm != algorithm {
			t.Errorf("%q: got %x %q, %v", in, got.Digest, got.Algorithm, err)
		}
	}
	for _, in := range []string{"", ", sha1", "A, sha1", "====, sha1"} {
		if got, err := mdn.ParseMIC(in); err == nil {
			t.Errorf("%q: got %x and no error", in, got.Digest)
		}
	}
}

func TestHashByName(t *testing.T) {
	t.Parallel()
	tests := map[crypto.Hash][]string{
		crypto.MD5:    {"md5", "MD5", "rsa-md5"},
		crypto.SHA1:   {"sha1", "sha-1", "SHA-1", "SHA1", "rsa-sha1", "RSA-SHA1", "sha", "SHA1withRSA"},
		crypto.SHA224: {"sha-224", "sha2-224"},
		crypto.SHA256: {"sha256", "sha-256", "SHA256", "sha2-256", "sha2_256", "rsa-sha256", `"sha-256"`, " sha_256 ", "SHA256withRSAEncryption", "rsassa-pss-sha-256"},
		crypto.SHA384: {"sha384", "SHA-384", "sha2-384"},
		crypto.SHA512: {"sha512", "SHA-512", "sha2-512"},
	}
	for want, spellings := range tests {
		if back, ok := mdn.HashByName(mdn.NameOf(want)); !ok || back != want {
			t.Errorf("%v: its name %q is read as %v", want, mdn.NameOf(want), back)
		}
		if !want.Available() {
			t.Errorf("%v is not linked", want)
		}
		for _, s := range spellings {
			if got, ok := mdn.HashByName(s); !ok || got != want {
				t.Errorf("%q: got %v, %t, want %v", s, got, ok, want)
			}
		}
	}
	for _, s := range []string{"", "-", "rsa", "sha3", "sha-512/256", "ripemd160", "sha 256"} {
		if got, ok := mdn.HashByName(s); ok {
			t.Errorf("%q is taken for %v", s, got)
		}
	}
}

func TestNameOf(t *testing.T) {
	t.Parallel()
	for h, want := range map[crypto.Hash]string{
		crypto.SHA1: "sha1", crypto.SHA256: "sha-256", crypto.SHA384: "sha-384", crypto.SHA512: "sha-512", 0: "", crypto.RIPEMD160: "",
	} {
		if got := mdn.NameOf(h); got != want {
			t.Errorf("%v: got %q, want %q", h, got, want)
		}
	}
}

func TestChooseMIC(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		requested []string
		signature crypto.Hash
		want      crypto.Hash
		spelling  string
		ok        bool
	}{
		"first requested, as spelled":          {[]string{"SHA512", "sha1"}, crypto.SHA256, crypto.SHA512, "SHA512", true},
		"unsupported ones are passed over":     {[]string{"sha3-256", "md5", "SHA-1"}, crypto.SHA256, crypto.SHA1, "SHA-1", true},
		"quotes are not part of the spelling":  {[]string{` "sha-256" `}, 0, crypto.SHA256, "sha-256", true},
		"none requested: the signature's":      {nil, crypto.SHA384, crypto.SHA384, "sha-384", true},
		"none requested: SHA-1 signature":      {nil, crypto.SHA1, crypto.SHA1, "sha1", true},
		"only blanks requested":                {[]string{"", " "}, crypto.SHA512, crypto.SHA512, "sha-512", true},
		"neither":                              {nil, 0, crypto.SHA256, "sha-256", true},
		"signature's is unsupported":           {nil, crypto.MD5, crypto.SHA256, "sha-256", true},
		"none supported: never another digest": {[]string{"md5", "tiger"}, crypto.SHA1, crypto.SHA1, "sha1", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, spelling, ok := mdn.ChooseMIC(tt.requested, tt.signature)
			if h != tt.want || spelling != tt.spelling || ok != tt.ok {
				t.Errorf("got %v %q %t, want %v %q %t", h, spelling, ok, tt.want, tt.spelling, tt.ok)
			}
		})
	}
}
