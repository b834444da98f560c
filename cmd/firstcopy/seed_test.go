package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/configs"
	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/gateway"
	"firstcopy/gateway/forward"
	"firstcopy/mdn"
	"firstcopy/partners"
)

// invoice is an interchange with one message of a given amount.
func invoice(reference, amount string) string {
	return "UNB+UNOC:3+4012345000009:14+4098765000002:14+260301:0930+" + reference + "++INVOIC'" +
		"UNH+1+INVOIC:D:96A:UN'BGM+380+" + reference + "+9'MOA+77:" + amount + "'UNT+4+1'UNZ+1+" + reference + "'"
}

// history puts deliveries into a site's database as a gateway does, and
// forwards what they bring.
type history struct {
	t         *testing.T
	pool      *pgxpool.Pool
	directory *partners.Directory
	ingester  *gateway.Ingester
	outbox    *forward.Outbox
	receipts  int
	results   chan string // of forwards: "ok", "failed" or "stuck"; "acknowledgement stuck"
}

// Forwarded, ForwardFailed, ReceiptDelivered and Acknowledged make it the outbox's observer.
func (h *history) Forwarded(string, time.Duration) { h.results <- "ok" }

func (h *history) ForwardFailed(_ string, stuck bool) {
	if stuck {
		h.results <- "stuck"
		return
	}
	h.results <- "failed"
}

func (h *history) ReceiptDelivered(string, bool) {}

func (h *history) Acknowledged(_ string, _, stuck bool) {
	if stuck {
		h.results <- "acknowledgement stuck"
	}
}

func (s *site) history(t *testing.T) *history {
	t.Helper()
	bounds := gateway.Transaction(configs.Defaults().Transaction)
	bounds.Deadline = time.Minute // other tests share the processor
	pool, err := gateway.OpenPool(t.Context(), s.url, 8, bounds)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	h := &history{t: t, pool: pool, directory: partners.NewDirectory(pool, quiet), results: make(chan string, 100)}
	if err := h.directory.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	config := forward.Config{Workers: 2, Attempts: 1, Backoff: time.Second, BackoffMax: time.Second, Timeout: 20 * time.Second, Poll: 5 * time.Millisecond}
	if h.outbox, err = forward.New(pool, h.directory, config, "gw1", quiet, h); err != nil {
		t.Fatal(err)
	}
	h.ingester = gateway.NewIngester(pool, h.outbox, bounds, "gw1")
	return h
}

// receive takes a message in; every fresh receipt has the next number.
func (h *history) receive(partner, messageID, payload string) gateway.Outcome {
	h.t.Helper()
	agreement, ok := h.directory.Lookup(partner, "HUB")
	if !ok {
		h.t.Fatalf("no agreement with %s", partner)
	}
	spool := gateway.NewSpool("", 1<<20, 1<<20)
	defer spool.Close()
	if _, err := io.WriteString(spool, payload); err != nil {
		h.t.Fatal(err)
	}
	found, err := interchange.Scan(spool.Section(0, spool.Size()))
	if err != nil {
		h.t.Fatal(err)
	}
	fingerprint := agreement.AS2.Certificates[0].Fingerprint()
	outcome, err := h.ingester.Ingest(h.t.Context(), &gateway.Delivery{
		ID: uuid.Must(uuid.NewV7()), Partner: agreement, Channel: gateway.AS2, TransportID: messageID, ReceivedAt: time.Now(),
		RemoteAddress: "192.0.2.1:4080", FileName: "invoice.edi", ContentType: "application/edifact", Payload: spool, Interchanges: found,
		Security: gateway.Security{SignerFingerprint: fingerprint[:], SignatureDigest: "sha-256", Cipher: "aes-256-cbc"},
		Receipt: gateway.ReceiptOrder{Kind: "signed sha-256", Compose: func(bool) (gateway.Receipt, error) {
			h.receipts++
			id := fmt.Sprintf("<receipt-%d@hub>", h.receipts)
			return gateway.Receipt{MessageID: id, Disposition: mdn.Processed.String(), MIC: "bWlj, sha-256",
				Octets: []byte("Message-ID: " + id + "\r\nContent-Type: text/plain\r\n\r\nreceived\r\n")}, nil
		}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return outcome
}

// forward works the outbox off until so many forwards have ended, and returns
// how.
func (h *history) forward(jobs int) []string {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan error, 1)
	go func() { done <- h.outbox.Run(ctx, time.Minute) }()
	var results []string
	for range jobs {
		results = append(results, <-h.results)
	}
	cancel()
	if err := <-done; err != nil {
		h.t.Fatal(err)
	}
	return results
}

// story is what the pages are tested with: of partner acme a first copy that is
// forwarded, its repeat, a duplicate in another message and drift; of globex a
// document whose sink is not there.
type story struct {
	*site
	first, duplicate, drift, stuck gateway.Outcome
	payload                        string
}

func newStory(t *testing.T) *story {
	t.Helper()
	s := &story{site: newSite(t), payload: invoice("R1", "100.00")}
	globex := fmt.Sprintf("  - {name: globex, as2: {id: GLOBEX, station: HUB, certificates: [{file: acme.crt}]}, sink: \"dir:%s\"}\n", filepath.Join(s.dir, "late"))
	s.apply(t, s.agreement("acme", ""), globex)
	h := s.history(t)
	s.first = h.receive("ACME", "<1@acme>", s.payload)
	if got := h.forward(1); got[0] != "ok" {
		t.Fatalf("forwarding: %v", got)
	}
	if again := h.receive("ACME", "<1@acme>", s.payload); !again.Repeat {
		t.Fatalf("the repeat is %+v", again)
	}
	s.duplicate = h.receive("ACME", "<2@acme>", s.payload)
	s.drift = h.receive("ACME", "<3@acme>", invoice("R1", "999.00"))
	s.stuck = h.receive("GLOBEX", "<4@globex>", invoice("R2", "5.00"))
	if got := h.forward(1); got[0] != "stuck" {
		t.Fatalf("forwarding into no folder: %v", got)
	}
	for _, want := range []struct {
		got  gateway.Outcome
		want dedup.Verdict
	}{{s.first, dedup.First}, {s.duplicate, dedup.Duplicate}, {s.drift, dedup.Drift}, {s.stuck, dedup.First}} {
		if v := want.got.Decisions[0].Verdict; v != want.want {
			t.Fatalf("verdict %s, want %s", v, want.want)
		}
	}
	return s
}

// document is the document that the outcome's first interchange is, or is a
// copy of.
func document(o gateway.Outcome) string { return o.Decisions[0].Document.String() }

// mend makes the folder that globex's sink wants.
func (s *story) mend(t *testing.T) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(s.dir, "late"), 0o755); err != nil {
		t.Fatal(err)
	}
}
