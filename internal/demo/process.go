package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is the running gateway.
type process struct {
	cmd      *exec.Cmd
	address  string
	operator string
	done     chan error
}

// startGateway starts `firstcopy serve` and returns when it listens. Its log goes to a file.
func startGateway(ctx context.Context, binary, config, logFile string) (*process, error) {
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, "serve", "-c", config)
	cmd.Env = withoutDatabase()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan error, 1)}
	started := make(chan started, 1)
	go func() {
		defer log.Close()
		watch(io.TeeReader(stderr, log), started)
		p.done <- cmd.Wait()
	}()
	select {
	case s := <-started:
		if s.Message == "" {
			content, _ := os.ReadFile(logFile)
			return nil, fmt.Errorf("the gateway did not start: %s", bytes.TrimSpace(content))
		}
		p.address, p.operator = s.Address, s.Operator
		return p, nil
	case <-time.After(30 * time.Second):
		return nil, errors.Join(errors.New("the gateway did not start within 30 s"), p.stop(ctx))
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), p.stop(ctx))
	}
}

type started struct {
	Message  string `json:"msg"`
	Address  string `json:"address"`
	Operator string `json:"operator"`
}

// watch reads the log to its end and reports the line that says where the gateway listens, or an empty one.
func watch(log io.Reader, found chan<- started) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s started
		if json.Unmarshal(lines.Bytes(), &s) == nil && s.Message == "gateway started" {
			found <- s
			break
		}
	}
	_, _ = io.Copy(io.Discard, log)
	close(found)
}

func (p *process) stop(ctx context.Context) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		_ = p.cmd.Process.Kill()
		return errors.New("the gateway did not stop by itself")
	}
}

// cli runs a command of the binary against the demo's database and returns what it printed.
func (w *world) cli(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, w.Binary, append(args, "-c", w.path("firstcopy.yaml"))...)
	cmd.Env = withoutDatabase()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("firstcopy %s: %w\n%s", args[0], err, bytes.TrimSpace(errs.Bytes()))
	}
	return out.String(), nil
}

// withoutDatabase keeps the user's database out of the children's reach: they work on the demo's.
func withoutDatabase() []string {
	var env []string
	for _, v := range os.Environ() {
		if !bytes.HasPrefix([]byte(v), []byte("FIRSTCOPY_")) {
			env = append(env, v)
		}
	}
	return env
}
