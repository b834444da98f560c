package sftpwatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// Kind is what sort of trouble a server makes. It is a label of metrics and decides how long to wait before the next dial.
type Kind string

// The kinds.
const (
	KindReach      Kind = "unreachable" // no connection
	KindSecret     Kind = "secret"      // a file of ours with a key or password cannot be read
	KindHostKey    Kind = "host_key"    // the server's key is not pinned
	KindAlgorithm  Kind = "algorithm"   // nothing in common
	KindLogin      Kind = "login"       // refused
	KindProtocol   Kind = "protocol"    // it does not speak SFTP, or wrongly
	KindTimeout    Kind = "timeout"     // silence
	KindLost       Kind = "lost"        // the connection ended
	KindPermission Kind = "permission"  // denied
	KindMissing    Kind = "missing"     // no such file or folder
	KindRefused    Kind = "refused"     // any other status that is no success
	KindCrowded    Kind = "crowded"     // a folder with more entries than agreed
	KindChanged    Kind = "changed"     // a file was not the same from its beginning to its end
	KindOurs       Kind = "unavailable" // our database or disk
	KindStopped    Kind = "stopped"     // the node stops, or lost its lease
)

// Fault is what went wrong at a server, or on the way to it.
type Fault struct {
	Kind  Kind
	Doing string // "listing the folder"
	Err   error
}

func (f *Fault) Error() string { return f.Doing + ": " + f.Err.Error() }
func (f *Fault) Unwrap() error { return f.Err }

// kindOf is the kind of the fault in err; "" for nil.
func kindOf(err error) Kind {
	var f *Fault
	switch {
	case err == nil:
		return ""
	case errors.As(err, &f):
		return f.Kind
	case errors.Is(err, errChanged):
		return KindChanged
	}
	return KindOurs
}

// faultOf gives an error of the SFTP library its kind.
func faultOf(doing string, err error) error {
	if err == nil {
		return nil
	}
	var known *Fault
	if errors.As(err, &known) {
		return err
	}
	return &Fault{Kind: sftpKind(err), Doing: doing, Err: err}
}

func sftpKind(err error) Kind {
	var status *sftp.StatusError
	switch {
	case errors.Is(err, fs.ErrPermission):
		return KindPermission
	case errors.Is(err, fs.ErrNotExist):
		return KindMissing
	case errors.As(err, &status):
		return KindRefused
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return KindTimeout
	case errors.Is(err, context.Canceled):
		return KindStopped
	case errors.Is(err, sftp.ErrSSHFxConnectionLost), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed):
		return KindLost
	}
	return KindProtocol
}

// dialFault gives an error of the way to the server its kind: by what was being done when it happened, since the SSH library
// tells most of its errors in words alone.
func dialFault(stage stage, server string, err error) error {
	var known *Fault
	if errors.As(err, &known) {
		return err
	}
	var algorithms *ssh.AlgorithmNegotiationError
	var key *HostKeyError
	f := &Fault{Doing: fmt.Sprintf("%s %s", stage, server), Err: err}
	switch {
	case errors.As(err, &key):
		f.Kind = KindHostKey
	case errors.As(err, &algorithms):
		f.Kind = KindAlgorithm
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		f.Kind = KindTimeout
	case errors.Is(err, context.Canceled):
		f.Kind = KindStopped
	case stage == loggingIn && errors.Is(err, io.EOF): // nobody has refused anything
		f.Kind = KindLost
	case stage == loggingIn:
		f.Kind = KindLogin
	case stage == reaching:
		f.Kind = KindReach
	default:
		f.Kind = KindProtocol
	}
	return f
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// stage is how far a dial has come.
type stage string

const (
	reaching   stage = "reaching"
	exchanging stage = "exchanging keys with"
	loggingIn  stage = "logging in at"
	opening    stage = "opening SFTP at"
)
