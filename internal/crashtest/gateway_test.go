package crashtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// gateway is one running `firstcopy serve`.
type gateway struct {
	url    string // where partners post to; empty if it died before it listened
	cmd    *exec.Cmd
	exited chan struct{}
}

// patience bounds every wait for something that has to happen.
const patience = 60 * time.Second

// start runs a gateway and returns when it serves, or when it has died already. It is killed when the test ends.
func (w *world) start(node string, environment ...string) *gateway {
	w.tb.Helper()
	w.write(node+".yaml", fmt.Sprintf(nodeConfig, node))
	log := w.log(node)
	select {
	case <-log.started: // of a former life that nobody waited for
	default:
	}
	g := &gateway{cmd: exec.Command(w.binary, "serve", "-c", filepath.Join(w.dir, node+".yaml")), exited: make(chan struct{})}
	g.cmd.Env = w.environment(environment...)
	g.cmd.Stderr = log
	if err := g.cmd.Start(); err != nil {
		w.tb.Fatal(err)
	}
	go func() {
		_ = g.cmd.Wait() // the state says how it ended
		close(g.exited)
	}()
	w.tb.Cleanup(g.kill)
	select {
	case g.url = <-log.started:
	case <-g.exited:
	case <-time.After(patience):
		w.tb.Fatalf("%s does not start", node)
	}
	return g
}

// kill ends the process at once, if it is not dead yet.
func (g *gateway) kill() {
	_ = g.cmd.Process.Kill()
	<-g.exited
}

// stop ends the process in good order.
func (g *gateway) stop() error {
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-g.exited:
	case <-time.After(patience):
		g.kill()
		return fmt.Errorf("the gateway did not stop within %s", patience)
	}
	if !g.cmd.ProcessState.Success() {
		return fmt.Errorf("the gateway stopped with %s", g.cmd.ProcessState)
	}
	return nil
}

// logFile collects a node's log, over all its lives, and waits for the line that says where it listens.
type logFile struct {
	file    *os.File
	started chan string

	mu   sync.Mutex
	line []byte
}

func (w *world) log(node string) *logFile {
	w.tb.Helper()
	if l, ok := w.logs[node]; ok {
		return l
	}
	file, err := os.OpenFile(filepath.Join(w.dir, node+".log"), os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		w.tb.Fatal(err)
	}
	w.tb.Cleanup(func() {
		if info, err := file.Stat(); err == nil && w.tb.Failed() && info.Size() > 0 {
			tail := make([]byte, min(info.Size(), 8<<10))
			_, _ = file.ReadAt(tail, info.Size()-int64(len(tail)))
			w.tb.Logf("the end of the log of %s:\n%s", node, tail)
		}
		file.Close()
	})
	w.logs[node] = &logFile{file: file, started: make(chan string, 1)}
	return w.logs[node]
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line = append(l.line, p...)
	for {
		line, rest, complete := bytes.Cut(l.line, []byte("\n"))
		if !complete {
			break
		}
		l.line = rest
		l.look(line)
	}
	return l.file.Write(p)
}

func (l *logFile) look(line []byte) {
	var record struct{ Msg, Address, Path string }
	if json.Unmarshal(line, &record) != nil || record.Msg != "gateway started" {
		return
	}
	select {
	case l.started <- "http://" + record.Address + record.Path:
	default:
	}
}
