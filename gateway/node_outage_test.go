package gateway_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/as2/smime"
	"firstcopy/gateway"
	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/internal/localpg"
	"firstcopy/internal/pgtest"
	"firstcopy/migrations"
)

// Promise 2: while the database is away nobody gets a receipt, and the retry is a first copy.
func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t, localpg.Options{})
	url := server.URL("postgres")
	migrate(t, url)
	hub := as2test.Start(t, as2test.Options{Database: url})
	acme := hub.Agree("acme", nil)
	m := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
	if err := server.Crash(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if r := exchange(t, hub, raw(m).octets()); r.status != 503 || r.value("Retry-After") == "" || r.isReceipt() {
			t.Errorf("%q, want 503 with Retry-After and without a receipt", r.octets)
		}
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/metrics": 200} {
		if status, body := ask(t, hub, path); status != want {
			t.Errorf("%s answers %d during the outage, want %d: %s", path, status, want, body)
		}
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	hub.Pool.Reset()
	as2test.Eventually(t, "the gateway to take the retry", func() bool { return exchange(t, hub, raw(m).octets()).status == 200 })
	exchange(t, hub, raw(m).octets()).taken(t, hub, m)
	if got := hub.Forwarded("acme"); len(got) != 1 {
		t.Errorf("%d forwarded, want 1", len(got))
	}
	if n := hub.Count(`SELECT count(*) FROM ledger_event WHERE kind = 'first'`); n != 1 {
		t.Errorf("%d first copies", n)
	}
}

func migrate(tb testing.TB, url string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		tb.Fatal(err)
	}
	defer pool.Close()
	if err := migrations.Up(ctx, pool); err != nil {
		tb.Fatal(err)
	}
}

// ask gets a page of the operator's listener.
func ask(tb testing.TB, hub *as2test.Hub, path string) (status int, body string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+hub.Node.OperatorAddress()+path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return resp.StatusCode, string(content)
}

// A message that is under way when the stop begins is answered; a new one finds nobody.
func TestOrderlyStop(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{}) // shares its database and key with the node that stops
	acme := hub.Agree("acme", nil)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	node, err := gateway.Open(ctx, as2test.Config(hub.Pool.Config().ConnString(), hub.Key), slog.New(slog.NewJSONHandler(hub.Logs, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()

	idle, busy := connectTo(t, node.Address()), connectTo(t, node.Address())
	first := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
	idle.write(raw(first).octets())
	idle.read().taken(t, hub, first)
	m := as2test.Prepare(t, acme, as2test.Invoice("INV2", "1"), as2client.Options{})
	busy.write(raw(m).set("Expect", "100-continue").set("Content-Length", strconv.Itoa(len(m.Body))).head())
	if r := busy.read(); r.status != 100 { // now it is under way
		t.Fatalf("%q", r.octets)
	}
	stop()
	as2test.Eventually(t, "the listener to close", func() bool {
		c, err := net.Dial("tcp", node.Address())
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	if !idle.closed() {
		t.Error("an idle connection stays open")
	}
	busy.write(m.Body)
	busy.read().taken(t, hub, m)
	if err := <-ended; err != nil {
		t.Errorf("the node ended with %v", err)
	}
	if got := hub.Forwarded("acme"); len(got) != 2 { // by whichever node
		t.Errorf("%d forwarded", len(got))
	}
}

// A partner that does not come to an end holds the stop up for the time of grace, and no longer.
func TestStopDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	config := as2test.Config(hub.Pool.Config().ConnString(), hub.Key)
	config.Grace = 200 * time.Millisecond
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	node, err := gateway.Open(ctx, config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()
	m := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
	c := connectTo(t, node.Address())
	c.write(raw(m).set("Expect", "100-continue").set("Content-Length", strconv.Itoa(len(m.Body))).head())
	c.read()
	c.write(m.Body[:1])
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the node ended with %v", err)
	}
	keptNothing(t, hub)
}

// faultyStation panics while it is broken.
type faultyStation struct {
	as2test.Station
	broken atomic.Bool
}

func (s *faultyStation) SigningKey(now time.Time) (smime.Key, error) {
	if s.broken.Load() {
		panic("the key store is on fire")
	}
	return s.Station.SigningKey(now)
}

// A panic costs the message it happens to: that is answered with 503, nothing of it is kept, and the node goes on.
func TestPanicIsContained(t *testing.T) {
	t.Parallel()
	station := &faultyStation{Station: as2test.Station{Key: as2test.Key(t, as2test.HubID)}}
	station.broken.Store(true)
	hub := as2test.Start(t, bounded(func(c *gateway.Config) {
		c.Stations[as2test.HubID] = station
		c.Limits.Concurrent = 1 // a place that a panic kept would be missed
	}))
	acme := hub.Agree("acme", nil)
	m := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
	for range 2 {
		if r := exchange(t, hub, raw(m).octets()); r.status != 503 || r.isReceipt() || innards.Match(r.body) {
			t.Errorf("%q, want 503", r.octets)
		}
	}
	keptNothing(t, hub)
	lines := hub.Logs.Lines("panic while receiving")
	if len(lines) != 2 || lines[0]["stack"] == "" || fmt.Sprint(lines[0]["panic"]) != "the key store is on fire" {
		t.Errorf("logged %v", lines)
	}
	station.broken.Store(false)
	exchange(t, hub, raw(m).octets()).taken(t, hub, m)
}
