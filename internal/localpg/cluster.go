package localpg

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// initialise makes the cluster. It grows under another name, so that an
// interrupted initdb is not taken for a cluster.
func (h *home) initialise(ctx context.Context, bin binaries, fsync bool) error {
	growing := h.path(newDataName)
	if err := os.RemoveAll(growing); err != nil {
		return fmt.Errorf("removing an unfinished cluster: %w", err)
	}
	if err := h.newPassword(); err != nil {
		return err
	}
	args := []string{
		"--pgdata=" + growing, "--username=" + superuser, "--pwfile=" + h.path(passwordName),
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C",
	}
	if !fsync {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, bin.path("initdb"), args...)
	h.prepare(cmd)
	// initdb clears up after itself when asked to end; killed, it would not.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(growing, h.path(dataName)); err != nil {
		return fmt.Errorf("putting the new cluster in place: %w", err)
	}
	return nil
}

// launch starts the server as a child process that logs to the home folder.
func (h *home) launch(bin binaries, port int, settings map[string]string) (*process, error) {
	log, err := os.OpenFile(h.path(logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the server's log: %w", err)
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return nil, fmt.Errorf("opening the server's log: %w", err)
	}
	args := []string{"-D", h.path(dataName), "-p", strconv.Itoa(port)}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	cmd := exec.Command(bin.path("postgres"), args...)
	h.prepare(cmd)
	dieWithParent(cmd.SysProcAttr)
	cmd.Stdout, cmd.Stderr = log, log
	return launchProcess(cmd, log.Name(), info.Size())
}

// prepare gives cmd the server's account, a working folder that account may
// enter, and an environment free of settings meant for other servers. Messages
// are in English because failure reads them.
func (h *home) prepare(cmd *exec.Cmd) {
	cmd.Dir = h.dir
	cmd.SysProcAttr = h.acct.attributes()
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PG") && !strings.HasPrefix(kv, "LC_") && !strings.HasPrefix(kv, "LANG") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C")
}
