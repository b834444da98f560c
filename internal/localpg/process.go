package localpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// immediateGrace is how long an immediate shutdown may take; PostgreSQL
	// itself kills its children after five seconds of it.
	immediateGrace = 15 * time.Second

	// logTail is how much of the server's log an error quotes at most.
	logTail = 2 << 10
)

// errPortTaken marks a server that could not bind its port.
var errPortTaken = errors.New("the port is in use")

// process is one run of the server.
type process struct {
	cmd     *exec.Cmd
	log     string        // path of the log file
	logFrom int64         // where this run's part of it begins
	exited  chan struct{} // closed once err is set
	err     error         // what Wait said
}

// launchProcess starts cmd and watches it. The goroutine that forks keeps its
// thread until the child ends, because Linux ties the parent-death signal to
// the thread that forked and not to the process.
func launchProcess(cmd *exec.Cmd, log string, logFrom int64) (*process, error) {
	p := &process{cmd: cmd, log: log, logFrom: logFrom, exited: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	return p, nil
}

// end signals the process and waits for it, with harder means once ctx ends.
// That the process has already ended is not an error.
func (p *process) end(ctx context.Context, sig syscall.Signal) error {
	p.signal(sig)
	if sig != syscall.SIGQUIT {
		select {
		case <-p.exited:
			return nil
		case <-ctx.Done():
			p.signal(syscall.SIGQUIT)
		}
	}
	late := time.NewTimer(immediateGrace)
	defer late.Stop()
	select {
	case <-p.exited:
		if sig != syscall.SIGQUIT {
			return fmt.Errorf("no orderly shutdown in time, ended at once: %w", context.Cause(ctx))
		}
		return nil
	case <-late.C:
		killGroup(p.cmd.Process)
		<-p.exited
		return errors.New("the server ignored the immediate shutdown and was killed")
	}
}

// signal ignores failures: the only one possible is that the process is gone,
// which exited tells.
func (p *process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// failure describes a run that ended by itself, in the words of its log.
func (p *process) failure() error {
	tail := p.tail()
	if strings.Contains(tail, "Address already in use") {
		return fmt.Errorf("%w: %s", errPortTaken, tail)
	}
	return fmt.Errorf("the server ended by itself (%v), its log says: %s", p.err, tail)
}

// tail returns the end of what this run has logged.
func (p *process) tail() string {
	f, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err.Error()
	}
	from := max(p.logFrom, info.Size()-logTail)
	b, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b))
}
