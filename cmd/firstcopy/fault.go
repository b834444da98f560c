package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// usageError is a command line that cannot be meant: exit code 2.
type usageError struct {
	text string
	hint string // what to look at; the command's help if empty
}

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...)}
}

// hintedError carries what the reader can do about an error.
type hintedError struct {
	err  error
	hint string
}

func (e *hintedError) Error() string { return e.err.Error() }
func (e *hintedError) Unwrap() error { return e.err }

func withHint(err error, format string, args ...any) error {
	return &hintedError{err: err, hint: fmt.Sprintf(format, args...)}
}

// errFindings ends a command whose output has said already what is wrong.
var errFindings = errors.New("")

// report writes an error, one line for each line of its text, and its hint.
func report(w io.Writer, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintln(w, "firstcopy: error: "+printable(line))
		}
	}
	if usage, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintln(w, "firstcopy: hint: "+usage.hint)
	}
	if hinted, ok := errors.AsType[*hintedError](err); ok {
		fmt.Fprintln(w, "firstcopy: hint: "+hinted.hint)
	}
}

// warn writes a warning beside a command's data.
func warn(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintln(cmd.ErrOrStderr(), "firstcopy: warning: "+printable(fmt.Sprintf(format, args...)))
}

// Argument validators, so that a wrong number of arguments says which are
// meant and exits with 2.

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, not %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// oneArgument wants exactly one, called name in the message.
func oneArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 || args[0] == "":
			return usagef("%s needs %s", cmd.CommandPath(), name)
		case len(args) > 1:
			return usagef("%s takes %s alone, not %q too", cmd.CommandPath(), name, args[1])
		}
		return nil
	}
}

// group makes cmd a mere parent: without a known subcommand it is a usage error.
func group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(children...)
	cmd.Args = cobra.ArbitraryArgs
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			var names []string
			for _, c := range cmd.Commands() {
				if c.IsAvailableCommand() && c.Name() != "help" {
					names = append(names, c.Name())
				}
			}
			return usagef("%s needs a subcommand: %s", cmd.CommandPath(), strings.Join(names, ", "))
		}
		err := &usageError{text: fmt.Sprintf("%q is no command of %s", args[0], cmd.CommandPath())}
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			err.hint = "did you mean " + strings.Join(near, " or ") + "?"
		}
		return err
	}
	return cmd
}
