package gateway_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"testing"
	"time"

	"firstcopy/gateway"
	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/partners"
)

func TestHealthAndReadiness(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	if status, body := ask(t, hub, "/healthz"); status != 200 || !strings.Contains(body, "firstcopy test") {
		t.Errorf("healthz: %d %q", status, body)
	}
	as2test.Eventually(t, "the node to be ready", func() bool { status, _ := ask(t, hub, "/readyz"); return status == 200 })
	if status, _ := ask(t, hub, "/as2"); status != 404 {
		t.Errorf("the operator's listener takes messages: %d", status)
	}
}

// Without the account's partition for the coming week, messages would soon be refused: somebody has to know before.
func TestNotReadyWithoutTheNextPartition(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	name := "ledger_event_" + time.Now().UTC().AddDate(0, 0, 7).Format("200601")
	as2test.Eventually(t, "the missing partition to be told", func() bool { // the node's upkeep may make it again meanwhile
		if _, err := hub.Pool.Exec(t.Context(), `DROP TABLE IF EXISTS `+name); err != nil {
			t.Fatal(err)
		}
		status, body := ask(t, hub, "/readyz")
		return status == 503 && strings.Contains(body, name)
	})
	if _, err := hub.Pool.Exec(t.Context(), `SELECT ledger_event_ensure(3)`); err != nil {
		t.Fatal(err)
	}
	as2test.Eventually(t, "the node to be ready", func() bool { status, _ := ask(t, hub, "/readyz"); return status == 200 })
}

func TestNotReadyOnAnotherSchema(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	as2test.Eventually(t, "the node to be ready", func() bool { status, _ := ask(t, hub, "/readyz"); return status == 200 })
	if _, err := hub.Pool.Exec(t.Context(), `DELETE FROM schema_migration WHERE version = (SELECT max(version) FROM schema_migration)`); err != nil {
		t.Fatal(err)
	}
	if status, body := ask(t, hub, "/readyz"); status != 503 || !strings.Contains(body, "older than this binary") {
		t.Errorf("readyz: %d %s", status, body)
	}
}

// A rolling upgrade migrates while old nodes serve: they must stay ready.
func TestReadyOnANewerSchema(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	as2test.Eventually(t, "the node to be ready", func() bool { status, _ := ask(t, hub, "/readyz"); return status == 200 })
	if _, err := hub.Pool.Exec(t.Context(), `INSERT INTO schema_migration (version, name, checksum) VALUES (9999, 'later', '\x00')`); err != nil {
		t.Fatal(err)
	}
	if status, body := ask(t, hub, "/readyz"); status != 200 {
		t.Errorf("readyz: %d %s", status, body)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	stuck := hub.Agree("stuck", nil)
	invoice := as2test.Invoice("INV1", "1")
	m := as2test.Prepare(t, acme, invoice, as2client.Options{})
	processed(t, as2test.Post(t, m))
	processed(t, as2test.Post(t, m))
	processed(t, as2test.Send(t, acme, invoice))
	processed(t, as2test.Send(t, stuck, invoice))
	processed(t, as2test.Send(t, stuck, as2test.Invoice("INV1", "2"))) // held
	weak := hub.Agree("weak", func(a *partners.Agreement) { a.Drift = partners.DriftDiscard })
	for _, total := range []string{"1", "2", "3", "4"} {
		processed(t, as2test.Send(t, weak, as2test.Invoice("1", total)))
	}
	exchange(t, hub, raw(m).set("AS2-From", "NOBODY").octets())
	hub.Forwarded("acme")
	var page string
	for _, want := range []string{
		`firstcopy_deliveries_total{outcome="accepted",partner="acme"} 2`,
		`firstcopy_deliveries_total{outcome="repeat",partner="acme"} 1`,
		`firstcopy_deliveries_total{outcome="unknown_partner",partner="unknown"} 1`,
		`firstcopy_verdicts_total{partner="acme",verdict="first"} 1`,
		`firstcopy_verdicts_total{partner="acme",verdict="duplicate"} 1`,
		`firstcopy_verdicts_total{partner="stuck",verdict="drift"} 1`,
		`firstcopy_answer_seconds_count{outcome="accepted"} 8`,
		`firstcopy_ingest_seconds_count 9`,
		`firstcopy_forwards_total{partner="acme",result="ok"} 1`,
		`firstcopy_documents{state="pending"} 0`,
		`firstcopy_documents{state="held"} 1`,
		`firstcopy_documents{state="stuck"} 0`,
		`firstcopy_weak_references{partner="weak"} 1`,
		`firstcopy_documents_oldest_seconds{state="held"} `,
		`firstcopy_certificate_expiry_timestamp_seconds{owner="partner/acme",`,
		`firstcopy_certificate_expiry_timestamp_seconds{owner="station/HUB",`,
	} {
		as2test.Eventually(t, want, func() bool {
			var status int
			status, page = ask(t, hub, "/metrics")
			return status == 200 && strings.Contains(page, want)
		})
	}
	if strings.Contains(page, "NOBODY") {
		t.Error("a stranger can make up labels")
	}
}

// Self-signed certificates often have serial number 1, a partner's next one too, and one may be pinned twice.
func TestMetricsOfEqualSerials(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	hub.Agree("acme", func(a *partners.Agreement) {
		private, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		now := a.AS2.Certificates[0]
		next := now
		next.X509 = as2test.SelfSigned(t, "acme", private, now.X509.SerialNumber.Int64())
		again := now
		again.Uses = []partners.Use{partners.UseVerify}
		a.AS2.Certificates = append(a.AS2.Certificates, next, again)
	})
	status, page := ask(t, hub, "/metrics")
	if status != 200 || strings.Count(page, `{owner="partner/acme",`) != 2 {
		t.Errorf("%d: %s", status, page)
	}
}

// A changed window is followed by running nodes, and counts for what is armed from then on.
func TestWindowChangeIsFollowed(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	other, err := gateway.Open(t.Context(), as2test.Config(hub.Pool.Config().ConnString(), hub.Key), newLogger(hub))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- other.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	acme := hub.Agree("acme", nil)
	processed(t, as2test.Send(t, acme, as2test.Invoice("BEFORE", "1")))
	if _, err := partners.NewStore(hub.Pool).SetWindow(t.Context(), "test", partners.DefaultTenant, "acme", "", partners.Window{Duration: 99 * 24 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	for n, node := range []string{hub.Node.Address(), other.Address()} {
		sender, i := acme, 0
		sender.URL = "http://" + node + "/as2"
		as2test.Eventually(t, "the node to follow", func() bool {
			i++
			reference := "AFTER" + strings.Repeat("X", i) + strings.Repeat("Y", n)
			processed(t, as2test.Send(t, sender, as2test.Invoice(reference, "1")))
			return hub.Count(`SELECT count(*) FROM dedup_key WHERE control_reference = $1 AND expires_at = first_seen_at + interval '99 days'`, reference) == 1
		})
	}
	if took := time.Since(started); took > 15*time.Second {
		t.Errorf("the nodes took %s to follow", took)
	}
	if n := hub.Count(`SELECT count(*) FROM dedup_key WHERE control_reference = 'BEFORE' AND expires_at = first_seen_at + interval '14 days'`); n != 1 {
		t.Error("what was armed before does not keep its window")
	}
}
