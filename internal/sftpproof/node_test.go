package sftpproof_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"firstcopy/configs"
	"firstcopy/internal/as2test"
)

// node is the program itself, in a process of its own, whose memory and descriptors are nobody else's.
type node struct {
	tb       testing.TB
	dir      string
	binary   string
	database string
	operator string
	cmd      *exec.Cmd
	exited   chan struct{}
}

const nodeConfig = `node: soak
database: {pool: 16}
listen: {address: "127.0.0.1:0"}
operator: {address: "127.0.0.1:0"}
stations:
  - as2_id: HUB
    keys: [{certificate_file: hub.crt, key_file: hub.key}]
`

// newNode builds the program, with the race detector if the test has it, and makes a database for it.
func newNode(tb testing.TB, database string) *node {
	tb.Helper()
	n := &node{tb: tb, dir: tb.TempDir(), database: database}
	n.binary = filepath.Join(n.dir, "firstcopy")
	build := exec.CommandContext(tb.Context(), "go", append(append([]string{"build"}, buildFlags...), "-o", n.binary, "./cmd/firstcopy")...)
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("building the program: %v\n%s", err, out)
	}
	as2test.WriteKey(tb, n.dir, "hub", as2test.Key(tb, "hub"))
	n.write("node.yaml", nodeConfig)
	return n
}

func (n *node) write(name, content string) string {
	n.tb.Helper()
	path := filepath.Join(n.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		n.tb.Fatal(err)
	}
	return path
}

// run runs a command of the program to its end.
func (n *node) run(args ...string) {
	n.tb.Helper()
	cmd := exec.CommandContext(n.tb.Context(), n.binary, append([]string{"-c", filepath.Join(n.dir, "node.yaml")}, args...)...)
	cmd.Env = append(os.Environ(), configs.EnvDatabaseURL+"="+n.database)
	if out, err := cmd.CombinedOutput(); err != nil {
		n.tb.Fatalf("firstcopy %v: %v\n%s", args, err, out)
	}
}

// serve starts the node and returns when it serves. Its log goes to a file.
func (n *node) serve() {
	n.tb.Helper()
	log, err := os.Create(filepath.Join(n.dir, "log"))
	if err != nil {
		n.tb.Fatal(err)
	}
	n.cmd = exec.Command(n.binary, "serve", "-c", filepath.Join(n.dir, "node.yaml"))
	n.cmd.Env = append(os.Environ(), configs.EnvDatabaseURL+"="+n.database, "GOGC=100") // what is held shows sooner
	out, err := n.cmd.StderrPipe()
	if err != nil {
		n.tb.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		n.tb.Fatal(err)
	}
	n.exited = make(chan struct{})
	operator := make(chan string, 1)
	go func() {
		defer close(n.exited)
		defer log.Close()
		follow(io.TeeReader(out, log), operator)
		_ = n.cmd.Wait() // the state says how it ended
	}()
	n.tb.Cleanup(n.kill)
	select {
	case n.operator = <-operator:
	case <-n.exited:
		n.tb.Fatalf("the node ended by itself:\n%s", n.logTail())
	case <-time.After(time.Minute):
		n.tb.Fatalf("the node does not start:\n%s", n.logTail())
	}
}

// follow reads a log to its end, and tells where the operator's listener is.
func follow(log io.Reader, operator chan<- string) {
	for lines := bufio.NewReader(log); ; {
		line, err := lines.ReadBytes('\n')
		var record struct{ Msg, Operator string }
		if json.Unmarshal(line, &record) == nil && record.Msg == "gateway started" {
			operator <- record.Operator
		}
		if err != nil {
			return
		}
	}
}

func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	<-n.exited
	if n.tb.Failed() {
		n.tb.Logf("the end of the node's log:\n%s", n.logTail())
	}
}

func (n *node) logTail() string {
	content, _ := os.ReadFile(filepath.Join(n.dir, "log"))
	return string(content[max(0, len(content)-16<<10):])
}

// stop ends the node in good order, and reports how long that took.
func (n *node) stop() time.Duration {
	n.tb.Helper()
	begin := time.Now()
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.exited:
	case <-time.After(time.Minute):
		n.tb.Fatal("the node does not stop")
	}
	if !n.cmd.ProcessState.Success() {
		n.tb.Errorf("the node stopped with %s", n.cmd.ProcessState)
	}
	return time.Since(begin)
}

// vitals are what must not grow.
type vitals struct{ memory, goroutines, descriptors float64 }

func (v vitals) String() string {
	return fmt.Sprintf("%.0f MiB, %.0f goroutines, %.0f descriptors", v.memory/(1<<20), v.goroutines, v.descriptors)
}

// vitals asks the node's own metrics.
func (n *node) vitals() (v vitals) {
	n.tb.Helper()
	response, err := http.Get("http://" + n.operator + "/metrics")
	if err != nil {
		n.tb.Fatal(err)
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		value, _ := strconv.ParseFloat(text, 64)
		switch name {
		case "process_resident_memory_bytes":
			v.memory = value
		case "go_goroutines":
			v.goroutines = value
		case "process_open_fds":
			v.descriptors = value
		}
	}
	return v
}
