//go:build unix

package sftptest

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// account is whom the server runs as and whom clients log in as. As root it would want an account of its own for the
// separation of privileges, and no file would be denied to it: there it is daemon, which every system has. (Not nobody: to
// sshd an account is locked if its password is known to begin with "!", as systemd says of nobody's.)
type account struct {
	name     string
	uid, gid int
	other    bool // not the one this process runs as
}

func serverAccount() (account, error) {
	find := user.Current
	if os.Geteuid() == 0 {
		find = func() (*user.User, error) { return user.Lookup("daemon") }
	}
	u, err := find()
	if err != nil {
		return account{}, fmt.Errorf("looking for an account to run sshd: %w", err)
	}
	a := account{name: u.Username, other: os.Geteuid() == 0}
	if a.uid, err = strconv.Atoi(u.Uid); err != nil {
		return account{}, err
	}
	a.gid, err = strconv.Atoi(u.Gid)
	return a, err
}

func (a account) attributes() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if a.other {
		attributes.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	dieWithParent(attributes)
	return attributes
}

// own gives a file to the account.
func (a account) own(path string) error {
	if !a.other {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// hold keeps a process from going on.
func hold(p *os.Process) { _ = p.Signal(syscall.SIGSTOP) }
