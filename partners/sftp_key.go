package partners

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

// canonicalKey gives a host key its one spelling: "TYPE BASE64", or "TYPE
// SHA256:FINGERPRINT". It takes lines of known_hosts and of .pub files as they
// are: a host name in front and a comment behind are left out.
func canonicalKey(s string) (string, error) {
	fields := strings.Fields(s)
	for i := 0; i+1 < len(fields); i++ {
		if !knownKeyType(fields[i]) {
			continue
		}
		if fingerprint, ok := strings.CutPrefix(fields[i+1], "SHA256:"); ok {
			if len(fingerprint) != 43 {
				return "", fmt.Errorf("%q is not a SHA-256 fingerprint", fields[i+1])
			}
			return fields[i] + " " + fields[i+1], nil
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(fields[i] + " " + fields[i+1]))
		if err != nil {
			return "", fmt.Errorf("not a readable %s key", fields[i])
		}
		return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))), nil
	}
	if strings.HasPrefix(s, "SHA256:") {
		return "", errors.New("a fingerprint needs its key's type, such as: ssh-ed25519 SHA256:…")
	}
	return "", errors.New("not a key like: ssh-ed25519 AAAA… (as in known_hosts, or as ssh-keyscan prints it)")
}

func knownKeyType(s string) bool {
	switch s {
	case ssh.KeyAlgoRSA, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoED25519,
		ssh.KeyAlgoMLDSA44, ssh.KeyAlgoMLDSA65, ssh.KeyAlgoMLDSA87:
		return true
	}
	return false
}
