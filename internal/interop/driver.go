package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// Driver is an installed peer: the command that runs its driver, to which the
// role and the plan's file are appended.
type Driver struct {
	Peer    string
	Version string
	Command []string
	Dir     string
}

// start runs the driver in a role.
func (d Driver) command(ctx context.Context, role string, plan Plan) (*exec.Cmd, error) {
	content, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the plan: %w", err)
	}
	file := filepath.Join(plan.Scratch, role+".json")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return nil, fmt.Errorf("writing the plan: %w", err)
	}
	log, err := os.Create(filepath.Join(plan.Scratch, role+".log"))
	if err != nil {
		return nil, fmt.Errorf("opening the driver's log: %w", err)
	}
	args := append(d.Command[1:len(d.Command):len(d.Command)], role, file)
	cmd := exec.CommandContext(ctx, d.Command[0], args...)
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = d.Dir, log, 10*time.Second
	return cmd, nil
}

// Send has the peer send all cases and returns their outcomes. Lines of its
// output that are not JSON are the peer's own chatter.
func (d Driver) Send(ctx context.Context, plan Plan) (map[string]Outcome, error) {
	cmd, err := d.command(ctx, "send", plan)
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", d.Peer, err)
	}
	outcomes := map[string]Outcome{}
	for line := range lines(out) {
		var o Outcome
		if json.Unmarshal(line, &o) == nil && o.Case != "" {
			outcomes[o.Case] = o
		}
	}
	if err := cmd.Wait(); err != nil {
		return outcomes, fmt.Errorf("%s sending: %w; see %s", d.Peer, err, plan.Scratch)
	}
	return outcomes, nil
}

// Receiver is a peer's receiver that runs.
type Receiver struct {
	URL string
	// Process is the receiving process, for its CPU time.
	Process *os.Process

	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}

	mu       sync.Mutex
	arrivals []Arrival
}

// Receive starts the peer's receiver.
func (d Driver) Receive(ctx context.Context, plan Plan) (*Receiver, error) {
	cmd, err := d.command(ctx, "receive", plan)
	if err != nil {
		return nil, err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", d.Peer, err)
	}
	r := &Receiver{cmd: cmd, stdin: stdin, Process: cmd.Process, ended: make(chan struct{})}
	listening := make(chan string, 1)
	go r.follow(out, listening)
	select {
	case r.URL = <-listening:
		return r, nil
	case <-r.ended:
		return nil, fmt.Errorf("%s ended before it listened (%w); see %s", d.Peer, cmd.Wait(), plan.Scratch)
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		return nil, fmt.Errorf("%s does not listen; see %s", d.Peer, plan.Scratch)
	}
}

func (r *Receiver) follow(out io.Reader, listening chan<- string) {
	defer close(r.ended)
	for line := range lines(out) {
		var l Listening
		if json.Unmarshal(line, &l) == nil && l.URL != "" {
			listening <- l.URL
			continue
		}
		var a Arrival
		if json.Unmarshal(line, &a) == nil && a.MessageID != "" {
			r.mu.Lock()
			r.arrivals = append(r.arrivals, a)
			r.mu.Unlock()
		}
	}
}

// Arrived returns what came under a Message-ID.
func (r *Receiver) Arrived(messageID string) []Arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []Arrival
	for _, a := range r.arrivals {
		if a.MessageID == messageID {
			found = append(found, a)
		}
	}
	return found
}

// Stop ends the receiver by ending its input.
func (r *Receiver) Stop() error {
	_ = r.stdin.Close()
	<-r.ended
	return r.cmd.Wait()
}

func lines(r io.Reader) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		scanner := bufio.NewScanner(r)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			if !yield(scanner.Bytes()) {
				return
			}
		}
	}
}
