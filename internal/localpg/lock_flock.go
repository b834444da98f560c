//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package localpg

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// takeLock marks a temporary home as in use for as long as this process lives:
// the kernel drops the lock with the process. The file gets its name only once
// the lock is held, so nobody can see it unlocked in between.
func takeLock(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, lockName+"-*")
	if err != nil {
		return nil, fmt.Errorf("locking the data folder: %w", err)
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, lockName))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking the data folder: %w", err)
	}
	return f, nil
}

// abandoned reports whether a temporary home has a lock that nobody holds.
func abandoned(dir string) bool {
	f, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
