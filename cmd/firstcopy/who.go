package main

import (
	"cmp"
	"os"
	"os/user"

	"github.com/spf13/cobra"
)

// actor is the flag --as of commands that change something.
type actor struct{ as string }

func (w *actor) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.as, "as", "", "record the change under this `NAME` instead of the user's")
}

// name is who is recorded: as told, or the person behind sudo, or the user, at
// this machine.
func (w *actor) name() string {
	if w.as != "" {
		return w.as
	}
	name := cmp.Or(os.Getenv("SUDO_USER"), os.Getenv("USER"))
	if name == "" {
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	return cmp.Or(name, "unknown") + "@" + hostName()
}

func hostName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "unknown"
	}
	return host
}
