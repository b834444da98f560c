// Command firstcopy receives EDI over AS2 and forwards the first copy of every
// interchange, once.
//
// It is the one binary: the gateway itself (serve), its database (migrate), its
// agreements (partner), and what an administrator asks of a running system
// (ledger, delivery, document, drift). Those commands read and write the
// database alone; they work from any machine that reaches it, beside any number
// of gateways.
//
// Data go to standard output, for people or, with --json, as one JSON document;
// errors, warnings and hints go to standard error. The exit code is 0, 1 for
// what failed, or 2 for what was asked wrongly.
package main

import (
	"context"
	"errors"
	"io"
	"os"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	code := exitFailed
	if usage, ok := errors.AsType[*usageError](err); ok {
		code = exitUsage
		if usage.hint == "" {
			usage.hint = cmd.CommandPath() + " --help"
		}
	}
	report(errs, err)
	return code
}
