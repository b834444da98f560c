package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"firstcopy/internal/pgtest"
)

// process is the program, started as one.
type process struct {
	cmd  *exec.Cmd
	logs *bufio.Scanner
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.CommandContext(t.Context(), self, args...)}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.logs = bufio.NewScanner(stderr)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// until reads log lines up to the one with that message.
func (p *process) until(t *testing.T, message string) map[string]any {
	t.Helper()
	var before []string
	for p.logs.Scan() {
		var line map[string]any
		if json.Unmarshal(p.logs.Bytes(), &line) == nil && line["msg"] == message {
			return line
		}
		before = append(before, p.logs.Text())
	}
	t.Fatalf("no line %q before the end of:\n%s", message, strings.Join(before, "\n"))
	return nil
}

func TestServeMigratesAnswersAndStopsOrderly(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			s := newSiteOn(t, pgtest.EmptyURL(t))
			p := start(t, "serve", "-c", s.config, "--migrate")
			started := p.until(t, "gateway started")
			if started["node"] != "gw1" || started["version"] != versionText() {
				t.Errorf("started as %v", started)
			}
			for address, want := range map[string]string{
				started["address"].(string) + "/as2":      "AS2 endpoint",
				started["operator"].(string) + "/healthz": "alive, firstcopy",
			} {
				if got := get(t, "http://"+address); !strings.Contains(got, want) {
					t.Errorf("%s answers %q, want %q", address, got, want)
				}
			}
			if err := p.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			p.until(t, "gateway stopped")
			for p.logs.Scan() {
				t.Errorf("after the stop: %s", p.logs.Text())
			}
			if err := p.cmd.Wait(); err != nil {
				t.Errorf("exit: %v", err)
			}
		})
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestServeWithoutAFreePort(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := start(t, "serve", "-c", s.config)
	address := p.until(t, "gateway started")["address"].(string)
	config, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	taken := s.write(t, "taken.yaml", strings.Replace(string(config), `listen: {address: "127.0.0.1:0"}`, `listen: {address: "`+address+`"}`, 1))
	second := start(t, "serve", "-c", taken)
	var said strings.Builder
	for second.logs.Scan() {
		said.WriteString(second.logs.Text() + "\n")
	}
	var exit *exec.ExitError
	if err := second.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("the second one's exit: %v", err)
	}
	contains(t, said.String(), "firstcopy: error: partners' listener: listen tcp "+address, "address already in use")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.until(t, "gateway stopped")
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
}
