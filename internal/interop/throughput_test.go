//go:build interop

package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"firstcopy/internal/as2test"
	"firstcopy/internal/interop"
	"firstcopy/internal/pgtest"
)

const (
	messages    = 1500
	concurrency = 4
	payloadSize = 10 << 10
	reference   = "REF0000000"
	performance = "../../docs/performance.md"
)

// TestThroughput measures receivers under the load of "firstcopy send --count".
// It runs with -measure alone: it takes minutes, and the machine for itself.
func TestThroughput(t *testing.T) {
	if !*measure {
		return
	}
	l := newLoad(t)
	results := []interop.Throughput{l.firstcopy(t)}
	for _, p := range interop.Peers {
		if p.Name == "openssl" || p.Name == "libas2" || *only != "" && *only != p.Name {
			continue // no receipts, and none that can be verified
		}
		results = append(results, l.peer(t, p))
	}
	for _, r := range results {
		t.Logf("%+v", r)
	}
	if *only != "" {
		return
	}
	what := fmt.Sprintf("`firstcopy send --count %d --concurrency %d`, 10 KiB each, signed with SHA-256,\n"+
		"encrypted with AES-256-CBC, RSA-2048, signed synchronous receipts", messages, concurrency)
	document, err := os.ReadFile(performance)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if len(document) == 0 {
		document = []byte("# Performance\n")
	}
	write(t, performance, []byte(interop.ReplaceSection(string(document), interop.ThroughputSection, interop.ThroughputMarkdown(results, what))))
}

// load is the sender.
type load struct {
	binary, keys, dir, payload string
}

func newLoad(t *testing.T) *load {
	t.Helper()
	l := &load{dir: t.TempDir()}
	l.binary = filepath.Join(l.dir, "firstcopy")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", l.binary, "firstcopy/cmd/firstcopy").CombinedOutput(); err != nil {
		t.Fatalf("building: %v: %s", err, out)
	}
	var err error
	if l.keys, err = filepath.Abs(vectors); err != nil {
		t.Fatal(err)
	}
	invoice := as2test.Invoice(reference, "119.00")
	line := "LIN+1++4000862141404:EN'\r\n"
	invoice = strings.Replace(invoice, line, strings.Repeat(line, (payloadSize-len(invoice))/len(line)), 1)
	l.payload = filepath.Join(l.dir, "invoice.edi")
	write(t, l.payload, []byte(invoice))
	return l
}

func (l *load) key(name string) string { return filepath.Join(l.keys, name) }

// send sends so many messages; from and to are the names of key files, and
// first is the first reference's number.
func (l *load) send(t *testing.T, url, from, to, fromName, toName string, count, first int) (accepted int, elapsed time.Duration) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), l.binary, "send", "--json", "--url", url, "--from", fromName, "--to", toName,
		"--sign-cert", l.key(from+".crt"), "--sign-key", l.key(from+".key"), "--encrypt-cert", l.key(to+".crt"), "--receipt-cert", l.key(to+".crt"),
		"--count", strconv.Itoa(count), "--concurrency", strconv.Itoa(concurrency), "--vary", reference, "--vary-start", strconv.Itoa(first), l.payload)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var result struct {
		Accepted int            `json:"accepted"`
		Seconds  float64        `json:"seconds"`
		Outcomes map[string]int `json:"outcomes"`
	}
	if jsonErr := json.Unmarshal(out, &result); jsonErr != nil {
		t.Fatalf("sending: %v: %s", err, stderr.Bytes())
	}
	if result.Accepted != count {
		t.Logf("%s: %d of %d accepted: %v: %s", toName, result.Accepted, count, result.Outcomes, stderr.Bytes())
	}
	return result.Accepted, time.Duration(result.Seconds * float64(time.Second))
}

// peer measures another implementation's receiver.
func (l *load) peer(t *testing.T, p interop.Peer) interop.Throughput {
	t.Helper()
	driver, err := p.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plan := newPlan(t, p, "measure", l.keys)
	plan.Quiet = true
	receiver, err := driver.Receive(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	result := interop.Throughput{Receiver: p.Name, Version: driver.Version, Sent: messages}
	l.send(t, receiver.URL, "hub", "peer", interop.HubName, p.AS2Name, messages/3, 1)
	before := ownTime(t, receiver.Process.Pid)
	result.Accepted, result.Elapsed = l.send(t, receiver.URL, "hub", "peer", interop.HubName, p.AS2Name, messages, 100_000)
	result.CPU = ownTime(t, receiver.Process.Pid) - before
	if err := receiver.Stop(); err != nil {
		t.Logf("stopping %s: %v", p.Name, err)
	}
	return result
}

func ownTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	own, _, err := interop.ProcessTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// firstcopy measures the gateway, which runs as a process of its own.
func (l *load) firstcopy(t *testing.T) interop.Throughput {
	t.Helper()
	database := pgtest.URL(t)
	url, pid := l.serve(t, database)
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	l.send(t, url, "peer", "hub", "PEER", interop.HubName, messages/3, 1)
	drain(t, conn)
	before, beforeDatabase := ownTime(t, pid), databaseTime(t, conn)
	result := interop.Throughput{Receiver: "firstcopy", Version: "this", Sent: messages}
	result.Accepted, result.Elapsed = l.send(t, url, "peer", "hub", "PEER", interop.HubName, messages, 100_000)
	drain(t, conn) // what is forwarded after the answer counts, too
	result.CPU, result.Database = ownTime(t, pid)-before, databaseTime(t, conn)-beforeDatabase
	return result
}

// serve starts a gateway until the test ends.
func (l *load) serve(t *testing.T, database string) (url string, pid int) {
	t.Helper()
	config, agreements := filepath.Join(l.dir, "firstcopy.yaml"), filepath.Join(l.dir, "agreements.yaml")
	inbox := filepath.Join(l.dir, "inbox")
	if err := os.Mkdir(inbox, 0o755); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	write(t, config, fmt.Appendf(nil, "node: measure\ndatabase: {url: %q}\nlisten: {address: \"127.0.0.1:%d\"}\noperator: {address: \"127.0.0.1:0\"}\n"+
		"stations:\n  - as2_id: %s\n    keys: [{certificate_file: %q, key_file: %q}]\n", database, port, interop.HubName, l.key("hub.crt"), l.key("hub.key")))
	write(t, agreements, fmt.Appendf(nil, "partners:\n  - name: peer\n    as2:\n      id: PEER\n      station: %s\n      certificates: [{file: %q}]\n"+
		"    window: 14d\n    sink: %q\n", interop.HubName, l.key("peer.crt"), "dir:"+inbox))
	if out, err := exec.CommandContext(t.Context(), l.binary, "-c", config, "partner", "apply", "-f", agreements).CombinedOutput(); err != nil {
		t.Fatalf("applying the agreement: %v: %s", err, out)
	}
	log, err := os.Create(filepath.Join(l.dir, "firstcopy.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), l.binary, "-c", config, "serve")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr, cmd.WaitDelay = log, 10*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the test's context has ended by then
	as2test.Eventually(t, "the gateway to listen", func() bool {
		content, err := os.ReadFile(log.Name())
		return err == nil && bytes.Contains(content, []byte("gateway started"))
	})
	return fmt.Sprintf("http://127.0.0.1:%d/as2", port), cmd.Process.Pid
}

// drain waits until everything has been forwarded.
func drain(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	as2test.Eventually(t, "the outbox to drain", func() bool {
		var pending int
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM document WHERE state = 'pending'`).Scan(&pending); err != nil {
			t.Fatal(err)
		}
		return pending == 0
	})
}

// databaseTime is the CPU time of the database server and all its processes.
func databaseTime(t *testing.T, conn *pgx.Conn) time.Duration {
	t.Helper()
	var file string
	if err := conn.QueryRow(t.Context(), `SELECT pg_read_file('postmaster.pid')`).Scan(&file); err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(file, "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	own, children, err := interop.ProcessTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	total := own + children
	for _, child := range strings.Fields(string(list)) {
		if pid, err := strconv.Atoi(child); err == nil {
			if own, _, err := interop.ProcessTime(pid); err == nil { // it may have ended by now
				total += own
			}
		}
	}
	return total
}
