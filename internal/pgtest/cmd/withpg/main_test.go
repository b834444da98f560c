package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"firstcopy/internal/pgtest"
)

// The tests set the environment and so cannot run in parallel.

func TestCommandFindsServerAndItsExitCodeComesBack(t *testing.T) {
	t.Setenv(pgtest.Variable, "")
	code, err := run(t.Context(), false, []string{"sh", "-c", `case "$` + pgtest.Variable + `" in postgres://*) exit 7;; *) exit 8;; esac`})
	if code != 7 || err != nil {
		t.Errorf("run = %d, %v; want the command's 7", code, err)
	}
}

func TestGivenServerIsUsed(t *testing.T) {
	t.Setenv(pgtest.Variable, "host=elsewhere")
	code, err := run(t.Context(), false, []string{"sh", "-c", `test "$` + pgtest.Variable + `" = host=elsewhere`})
	if code != 0 || err != nil {
		t.Errorf("run = %d, %v; want success beside the given server", code, err)
	}
}

func TestMissingCommand(t *testing.T) {
	t.Setenv(pgtest.Variable, "host=elsewhere")
	code, err := run(t.Context(), false, []string{"no-such-command-anywhere"})
	if code == 0 || err == nil || !strings.Contains(err.Error(), "no-such-command-anywhere") {
		t.Errorf("run = %d, %v; want an error that names the command", code, err)
	}
}

func TestInterruptReachesCommand(t *testing.T) {
	t.Setenv(pgtest.Variable, "host=elsewhere")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	// The loop is the shell's own, so that no child is left behind.
	code, err := run(ctx, false, []string{"sh", "-c", `trap 'exit 5' TERM; while :; do :; done`})
	if code != 5 || err != nil {
		t.Errorf("run = %d, %v; want the 5 of the command's own ending", code, err)
	}
}
