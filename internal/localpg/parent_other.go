//go:build !linux

package localpg

import "syscall"

// dieWithParent can do nothing here: a server outlives a process that is
// killed before Stop, until its temporary data are removed or it is stopped by
// hand.
func dieWithParent(*syscall.SysProcAttr) {}
