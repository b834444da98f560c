package crashtest_test

import (
	"crypto/x509"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"firstcopy/configs"
	"firstcopy/internal/as2client"
	"firstcopy/internal/as2client/receivertest"
	"firstcopy/internal/as2test"
	"firstcopy/mdn"
)

// world is one database with its configuration, a partner, and a folder that documents are forwarded to. Gateways are
// started in it, see [world.start].
type world struct {
	tb         testing.TB
	binary     string
	dir        string // of configuration files and logs
	inbox      string // of forwarded documents
	database   string // connection string
	agreements string // as applied
	sender     as2client.Partner
	logs       map[string]*logFile        // by node
	receipts   *as2client.ReceiptListener // of asynchronous receipts
	station    *receivertest.Receiver     // of the partner, for what is sent to it
}

// nodeConfig is a node's file. Waits are long, since test machines are slow and a 503 would be counted as a fault;
// forwards are retried at once, and those of a dead node taken up again soon.
const nodeConfig = `node: %s
database: {pool: 24}
listen: {address: "127.0.0.1:0", body_limit: 4GiB}
operator: {address: "127.0.0.1:0"}
stations:
  - as2_id: HUB
    keys: [{certificate_file: hub.crt, key_file: hub.key}]
transaction: {lock_timeout: 20s, statement_timeout: 20s, idle_timeout: 20s, deadline: 30s}
forward: {workers: 4, attempts: 1000, backoff: 50ms, backoff_max: 500ms, timeout: 3s}
sftp: {lease: 2s}
`

const agreements = `partners:
  - name: acme
    as2:
      id: ACME
      station: HUB
      certificates: [{file: acme.crt}]
      async_urls: ["%s"]
      url: %s
      allow_private: true
    sink: dir:%s
    limits: {payload: 64MiB, concurrent: 64}
`

// newWorld migrates the database and applies the agreement, with the program itself.
func newWorld(tb testing.TB, binary, database string) *world {
	tb.Helper()
	dir := tb.TempDir()
	w := &world{tb: tb, binary: binary, dir: dir, inbox: filepath.Join(dir, "inbox"), database: database, logs: map[string]*logFile{}}
	var err error
	if w.receipts, err = as2client.ListenReceipts("127.0.0.1:0"); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := w.receipts.Close(); err != nil {
			tb.Error(err)
		}
	})
	hub, acme := as2test.Key(tb, "hub"), as2test.Key(tb, "acme")
	as2test.WriteKey(tb, dir, "hub", hub)
	as2test.WriteKey(tb, dir, "acme", acme)
	w.station = &receivertest.Receiver{Key: acme, Signers: []*x509.Certificate{hub.Certificate}}
	station := httptest.NewServer(w.station)
	tb.Cleanup(station.Close)
	w.agreements = fmt.Sprintf(agreements, w.receipts.URL(), station.URL, w.inbox)
	w.write("agreements.yaml", w.agreements)
	w.write("admin.yaml", fmt.Sprintf(nodeConfig, "admin"))
	if err := os.Mkdir(w.inbox, 0o755); err != nil {
		tb.Fatal(err)
	}
	w.run("migrate")
	w.run("partner", "apply", "-f", filepath.Join(dir, "agreements.yaml"))
	w.sender = as2client.Partner{URL: "http://127.0.0.1/", From: "ACME", To: as2test.HubID, SignKey: &acme,
		EncryptFor: []*x509.Certificate{hub.Certificate}, ReceiptSigners: []*x509.Certificate{hub.Certificate},
		Receipt: mdn.Request{Wanted: true, Signed: true, Protocol: "pkcs7-signature", MICAlgorithms: []string{"sha-256"}}}
	return w
}

func (w *world) write(name, content string) {
	w.tb.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o600); err != nil {
		w.tb.Fatal(err)
	}
}

// run runs a command of the program to its end.
func (w *world) run(args ...string) {
	w.tb.Helper()
	cmd := exec.CommandContext(w.tb.Context(), w.binary, append([]string{"-c", filepath.Join(w.dir, "admin.yaml")}, args...)...)
	cmd.Env = w.environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		w.tb.Fatalf("firstcopy %v: %v\n%s", args, err, out)
	}
}

func (w *world) environment(more ...string) []string {
	return append(append(os.Environ(), configs.EnvDatabaseURL+"="+w.database), more...)
}
