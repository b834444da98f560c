//go:build unix && !linux

package sftptest

import "syscall"

// dieWithParent can do nothing here: a server outlives a test process that is killed.
func dieWithParent(*syscall.SysProcAttr) {}
