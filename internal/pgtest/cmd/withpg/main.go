// Command withpg runs another command beside a private PostgreSQL server:
//
//	withpg [-fsync] [--] go test ./...
//
// The command finds the server's connection string in
// FIRSTCOPY_TEST_DATABASE_URL. When that is set already, withpg starts no
// server and just runs the command. Its exit code is the command's; 1 when no
// server could be started, 2 when it was called wrongly.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"firstcopy/internal/localpg"
	"firstcopy/internal/pgtest"
)

// grace is what an interrupted command, and after it the server, may take to
// end in good order.
const grace = 30 * time.Second

func main() {
	fsync := flag.Bool("fsync", false, "make the server flush its writes to the disk, as in production")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: withpg [-fsync] [--] command [argument ...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	code, err := run(ctx, *fsync, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "withpg: error:", err)
	}
	os.Exit(code)
}

// run returns the command's exit code.
func run(ctx context.Context, fsync bool, args []string) (int, error) {
	env := os.Environ()
	if os.Getenv(pgtest.Variable) == "" {
		server, err := localpg.Start(ctx, localpg.Options{
			Fsync:    fsync,
			Settings: map[string]string{"max_connections": "400"}, // many test processes at once
			Progress: func(what string) { fmt.Fprintln(os.Stderr, "withpg:", what) },
		})
		if err != nil {
			return 1, err
		}
		defer stop(server)
		env = append(env, pgtest.Variable+"="+server.URL("postgres"))
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode(), nil // the command has said why
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// stop does not spoil the command's exit code: its result stands, whatever
// becomes of a throwaway server.
func stop(server *localpg.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := server.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "withpg: warning:", err)
	}
}
