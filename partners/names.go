package partners

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"firstcopy/mdn"
)

// namePattern keeps names fit for a log line, a path, a metric and a shell.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func checkName(s string) error {
	if !namePattern.MatchString(s) {
		return fmt.Errorf("%q: a name is 1 to 64 letters, digits, '.', '_' and '-', and begins with a letter or digit", s)
	}
	return nil
}

// CheckAS2ID holds an identifier to RFC 4130 §6.2: 1 to 128 printable US-ASCII
// characters; quotes and backslashes too, which are escaped on the wire.
func CheckAS2ID(s string) error {
	if len(s) < 1 || len(s) > 128 {
		return fmt.Errorf("an AS2 identifier has 1 to 128 characters, not %d (RFC 4130 §6.2)", len(s))
	}
	for _, r := range s {
		if r < ' ' || r > '~' {
			return fmt.Errorf("%q is not printable US-ASCII (RFC 4130 §6.2)", s)
		}
	}
	if strings.Trim(s, " ") != s {
		// Legal in quotes, but transports and people strip it.
		return fmt.Errorf("%q begins or ends with a space", s)
	}
	return nil
}

// canonicalDigest gives a digest its one spelling; MD5 is too broken to agree.
func canonicalDigest(s string) (string, error) {
	h, ok := mdn.HashByName(s)
	if !ok || mdn.NameOf(h) == "md5" {
		return "", fmt.Errorf("%q: digests are sha-256, sha-384, sha-512, sha-224, sha1", s)
	}
	return mdn.NameOf(h), nil
}

// ciphers in the spelling of package as2/smime.
var ciphers = []string{"aes-128-cbc", "aes-192-cbc", "aes-256-cbc", "aes-128-gcm", "aes-192-gcm", "aes-256-gcm", "3des-cbc"}

func canonicalCipher(s string) (string, error) {
	name := strings.ToLower(s)
	switch name {
	case "3des", "des3", "des-ede3-cbc":
		name = "3des-cbc"
	}
	if !slices.Contains(ciphers, name) {
		return "", fmt.Errorf("%q: ciphers are %s", s, strings.Join(ciphers, ", "))
	}
	return name, nil
}

// checkMessageURL accepts where messages may be posted: like an asynchronous
// receipt's address, and a query may be part of it.
func checkMessageURL(s string, private bool) error {
	u, err := parseTarget(s)
	if err != nil {
		return err
	}
	return hostAllowed(u.Hostname(), private)
}

// checkSink accepts a folder or a webhook.
func checkSink(s string) error {
	if folder, ok := strings.CutPrefix(s, "dir:"); ok {
		if !filepath.IsAbs(folder) || filepath.Clean(folder) != folder {
			return fmt.Errorf("%q: a folder is a clean absolute path, the same on every node", s)
		}
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.Opaque != "" {
		return errors.New("a sink is dir:/absolute/path, http://… or https://…")
	}
	if u.User != nil {
		// The agreement is stored and shown: no place for a password.
		return errors.New("a sink's URL carries no user information: use sink_secret_file")
	}
	return nil
}

func checkSecretFile(path, sink string) error {
	if strings.HasPrefix(sink, "dir:") {
		return errors.New("a folder needs no secret")
	}
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q: an absolute path is needed, since every node reads it", path)
	}
	return nil
}

func checkAsyncURL(s string, private bool) error {
	u, err := parseTarget(s)
	if err != nil {
		return err
	}
	if u.RawQuery != "" {
		return errors.New("a query is not part of what is agreed")
	}
	return hostAllowed(u.Hostname(), private)
}
