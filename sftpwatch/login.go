package sftpwatch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"firstcopy/partners"
)

// credentials are what one hop is logged in with, read anew for each dial, so that a changed file counts at once.
type credentials struct {
	methods []ssh.AuthMethod
	agent   io.Closer
	keys    []string // fingerprints
}

// described says who tried to log in, for the partner to compare with what is set up there.
func (c *credentials) described(user string) string {
	text := "as " + user
	if len(c.keys) > 0 {
		text += " with " + strings.Join(c.keys, ", ")
	}
	return text
}

func (c *credentials) close() {
	if c.agent != nil {
		c.agent.Close()
	}
}

// maxAgentKeys bounds the keys of an agent that are tried: servers count each as an attempt, and lock out after a few.
const maxAgentKeys = 4

// readCredentials reads the files of the agreement. Public keys are tried first, then the password, then the keyboard: a
// server that wants several gets them in its own order, as many as it asks for (RFC 4252 §5.1).
func readCredentials(a *partners.Auth) (c *credentials, err error) {
	c = &credentials{}
	var signers []ssh.Signer
	for _, k := range a.Keys {
		signer, err := readSigner(k)
		if err != nil {
			return nil, err
		}
		signers = append(signers, signer)
	}
	if a.AgentSocket != "" {
		conn, err := net.DialTimeout("unix", a.AgentSocket, 5*time.Second)
		if err != nil {
			return nil, fmt.Errorf("ssh-agent: %w", err)
		}
		c.agent = conn
		_ = conn.SetDeadline(time.Now().Add(time.Minute)) // a stuck agent must not hold up the login
		held, err := agent.NewClient(conn).Signers()
		if err != nil {
			conn.Close()
			return nil, fmt.Errorf("ssh-agent: %w", err)
		}
		signers = append(signers, held[:min(len(held), maxAgentKeys)]...)
	}
	for _, s := range signers {
		c.keys = append(c.keys, ssh.FingerprintSHA256(s.PublicKey()))
	}
	if len(signers) > 0 {
		c.methods = append(c.methods, ssh.PublicKeys(signers...))
	}
	if a.PasswordFile == "" {
		return c, nil
	}
	password, err := readSecret(a.PasswordFile)
	if err != nil {
		c.close()
		return nil, err
	}
	c.methods = append(c.methods, ssh.Password(password))
	if a.KeyboardInteractive {
		c.methods = append(c.methods, ssh.KeyboardInteractive(answers(password)))
	}
	return c, nil
}

// maxSecret bounds what is read of a file that should hold a key or a password.
const maxSecret = 64 << 10

func readSecretFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecret {
		return nil, fmt.Errorf("%s: not a small regular file", path)
	}
	return os.ReadFile(path)
}

// readSecret reads a password: the file's first line.
func readSecret(path string) (string, error) {
	content, err := readSecretFile(path)
	if err != nil {
		return "", err
	}
	line, _, _ := bytes.Cut(content, []byte("\n"))
	if line = bytes.TrimSuffix(line, []byte("\r")); len(line) == 0 {
		return "", fmt.Errorf("%s: empty", path)
	}
	return string(line), nil
}

func readSigner(k partners.AuthKey) (ssh.Signer, error) {
	content, err := readSecretFile(k.File)
	if err != nil {
		return nil, err
	}
	signer, err := parseSigner(content, k.PassphraseFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.File, err)
	}
	if k.CertificateFile == "" {
		return signer, nil
	}
	if content, err = readSecretFile(k.CertificateFile); err != nil {
		return nil, err
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.CertificateFile, err)
	}
	certificate, ok := public.(*ssh.Certificate)
	if !ok {
		return nil, fmt.Errorf("%s: a key, not a certificate", k.CertificateFile)
	}
	certified, err := ssh.NewCertSigner(certificate, signer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.CertificateFile, err)
	}
	return certified, nil
}

// errNoKey is of a file that should be a private key.
var errNoKey = errors.New("not a private key as ssh-keygen writes it")

func parseSigner(content []byte, passphraseFile string) (ssh.Signer, error) {
	signer, err := ssh.ParsePrivateKey(content)
	var locked *ssh.PassphraseMissingError
	switch {
	case err == nil && passphraseFile == "":
		return signer, nil
	case err != nil && !errors.As(err, &locked):
		return nil, fmt.Errorf("%w: %w", errNoKey, err)
	case passphraseFile == "":
		return nil, err
	}
	passphrase, err := readSecret(passphraseFile)
	if err != nil {
		return nil, err
	}
	return ssh.ParsePrivateKeyWithPassphrase(content, []byte(passphrase))
}

// answers answers prompts for the password, and no other: a one-time code cannot be known, and a guess counts as a failure.
func answers(password string) ssh.KeyboardInteractiveChallenge {
	return func(_, _ string, questions []string, echos []bool) ([]string, error) {
		if len(questions) == 0 {
			return nil, nil
		}
		if len(questions) > 1 || echos[0] || !asksForPassword(questions[0]) {
			return nil, fmt.Errorf("the server asks %q, which is not for the password", questions)
		}
		return []string{password}, nil
	}
}

func asksForPassword(question string) bool {
	question = strings.ToLower(question)
	for _, other := range []string{"one-time", "otp", "token", "code", "new password"} {
		if strings.Contains(question, other) {
			return false
		}
	}
	return strings.Contains(question, "password") || strings.Trim(question, " :") == ""
}
