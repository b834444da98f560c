package gateway_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/dedup/interchange"
	"firstcopy/gateway"
	"firstcopy/gateway/forward"
	"firstcopy/internal/as2test"
	"firstcopy/internal/pgtest"
	"firstcopy/partners"
)

// wire is a proxy in front of Postgres that counts round trips: how often the client speaks after the server has.
type wire struct {
	listener net.Listener
	server   string
	trips    atomic.Int64
}

func newWire(t *testing.T, server string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, server: server}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go w.relay(client)
		}
	}()
	return w
}

func (w *wire) relay(client net.Conn) {
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		client.Close()
		return
	}
	var mu sync.Mutex
	answered := true
	pass := func(dst, src net.Conn, fromClient bool) {
		buf := make([]byte, 64<<10)
		for {
			n, err := src.Read(buf)
			mu.Lock()
			if n > 0 && fromClient && answered {
				w.trips.Add(1)
			}
			answered = !fromClient
			mu.Unlock()
			if n > 0 {
				if _, err := dst.Write(buf[:n]); err != nil {
					break
				}
			}
			if err != nil {
				break
			}
		}
		dst.Close()
	}
	go pass(server, client, true)
	pass(client, server, false)
}

type nobody struct{}

func (nobody) Forwarded(string, time.Duration) {}
func (nobody) ForwardFailed(string, bool)      {}
func (nobody) ReceiptDelivered(string, bool)   {}
func (nobody) Acknowledged(string, bool, bool) {}

// At most four round trips to Postgres for a first copy, and two for a repeated Message-ID; one more to draw the control
// numbers of functional acknowledgements, and two for a repeat that has them sent again.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	database, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	w := newWire(t, database.Host)
	database.Host = w.listener.Addr().String()
	ctx := context.Background()
	bounds := gateway.Transaction{LockTimeout: time.Second, StatementTimeout: 5 * time.Second, IdleTimeout: 5 * time.Second, Deadline: 10 * time.Second}
	pool, err := gateway.OpenPool(ctx, database.String(), 1, bounds)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	ingester := gateway.NewIngester(pool, newOutbox(t, pool), bounds, "test")
	partner := &partners.Agreement{ID: 1, Name: "acme", Drift: partners.DriftHold, Windows: partners.Windows{Default: partners.DefaultWindow}}
	ingest := func(messageID, payload string, async string) int64 {
		t.Helper()
		spool := gateway.NewSpool("", 1<<20, 1<<30)
		defer spool.Close()
		if _, err := io.WriteString(spool, payload); err != nil {
			t.Fatal(err)
		}
		found, err := interchange.Scan(strings.NewReader(payload))
		if err != nil {
			t.Fatal(err)
		}
		before := w.trips.Load()
		_, err = ingester.Ingest(ctx, &gateway.Delivery{ID: uuid.Must(uuid.NewV7()), Partner: partner, Channel: gateway.AS2, TransportID: messageID,
			ReceivedAt: time.Now(), Payload: spool, Interchanges: found,
			Receipt: gateway.ReceiptOrder{Kind: "k" + async, AsyncURL: async, Compose: func(bool) (gateway.Receipt, error) {
				return gateway.Receipt{MessageID: "<r>", Disposition: "processed", Octets: []byte("receipt")}, nil
			}}})
		if err != nil {
			t.Fatal(err)
		}
		return w.trips.Load() - before
	}
	// The first of each kind prepares its statements.
	ingest("<1>", as2test.Invoice("WARM", "1"), "")
	ingest("<1>", as2test.Invoice("WARM", "1"), "")
	ingest("<2>", as2test.Orders("W1", "W2"), "http://x/")
	partner.AS2.URL = "http://x/"
	for range 2 { // and nothing is under way
		ingest("<3>", asking(as2test.Invoice("WARM2", "1")), "")
		if _, err := pool.Exec(ctx, `UPDATE acknowledgement_transmission SET state = 'sent', sent_at = now()`); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name     string
		trips    int64
		id, body string
		async    string
	}{
		{"first copy", 4, "<a>", as2test.Invoice("A", "1"), ""},
		{"repeated Message-ID", 2, "<a>", as2test.Invoice("A", "1"), ""},
		{"duplicate under a new Message-ID", 3, "<b>", as2test.Invoice("A", "1"), ""},
		{"drift that is held", 3, "<c>", as2test.Invoice("A", "2"), ""},
		{"three interchanges, asynchronous receipt", 4, "<d>", as2test.Orders("O1", "O2", "O3"), "http://x/"},
		{"one that asks for a CONTRL", 5, "<e>", asking(as2test.Invoice("E", "1")), ""},
		{"its repeat while that is under way", 2, "<e>", asking(as2test.Invoice("E", "1")), ""},
		{"its duplicate", 5, "<f>", asking(as2test.Invoice("E", "1")), ""},
		{"a repeat that has a CONTRL sent again", 4, "<3>", asking(as2test.Invoice("WARM2", "1")), ""},
	} {
		if got := ingest(c.id, c.body, c.async); got > c.trips {
			t.Errorf("%s: %d round trips, want at most %d", c.name, got, c.trips)
		}
	}
}

func newOutbox(t *testing.T, pool *pgxpool.Pool) *forward.Outbox {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	outbox, err := forward.New(pool, partners.NewDirectory(pool, log), forward.Config{Workers: 1, Attempts: 1, Backoff: time.Second, BackoffMax: time.Second, Timeout: time.Second}, "test", log, nobody{})
	if err != nil {
		t.Fatal(err)
	}
	return outbox
}
