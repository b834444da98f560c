package localpg

import "syscall"

// dieWithParent has the kernel shut the server down at once when the process
// that started it dies, whatever it dies of.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
