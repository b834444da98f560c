//go:build !unix

package localpg

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// account has nothing to tell apart here: serverAccount lets nobody come so far.
type account struct {
	name  string
	other bool
}

func serverAccount() (account, error) {
	return account{}, fmt.Errorf("a private PostgreSQL needs a Unix-like system: %w; name a database server of your own", errors.ErrUnsupported)
}

func (a account) attributes() *syscall.SysProcAttr { return nil }
func (a account) own(string) error                 { return nil }
func (a account) openWay(string) error             { return nil }

func killGroup(p *os.Process) { _ = p.Kill() }
