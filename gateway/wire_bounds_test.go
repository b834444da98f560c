package gateway_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"firstcopy/gateway"
	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/mdn"
	"firstcopy/partners"
)

func bounded(change func(*gateway.Config)) as2test.Options { return as2test.Options{Config: change} }

func TestHugeHeader(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, bounded(func(c *gateway.Config) { c.Listen.HeaderLimit = 8 << 10 }))
	m := as2test.Prepare(t, hub.Agree("acme", nil), as2test.Invoice("INV1", "1"), as2client.Options{})
	c := connect(t, hub)
	go func() { _, _ = c.Write(raw(m).set("X-Padding", strings.Repeat("x", 1<<20)).octets()) }()
	if r := c.read(); r.status != 431 {
		t.Errorf("%q, want 431", r.octets)
	}
	exchange(t, hub, raw(m).octets()).taken(t, hub, m)
}

// A body over the limit is refused as soon as that is known: from its declared length, or where it passes the limit.
func TestTooLargeBody(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	hub := as2test.Start(t, bounded(func(c *gateway.Config) { c.Limits.Body = limit }))
	acme := hub.Agree("acme", func(a *partners.Agreement) { a.AS2.Require = partners.Require{} })
	acme.SignKey, acme.EncryptFor = nil, nil
	post := raw(as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{}))
	endless := func(frame string) func(c *rawConn) {
		return func(c *rawConn) {
			for piece := []byte(frame); ; {
				if _, err := c.Write(piece); err != nil {
					return
				}
			}
		}
	}
	kib := strings.Repeat("x", 1024)
	t.Run("each", func(t *testing.T) {
		for name, tt := range map[string]struct {
			head []byte
			send func(c *rawConn)
		}{
			"declared":                {post.set("Content-Length", strconv.Itoa(1<<40)).head(), endless(kib)},
			"declared by one too big": {post.set("Content-Length", strconv.Itoa(limit+1)).head(), func(c *rawConn) { _, _ = c.Write(make([]byte, limit+1)) }},
			"chunked":                 {post.set("Transfer-Encoding", "chunked").head(), endless("400\r\n" + kib + "\r\n")},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := connect(t, hub)
				c.write(tt.head)
				sent := make(chan struct{})
				go func() { defer close(sent); tt.send(c) }()
				if r := c.read(); r.status != 413 || r.isReceipt() || r.value("Connection") != "close" {
					t.Errorf("%q, want 413 and the end of the connection", r.octets)
				}
				c.Close()
				<-sent
			})
		}
	})
	t.Run("nothing kept", func(t *testing.T) { keptNothing(t, hub) })
	t.Run("at the limit", func(t *testing.T) {
		fitting := post
		fitting.body = append(bytes.Clone(post.body), make([]byte, limit-len(post.body))...)
		if r := exchange(t, hub, fitting.octets()); r.status != 200 {
			t.Errorf("%q, want a receipt of whatever kind", r.octets)
		}
	})
}

// Whoever waits for 100 Continue is told at once, and spared the sending (RFC 9110 §10.1.1).
func TestTooLargeBodyIsNotAskedFor(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, bounded(func(c *gateway.Config) { c.Limits.Body = 1 << 20 }))
	m := as2test.Prepare(t, hub.Agree("acme", nil), as2test.Invoice("INV1", "1"), as2client.Options{})
	c := connect(t, hub)
	c.write(raw(m).set("Expect", "100-continue").set("Content-Length", strconv.Itoa(1<<20+1)).head())
	if r := c.read(); r.status != 413 || !c.closed() {
		t.Errorf("%q, want 413 and the end of the connection", r.octets)
	}
}

// The agreement's own limit counts the decoded payload.
func TestTooLargePayload(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", func(a *partners.Agreement) { a.AS2.Require = partners.Require{}; a.Limits.Payload = 1000 })
	invoice := strings.Replace(as2test.Invoice("INV1", "1"), "LIN+1", strings.Repeat("FTX+AAI+++words'", 100)+"LIN+1", 1)
	plain := acme
	plain.SignKey, plain.EncryptFor = nil, nil
	for _, p := range []as2client.Partner{acme, plain} {
		if r := exchange(t, hub, raw(as2test.Prepare(t, p, invoice, as2client.Options{})).octets()); r.status != 413 || r.isReceipt() {
			t.Errorf("%q, want 413", r.octets)
		}
	}
	keptNothing(t, hub)
	processed(t, as2test.Send(t, acme, as2test.Invoice("INV1", "1")))
}

func TestSlowPartners(t *testing.T) {
	t.Parallel()
	short := 200 * time.Millisecond
	t.Run("body stops", func(t *testing.T) {
		t.Parallel()
		hub := as2test.Start(t, bounded(func(c *gateway.Config) { c.Limits.BodyIdle = short }))
		m := as2test.Prepare(t, hub.Agree("acme", nil), as2test.Invoice("INV1", "1"), as2client.Options{})
		c := connect(t, hub)
		octets := raw(m).octets()
		c.write(octets[:len(octets)-1])
		if r := c.read(); r.status != 400 || r.isReceipt() {
			t.Errorf("%q, want 400 without a receipt", r.octets)
		}
		keptNothing(t, hub)
	})
	t.Run("body trickles", func(t *testing.T) {
		t.Parallel()
		hub := as2test.Start(t, bounded(func(c *gateway.Config) { c.Limits.BodyTotal = short }))
		m := as2test.Prepare(t, hub.Agree("acme", nil), as2test.Invoice("INV1", "1"), as2client.Options{})
		c := connect(t, hub)
		c.write(raw(m).set("Content-Length", strconv.Itoa(1<<20)).head())
		done := make(chan struct{})
		go func() {
			defer close(done)
			tick(t, func() bool { _, err := c.Write([]byte{'x'}); return err == nil })
		}()
		if r := c.read(); r.status != 400 || r.isReceipt() {
			t.Errorf("%q, want 400 without a receipt", r.octets)
		}
		c.Close()
		<-done
	})
	t.Run("header stops", func(t *testing.T) {
		t.Parallel()
		hub := as2test.Start(t, bounded(func(c *gateway.Config) { c.Listen.HeaderTimeout = short }))
		c := connect(t, hub)
		c.write([]byte("POST /as2 HTTP/1.1\r\nHost: x\r\nAS2-From: "))
		if octets, err := io.ReadAll(c.in); err != nil || len(octets) != 0 {
			t.Errorf("%q, %v; want the connection to be closed", octets, err)
		}
	})
	t.Run("connection idles", func(t *testing.T) {
		t.Parallel()
		hub := as2test.Start(t, bounded(func(c *gateway.Config) { c.Listen.IdleTimeout = short }))
		m := as2test.Prepare(t, hub.Agree("acme", nil), as2test.Invoice("INV1", "1"), as2client.Options{})
		c := connect(t, hub)
		c.write(raw(m).octets())
		c.read().taken(t, hub, m)
		if !c.closed() {
			t.Error("the connection stays open")
		}
	})
}

// blocked makes deliveries of the reference INV9 wait, until release is called: somebody else is about to commit it. INV1 must
// be there to be imitated.
func blocked(t *testing.T, hub *as2test.Hub) (release func()) {
	t.Helper()
	tx, err := hub.Pool.BeginTx(t.Context(), pgx.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `INSERT INTO dedup_key SELECT (jsonb_populate_record(k, '{"control_reference": "INV9"}')).* FROM dedup_key k`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func waiting(hub *as2test.Hub) int {
	return hub.Count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
}

func TestEveryPartnerHasItsShare(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	one := func(a *partners.Agreement) { a.Limits.Concurrent = 1 }
	acme, globex := hub.Agree("acme", one), hub.Agree("globex", one)
	overload(t, hub, acme, globex, true)
}

func TestTheNodeHasItsLimit(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, bounded(func(c *gateway.Config) { c.Limits.Concurrent = 1 }))
	acme, globex := hub.Agree("acme", nil), hub.Agree("globex", nil)
	overload(t, hub, acme, globex, false)
}

// overload has one message of acme's under way while others arrive.
func overload(t *testing.T, hub *as2test.Hub, acme, globex as2client.Partner, othersPass bool) {
	t.Helper()
	processed(t, as2test.Send(t, acme, as2test.Invoice("INV1", "1")))
	release := blocked(t, hub)
	m := as2test.Prepare(t, acme, as2test.Invoice("INV9", "1"), as2client.Options{})
	c := connect(t, hub)
	c.write(raw(m).octets())
	as2test.Eventually(t, "the copy to wait for the ledger", func() bool { return waiting(hub) == 1 })

	second := as2test.Prepare(t, acme, as2test.Invoice("INV2", "1"), as2client.Options{})
	if r := exchange(t, hub, raw(second).octets()); r.status != 503 || r.value("Retry-After") == "" || r.isReceipt() {
		t.Errorf("%q, want 503 with Retry-After", r.octets)
	}
	other := as2test.Post(t, as2test.Prepare(t, globex, as2test.Invoice("INV3", "1"), as2client.Options{}))
	if othersPass {
		processed(t, other)
	} else if other.Status != 503 {
		t.Errorf("another partner got %d, want 503", other.Status)
	}
	release()
	c.read().taken(t, hub, m)
	exchange(t, hub, raw(second).octets()).taken(t, hub, second) // the place is free again
}

// Senders without an agreement share a part of the places, so that they cannot take all of them by sending slowly.
func TestStrangersHaveOneShare(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, bounded(func(c *gateway.Config) { c.Limits.Concurrent = 4 })) // a quarter is one
	acme := hub.Agree("acme", nil)
	m := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
	slow := connect(t, hub)
	slow.write(raw(m).set("AS2-From", "NOBODY").set("Expect", "100-continue").set("Content-Length", strconv.Itoa(len(m.Body))).head())
	if r := slow.read(); r.status != 100 { // now it has its place
		t.Fatalf("%q", r.octets)
	}
	for name, post := range map[string]rawPost{"another": raw(m).set("AS2-From", "ANOTHER"), "nameless": raw(m).drop("AS2-From")} {
		if r := exchange(t, hub, post.octets()); r.status != 503 || r.value("Retry-After") == "" {
			t.Errorf("%s: %q, want 503 with Retry-After", name, r.octets)
		}
	}
	exchange(t, hub, raw(m).octets()).taken(t, hub, m)
	slow.write(m.Body)
	slow.read().answers(t, mdn.UnknownTradingRelationship, m.MessageID)
}

// Whoever sends slowly in a partner's name, from elsewhere, does not keep the partner out.
func TestNamesTakenInVainHoldNoPlaces(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", func(a *partners.Agreement) { a.Limits.Concurrent = 1 })
	m := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
	slowly := raw(m).set("Expect", "100-continue").set("Content-Length", strconv.Itoa(len(m.Body))).head()
	for _, from := range []string{"127.0.0.2", "127.0.0.3"} {
		c := connectFrom(t, from, hub.Node.Address())
		c.write(slowly)
		if r := c.read(); r.status != 100 {
			t.Fatalf("%s: %q", from, r.octets)
		}
	}
	exchange(t, hub, raw(m).octets()).taken(t, hub, m)
	again := connectFrom(t, "127.0.0.2", hub.Node.Address())
	again.write(slowly)
	if r := again.read(); r.status != 503 {
		t.Errorf("a second one from one address got %q, want 503", r.octets)
	}
}

// More connections than the limit wait until one of the others ends.
func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, bounded(func(c *gateway.Config) { c.Listen.Connections = 1 }))
	acme := hub.Agree("acme", nil)
	m := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
	first := connect(t, hub)
	first.write(raw(m).octets())
	first.read().taken(t, hub, m) // and stays connected
	second := connect(t, hub)
	second.write(raw(m).octets())
	if err := second.SetReadDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := second.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a second connection was served beside the first: %d, %v", n, err)
	}
	first.Close()
	if err := second.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	second.read().taken(t, hub, m)
}

// The body's deadline is over when the body is: what comes then may take as long as it takes.
func TestDecidingMayOutlastTheBodysDeadline(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, bounded(func(c *gateway.Config) {
		c.Limits.BodyIdle, c.Limits.BodyTotal = 300*time.Millisecond, 300*time.Millisecond
	}))
	acme := hub.Agree("acme", nil)
	processed(t, as2test.Send(t, acme, as2test.Invoice("INV1", "1")))
	release := blocked(t, hub)
	m := as2test.Prepare(t, acme, as2test.Invoice("INV9", "1"), as2client.Options{})
	c := connect(t, hub)
	c.write(raw(m).octets())
	longAgo := `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query_start < now() - interval '500 milliseconds'`
	gone := time.Now()
	as2test.Eventually(t, "the deadline to pass", func() bool { return hub.Count(longAgo) == 1 || time.Since(gone) > 3*time.Second })
	release()
	c.read().taken(t, hub, m)
}

// RSA work for strangers' envelopes is bounded by the same places; a message to nobody costs none.
func TestStrangersCostNoKeyWork(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	acme.From, acme.EncryptFor = "NOBODY", []*x509.Certificate{hub.Key.Certificate}
	a := as2test.Post(t, as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{}))
	if a.Receipt.Signed || !a.Receipt.MIC.IsZero() {
		t.Error("a stranger's message was opened or its receipt signed")
	}
}
