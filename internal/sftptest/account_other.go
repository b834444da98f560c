//go:build !unix

package sftptest

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// account has nothing to tell apart here: serverAccount lets nobody come so far.
type account struct{ name string }

func serverAccount() (account, error) {
	return account{}, fmt.Errorf("sshd needs a Unix-like system: %w", errors.ErrUnsupported)
}

func (a account) attributes() *syscall.SysProcAttr { return nil }
func (a account) own(string) error                 { return nil }
func hold(*os.Process)                             {}
