// Package as2test is a trading world for tests: a hub, which is a real gateway node on a real database, and partners who
// send it AS2 messages over HTTP.
package as2test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/as2/smime"
	"firstcopy/gateway"
	"firstcopy/gateway/forward"
	"firstcopy/internal/as2client"
	"firstcopy/internal/pgtest"
	"firstcopy/mdn"
	"firstcopy/partners"
	"firstcopy/sftpwatch"
)

// HubID is the hub's AS2 name.
const HubID = "HUB"

// Hub is a running gateway.
type Hub struct {
	Node  *gateway.Node
	Pool  *pgxpool.Pool // for looking at what the hub wrote
	URL   string        // where partners post to
	Key   smime.Key
	Inbox string // the folder of the dir: sinks, one folder a partner below
	Logs  *Log
	tb    testing.TB
}

// Options change a hub from what most tests want.
type Options struct {
	Database string // of an existing hub; "" for a fresh one
	Config   func(*gateway.Config)
}

// Start runs a hub until the test ends.
func Start(tb testing.TB, o Options) *Hub {
	tb.Helper()
	if o.Database == "" {
		o.Database = pgtest.URL(tb)
	}
	h := &Hub{tb: tb, Key: Key(tb, HubID), Inbox: tb.TempDir(), Logs: &Log{}}
	ctx, stop := context.WithCancel(context.Background())
	config := Config(o.Database, h.Key)
	if o.Config != nil {
		o.Config(&config)
	}
	var err error
	h.Node, err = gateway.Open(ctx, config, slog.New(slog.NewJSONHandler(h.Logs, nil)))
	if err != nil {
		stop()
		tb.Fatal(err)
	}
	h.URL = "http://" + h.Node.Address() + config.Listen.Path
	done := make(chan error, 1)
	go func() { done <- h.Node.Run(ctx) }()
	tb.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			tb.Errorf("the hub stopped with: %v", err)
		}
		if tb.Failed() {
			tb.Logf("the hub's log:\n%s", h.Logs)
		}
	})
	if h.Pool, err = pgxpool.New(ctx, o.Database); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(h.Pool.Close)
	return h
}

// Config is a node's configuration for tests: loopback, any port, quick to retry.
func Config(database string, key smime.Key) gateway.Config {
	return gateway.Config{
		Version: "test", Node: "test", DatabaseURL: database, Connections: 8, Operator: "127.0.0.1:0", Grace: 5 * time.Second,
		Listen:       gateway.Listen{Address: "127.0.0.1:0", Path: "/as2", HeaderLimit: 64 << 10, HeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute},
		Stations:     map[string]gateway.Station{HubID: Station{key}},
		Certificates: map[string][]*x509.Certificate{HubID: {key.Certificate}},
		Limits:       gateway.Limits{Body: 64 << 20, BodyIdle: 5 * time.Second, BodyTotal: time.Minute, Concurrent: 256, SpoolMemory: 1 << 20},
		Transaction:  gateway.Transaction{LockTimeout: 5 * time.Second, StatementTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second, Deadline: 20 * time.Second},
		Forward:      forward.Config{Workers: 8, Attempts: 5, Backoff: 50 * time.Millisecond, BackoffMax: time.Second, Timeout: 5 * time.Second, Poll: 20 * time.Millisecond},
		SFTP:         sftpwatch.Config{Look: 20 * time.Millisecond, Lease: 5 * time.Second, Stop: 5 * time.Second},
	}
}

// Station is one key for everything.
type Station struct{ Key smime.Key }

// DecryptionKeys and SigningKey make a Station the gateway's.
func (s Station) DecryptionKeys(time.Time) []smime.Key    { return []smime.Key{s.Key} }
func (s Station) SigningKey(time.Time) (smime.Key, error) { return s.Key, nil }

// Agree applies an agreement with a partner, whose AS2 name is its name in capitals, and returns the partner as a sender
// that signs, encrypts, and asks for a signed receipt. change may alter the agreement before it is applied.
func (h *Hub) Agree(name string, change func(*partners.Agreement)) as2client.Partner {
	h.tb.Helper()
	key := Key(h.tb, name)
	inbox := filepath.Join(h.Inbox, name)
	if err := os.MkdirAll(inbox, 0o755); err != nil {
		h.tb.Fatal(err)
	}
	a := partners.Agreement{
		Tenant: partners.DefaultTenant, Name: name, Sink: "dir:" + inbox, Drift: partners.DriftHold,
		OnDuplicate: partners.AnswerProcessed, Windows: partners.Windows{Default: partners.DefaultWindow},
		Limits: partners.Limits{Payload: 64 << 20, Concurrent: 64},
		AS2: partners.AS2{ID: strings.ToUpper(name), Station: HubID, DefaultMIC: partners.DefaultMIC,
			Certificates: []partners.Certificate{{X509: key.Certificate, Uses: []partners.Use{partners.UseEncrypt, partners.UseVerify}}},
			Require:      partners.Require{Signed: true, Encrypted: true}},
	}
	if change != nil {
		change(&a)
	}
	h.Apply(a)
	return as2client.Partner{URL: h.URL, From: a.AS2.ID, To: HubID, SignKey: &key, EncryptFor: []*x509.Certificate{h.Key.Certificate},
		ReceiptSigners: []*x509.Certificate{h.Key.Certificate},
		Receipt:        mdn.Request{Wanted: true, To: name + "@example.com", Signed: true, Protocol: "pkcs7-signature", MICAlgorithms: []string{"sha-256"}}}
}

// Apply applies agreements and waits until the hub knows them.
func (h *Hub) Apply(agreements ...partners.Agreement) {
	h.tb.Helper()
	if _, err := partners.NewStore(h.Pool).Apply(context.Background(), "test", agreements, partners.ApplyOptions{}); err != nil {
		h.tb.Fatal(err)
	}
	if err := h.Node.Reload(context.Background()); err != nil {
		h.tb.Fatal(err)
	}
}

// Prepare builds a message.
func Prepare(tb testing.TB, p as2client.Partner, payload string, o as2client.Options) as2client.Prepared {
	tb.Helper()
	prepared, err := as2client.Prepare(p, []byte(payload), o)
	if err != nil {
		tb.Fatal(err)
	}
	return prepared
}

// Post posts a message.
func Post(tb testing.TB, p as2client.Prepared) as2client.Answer {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answer, err := as2client.Client{}.Post(ctx, p)
	if err != nil {
		tb.Fatal(err)
	}
	return answer
}

// Send builds and posts a message.
func Send(tb testing.TB, p as2client.Partner, payload string) as2client.Answer {
	tb.Helper()
	return Post(tb, Prepare(tb, p, payload, as2client.Options{}))
}

// Eventually polls until ok, and fails the test if that takes more than half a minute.
func Eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for pause := time.NewTicker(10 * time.Millisecond); ; <-pause.C {
		if ok() {
			pause.Stop()
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("waited too long for: %s", what)
		}
	}
}

// Forwarded waits until nothing is pending and returns the contents of the partner's forwarded files, sorted.
func (h *Hub) Forwarded(name string) []string {
	h.tb.Helper()
	Eventually(h.tb, "the outbox to drain", func() bool { return h.Count(`SELECT count(*) FROM document WHERE state = 'pending'`) == 0 })
	return Inbox(h.tb, filepath.Join(h.Inbox, name))
}

// Inbox reads the payloads in a dir: sink's folder, sorted.
func Inbox(tb testing.TB, dir string) []string {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			tb.Fatal(err)
		}
		found = append(found, string(content))
	}
	sort.Strings(found)
	return found
}

// Count runs a query that yields one number.
func (h *Hub) Count(sql string, args ...any) int {
	h.tb.Helper()
	var n int
	if err := h.Pool.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		h.tb.Fatal(err)
	}
	return n
}

// Strings runs a query that yields one text column.
func (h *Hub) Strings(sql string, args ...any) []string {
	h.tb.Helper()
	rows, err := h.Pool.Query(context.Background(), sql, args...)
	if err != nil {
		h.tb.Fatal(err)
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			h.tb.Fatal(err)
		}
		found = append(found, s)
	}
	if err := rows.Err(); err != nil {
		h.tb.Fatal(err)
	}
	return found
}

// Log collects a hub's log.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Lines are the log's records with the given message.
func (l *Log) Lines(message string) []map[string]any {
	var found []map[string]any
	for line := range strings.Lines(l.String()) {
		var record map[string]any
		if json.Unmarshal([]byte(line), &record) == nil && record["msg"] == message {
			found = append(found, record)
		}
	}
	return found
}
