package localpg_test

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"

	"firstcopy/internal/localpg"
)

// A killed owner takes its server along, and its data go with the next Start.
func TestServerDiesWithItsOwner(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderVariable+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	url := lines.Text()
	lines.Scan()
	home := lines.Text()
	if home == "" || refuses(t, url) || !exists(t, home) {
		t.Fatalf("no server to kill: %q in %q", url, home)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // the kill makes it an error

	deadline := time.After(30 * time.Second)
	for tick := time.Tick(20 * time.Millisecond); !refuses(t, url); {
		select {
		case <-tick:
		case <-deadline:
			t.Fatal("the server outlived its owner")
		}
	}
	start(t, localpg.Options{})
	if exists(t, home) {
		t.Errorf("%s was not cleared up by the next Start", home)
	}
}
