package sftptest

import (
	"time"

	"golang.org/x/crypto/ssh"
)

// Script says what a scripted server does. The zero value is an honest server that lets in the key "partner" (see
// [NewKey]) and is known by the Ed25519 key "host".
type Script struct {
	// HostKeys are shown in place of the usual one. A key restricted by ssh.NewSignerWithAlgorithms, or a certificate, does.
	HostKeys []ssh.Signer

	// Algorithms restricts key exchange, ciphers and MACs.
	Algorithms ssh.Config

	// Auth lets a client in by any one of these; with Then, one of those has to follow.
	Auth, Then []Auth

	// Banner is a message before authentication (RFC 4252 §5.4).
	Banner string

	// Lines is text before the SSH version (RFC 4253 §4.2), as it goes over the wire.
	Lines string

	// Noise is text on the channel before the first SFTP packet, as of a login script.
	Noise string

	// Mute has the server fall silent there, and HangUp close the connection.
	Mute, HangUp Point

	// Trickle, if set, is how long each 32 octets to the client take.
	Trickle time.Duration

	// NoExtensions has the server offer none: no posix-rename, no fsync.
	NoExtensions bool

	// Twists change what is answered.
	Twists []Twist
}

// Point is a moment of a connection's life. For moments within SFTP there are twists.
type Point int

// The moments, in order.
const (
	Never          Point = iota
	AtConnect            // before the server's version
	InHandshake          // behind it
	AtLogin              // when authentication is attempted
	AtChannel            // when a session is opened
	AtSubsystem          // when SFTP is asked for
	AtFirstRequest       // when SFTP begins
)

// Auth is a way to log in.
type Auth func(*ssh.ServerAuthCallbacks)

// ByKey lets in who holds one of the keys. A certificate counts as itself.
func ByKey(keys ...ssh.PublicKey) Auth {
	return func(c *ssh.ServerAuthCallbacks) {
		c.PublicKeyCallback = func(_ ssh.ConnMetadata, offered ssh.PublicKey) (*ssh.Permissions, error) {
			for _, key := range keys {
				if string(key.Marshal()) == string(offered.Marshal()) {
					return &ssh.Permissions{}, nil
				}
			}
			return nil, errRefused
		}
	}
}

// ByPassword lets in who knows it.
func ByPassword(password string) Auth {
	return func(c *ssh.ServerAuthCallbacks) {
		c.PasswordCallback = func(_ ssh.ConnMetadata, given []byte) (*ssh.Permissions, error) {
			if string(given) == password {
				return &ssh.Permissions{}, nil
			}
			return nil, errRefused
		}
	}
}

// ByAnswers asks questions, as keyboard-interactive (RFC 4256): a password, a code from a token.
func ByAnswers(questions, answers []string) Auth {
	return func(c *ssh.ServerAuthCallbacks) {
		c.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			given, err := ask("", "", questions, make([]bool, len(questions)))
			if err != nil || len(given) != len(answers) {
				return nil, errRefused
			}
			for i := range answers {
				if given[i] != answers[i] {
					return nil, errRefused
				}
			}
			return &ssh.Permissions{}, nil
		}
	}
}
