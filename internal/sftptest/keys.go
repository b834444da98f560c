package sftptest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
)

// Key is an SSH key pair.
type Key struct {
	ssh.Signer
	PEM []byte // the private key as OpenSSH writes it, without passphrase
}

// keys are made once a process, by type and name: RSA is slow.
var keys = struct {
	sync.Mutex
	made map[[2]string]Key
}{made: map[[2]string]Key{}}

// NewKey is the key of a type (ssh.KeyAlgoED25519, KeyAlgoECDSA256, KeyAlgoRSA) and name, the same one at every call in a
// process.
func NewKey(tb testing.TB, algorithm, name string) Key {
	tb.Helper()
	keys.Lock()
	defer keys.Unlock()
	if k, ok := keys.made[[2]string{algorithm, name}]; ok {
		return k
	}
	var private crypto.PrivateKey
	var err error
	switch algorithm {
	case ssh.KeyAlgoED25519:
		_, private, err = ed25519.GenerateKey(rand.Reader)
	case ssh.KeyAlgoECDSA256:
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case ssh.KeyAlgoRSA:
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	default:
		tb.Fatalf("sftptest: no keys of type %s are made here", algorithm)
	}
	if err != nil {
		tb.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, name)
	if err != nil {
		tb.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	k := Key{Signer: signer, PEM: pem.EncodeToMemory(block)}
	keys.made[[2]string{algorithm, name}] = k
	return k
}

// Certify has an authority sign a host's key for the given names.
func Certify(tb testing.TB, authority, host Key, principals ...string) ssh.Signer {
	tb.Helper()
	certificate := &ssh.Certificate{Key: host.PublicKey(), CertType: ssh.HostCert, KeyId: "host", ValidPrincipals: principals,
		ValidBefore: ssh.CertTimeInfinity}
	return sign(tb, authority, host, certificate)
}

// CertifyUser has an authority sign a user's key.
func CertifyUser(tb testing.TB, authority, user Key, name string) ssh.Signer {
	tb.Helper()
	certificate := &ssh.Certificate{Key: user.PublicKey(), CertType: ssh.UserCert, KeyId: name, ValidPrincipals: []string{name},
		ValidBefore: ssh.CertTimeInfinity}
	return sign(tb, authority, user, certificate)
}

func sign(tb testing.TB, authority, subject Key, certificate *ssh.Certificate) ssh.Signer {
	tb.Helper()
	if err := certificate.SignCert(rand.Reader, authority); err != nil {
		tb.Fatal(err)
	}
	signer, err := ssh.NewCertSigner(certificate, subject)
	if err != nil {
		tb.Fatal(err)
	}
	return signer
}
