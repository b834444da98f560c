//go:build unix

package localpg

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// account is the user the server's programs run as.
type account struct {
	name     string
	uid, gid uint32
	other    bool // not the one this process runs as
}

// serverAccount is the own account, or a lesser one for root.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return account{}, fmt.Errorf("user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return account{}, fmt.Errorf("user %s: %w", name, err)
		}
		return account{name: name, uid: uint32(uid), gid: uint32(gid), other: true}, nil
	}
	return account{}, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody to run it as")
}

// attributes puts a child into a process group of its own, out of reach of the
// terminal's interrupt key, and under the account.
func (a account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if a.other {
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return attr
}

// own gives path to the account.
func (a account) own(path string) error {
	if !a.other {
		return nil
	}
	return os.Lchown(path, int(a.uid), int(a.gid))
}

// openWay makes sure the account can reach dir. Closed folders under the
// system's temporary one are opened for passing through, as [os.MkdirTemp]
// and testing.T.TempDir make them closed; others are the operator's business.
func (a account) openWay(dir string) error {
	if !a.other {
		return nil
	}
	for dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("looking at the way to the data folder: %w", err)
		}
		if a.mayEnter(info) {
			continue
		}
		if !strings.HasPrefix(dir, filepath.Clean(os.TempDir())+string(filepath.Separator)) {
			return fmt.Errorf("user %s, which has to run PostgreSQL in place of root, may not enter %s; choose a data folder elsewhere", a.name, dir)
		}
		if err := os.Chmod(dir, info.Mode().Perm()|0o011); err != nil {
			return fmt.Errorf("opening the way to the data folder: %w", err)
		}
	}
	return nil
}

// mayEnter judges by the mode bits, as the kernel does for an account without
// supplementary groups.
func (a account) mayEnter(info os.FileInfo) bool {
	bit := os.FileMode(0o001)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		switch {
		case st.Uid == a.uid:
			bit = 0o100
		case st.Gid == a.gid:
			bit = 0o010
		}
	}
	return info.Mode()&bit != 0
}

// killGroup ends the server and all its children.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
