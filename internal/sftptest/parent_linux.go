package sftptest

import "syscall"

// dieWithParent has the kernel end the server when the process that started it dies, whatever it dies of.
func dieWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGTERM }
