package gateway_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"crypto/x509"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"firstcopy/gateway"
	"firstcopy/gateway/forward"
	"firstcopy/internal/as2client"
	"firstcopy/internal/as2client/receivertest"
	"firstcopy/internal/as2test"
	"firstcopy/mdn"
	"firstcopy/partners"
)

// asking has an invoice ask for a CONTRL (0031).
func asking(invoice string) string { return strings.Replace(invoice, "++INVOIC'", "++INVOIC++1'", 1) }

// askingTA1 has a purchase order ask for a TA1 (ISA14).
func askingTA1(order string) string { return strings.Replace(order, "*0*P*>", "*1*P*>", 1) }

// receiver is a partner's AS2 station.
type receiver struct {
	*receivertest.Receiver
	url string

	mu     sync.Mutex
	bodies [][]byte // of all requests, as they came
}

// answerable has a partner that takes messages at its own station.
func answerable(t *testing.T, hub *as2test.Hub, name string, change func(*partners.Agreement)) (as2client.Partner, *receiver) {
	t.Helper()
	r := &receiver{Receiver: &receivertest.Receiver{Key: as2test.Key(t, name), Signers: []*x509.Certificate{hub.Key.Certificate}}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return // nobody waits for an answer
		}
		r.mu.Lock()
		r.bodies = append(r.bodies, body)
		r.mu.Unlock()
		request.Body = io.NopCloser(bytes.NewReader(body))
		r.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL + "/as2?to=acme"
	return hub.Agree(name, func(a *partners.Agreement) {
		a.AS2.URL, a.AS2.AllowPrivate = r.url, true
		if change != nil {
			change(a)
		}
	}), r
}

// wait waits for acknowledgements, and until it is recorded that they have been sent.
func (r *receiver) wait(t *testing.T, hub *as2test.Hub, n int) []string {
	t.Helper()
	as2test.Eventually(t, fmt.Sprint(n, " acknowledgements"), func() bool {
		return len(r.Payloads()) >= n && hub.Count(`SELECT count(*) FROM acknowledgement_transmission WHERE state = 'pending'`) == 0
	})
	var all []string
	for _, p := range r.Payloads() {
		all = append(all, dated.ReplaceAllString(string(p), "${1}DATE${2}TIME"))
	}
	return all
}

var dated = regexp.MustCompile(`([*+])2?0?[0-9]{6}([:*])[0-9]{4}`)

func contrl(number int, reference, action string) string {
	return fmt.Sprintf("UNA:+.? 'UNB+UNOC:3+5412345000013:14+4012345000009:14+DATE:TIME+%d'UNH+1+CONTRL:D:3:UN'"+
		"UCI+%s+4012345000009:14+5412345000013:14+%s'UNT+3+1'UNZ+1+%d'", number, reference, action, number)
}

func TestContrlIsSent(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme, station := answerable(t, hub, "acme", nil)
	processed(t, as2test.Send(t, acme, as2test.Invoice("INV0", "1"))) // asks for nothing
	processed(t, as2test.Send(t, acme, asking(as2test.Invoice("INV1", "1"))))
	processed(t, as2test.Send(t, acme, asking(as2test.Invoice("INV2", "1"))))
	got := station.wait(t, hub, 2)
	slices.Sort(got)
	if want := []string{contrl(1, "INV1", "7"), contrl(2, "INV2", "7")}; !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	h := station.Requests()[0]
	if h.Get("AS2-From") != "HUB" || h.Get("AS2-To") != "ACME" || !strings.Contains(h.Get("Content-Type"), "enveloped-data") ||
		!strings.Contains(h.Get("Disposition-Notification-Options"), "pkcs7-signature") {
		t.Errorf("sent as %v", h)
	}
	if n := hub.Count(`SELECT count(*) FROM acknowledgement_transmission WHERE state = 'sent' AND sent_to = $1 AND receipt IS NOT NULL`, station.url); n != 2 {
		t.Errorf("%d are recorded as sent", n)
	}
	want := []string{"acknowledged accepted", "acknowledged accepted", "acknowledgement_sent ", "acknowledgement_sent "}
	events := hub.Strings(`SELECT kind || ' ' || coalesce(detail->>'outcome', '') FROM ledger_event WHERE kind LIKE 'acknowledge%' ORDER BY kind`)
	if !slices.Equal(events, want) {
		t.Errorf("events %q", events)
	}
	if n := hub.Count(`SELECT count(*) FROM ledger_event WHERE kind = 'acknowledgement_sent' AND key_id IS NOT NULL
		AND detail->>'disposition' LIKE '%processed' AND detail->>'signer' <> '' AND detail->>'number' IN ('1', '2')`); n != 2 {
		t.Error("the events do not say what the partner's receipt says")
	}
	if len(hub.Forwarded("acme")) != 3 {
		t.Error("not all invoices were forwarded")
	}
}

// Whatever copy comes: the octets of the first one's acknowledgement, as a message of its own.
func TestCopiesGetTheStoredAcknowledgement(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme, station := answerable(t, hub, "acme", nil)
	invoice := asking(as2test.Invoice("INV1", "1"))
	m := as2test.Prepare(t, acme, invoice, as2client.Options{})
	processed(t, as2test.Post(t, m))
	station.wait(t, hub, 1)
	processed(t, as2test.Post(t, m)) // a repeat
	station.wait(t, hub, 2)
	processed(t, as2test.Send(t, acme, invoice)) // a duplicate
	station.wait(t, hub, 3)
	duplicate := as2test.Prepare(t, acme, strings.ReplaceAll(invoice, "\r\n", ""), as2client.Options{}) // one in other octets
	processed(t, as2test.Post(t, duplicate))
	station.wait(t, hub, 4)
	processed(t, as2test.Post(t, duplicate)) // and that repeated
	station.wait(t, hub, 5)
	for _, p := range station.Payloads() {
		if !bytes.Equal(p, station.Payloads()[0]) {
			t.Errorf("got %q, then %q", station.Payloads()[0], p)
		}
	}
	if n := hub.Count(`SELECT count(*) FROM acknowledgement`); n != 1 {
		t.Errorf("%d acknowledgements", n)
	}
	if n := hub.Count(`SELECT count(DISTINCT message_id) FROM acknowledgement_transmission WHERE state = 'sent'`); n != 5 {
		t.Errorf("%d transmissions", n)
	}
	if n := hub.Count(`SELECT count(*) FROM ledger_event WHERE kind = 'acknowledged' AND detail->>'number' = '1'`); n != 3 {
		t.Errorf("%d deliveries are acknowledged by the account", n)
	}
}

func TestDriftIsAcknowledgedAsAgreed(t *testing.T) {
	t.Parallel()
	for _, agreed := range []struct {
		answer partners.DriftAnswer
		want   string
	}{{"", "7"}, {partners.AnswerAccept, "7"}, {partners.AnswerReject, "4+26+UNB+6"}} {
		t.Run(string(agreed.answer), func(t *testing.T) {
			t.Parallel()
			hub := as2test.Start(t, as2test.Options{})
			acme, station := answerable(t, hub, "acme", func(a *partners.Agreement) { a.Acknowledge.OnDrift = agreed.answer })
			processed(t, as2test.Send(t, acme, asking(as2test.Invoice("INV1", "1"))))
			station.wait(t, hub, 1)
			drift := asking(as2test.Invoice("INV1", "2"))
			processed(t, as2test.Send(t, acme, drift))
			if got := station.wait(t, hub, 2)[1]; got != contrl(2, "INV1", agreed.want) {
				t.Errorf("drift got %q", got)
			}
			processed(t, as2test.Send(t, acme, drift)) // its retry is a duplicate of it
			if all := station.wait(t, hub, 3); all[2] != all[1] {
				t.Errorf("its retry got %q", all[2])
			}
			processed(t, as2test.Send(t, acme, asking(as2test.Invoice("INV1", "1")))) // and the original's one of that
			if all := station.wait(t, hub, 4); all[3] != all[0] {
				t.Errorf("the original's retry got %q", all[3])
			}
		})
	}
}

// Rejected drift is answered even if nothing asks for it, and so is its retry.
func TestRejectedDriftIsAnswered(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme, station := answerable(t, hub, "acme", func(a *partners.Agreement) { a.Acknowledge.OnDrift = partners.AnswerReject })
	processed(t, as2test.Send(t, acme, as2test.PurchaseOrder(7, 1)))
	processed(t, as2test.Send(t, acme, as2test.PurchaseOrder(7, 2)))
	station.wait(t, hub, 1)
	processed(t, as2test.Send(t, acme, as2test.PurchaseOrder(7, 2)))
	got := station.wait(t, hub, 2)
	processed(t, as2test.Send(t, acme, as2test.PurchaseOrder(7, 1))) // not so a retry of the original
	if n := hub.Count(`SELECT count(*) FROM river_job WHERE kind = 'send_acknowledgement'`); n != 2 {
		t.Errorf("%d jobs", n)
	}
	if !strings.Contains(got[0], "*000000001*0*P*:~TA1*000000007*DATE*TIME*R*025~IEA") || got[0] != got[1] {
		t.Errorf("got %q", got)
	}
}

func TestX12IsAcknowledged(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme, station := answerable(t, hub, "acme", func(a *partners.Agreement) {
		a.Acknowledge.X12 = []partners.AcknowledgeX12{partners.X12TA1, partners.X12997}
	})
	processed(t, as2test.Send(t, acme, askingTA1(as2test.PurchaseOrder(7, 1))))
	processed(t, as2test.Send(t, acme, strings.Replace(as2test.PurchaseOrder(8, 1), "SE*5", "SE*6", 1)))
	processed(t, as2test.Send(t, acme, strings.Replace(as2test.PurchaseOrder(9, 1), "IEA*1", "IEA*2", 1)))
	station.wait(t, hub, 4)
	all := strings.Join(hub.Strings(`SELECT kind || ' ' || control_reference || ' ' || outcome || ' ' || code FROM acknowledgement ORDER BY control_reference`), "\n")
	if want := "ta1 000000001 accepted \n997 000000002 accepted \n997 000000003 rejected 4\nta1 000000004 rejected 021"; all != want {
		t.Errorf("got\n%s\nwant\n%s", all, want)
	}
	payloads := string(bytes.Join(station.Payloads(), nil))
	for _, want := range []string{"*ZZ*HUB            *ZZ*GLOBEX         *", "TA1*000000007*261201*1015*A*000~", "AK1*PO*7~AK2*850*0001~AK5*A~AK9*A*1*1*1~",
		"AK1*PO*8~AK2*850*0001~AK5*R*4~AK9*R*1*1*0~", "TA1*000000009*261201*1015*R*021~"} {
		if !strings.Contains(payloads, want) {
			t.Errorf("no %q in %q", want, payloads)
		}
	}
}

// Without an address an acknowledgement is stored, and shown, and nothing waits for it.
func TestAcknowledgementWithoutAddress(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	invoice := asking(as2test.Invoice("INV1", "1"))
	m := as2test.Prepare(t, acme, invoice, as2client.Options{})
	processed(t, as2test.Post(t, m))
	processed(t, as2test.Post(t, m))
	processed(t, as2test.Send(t, acme, invoice))
	if n := hub.Count(`SELECT count(*) FROM acknowledgement WHERE outcome = 'accepted' AND octets IS NOT NULL`); n != 1 {
		t.Errorf("%d acknowledgements", n)
	}
	if n := hub.Count(`SELECT (SELECT count(*) FROM acknowledgement_transmission) + (SELECT count(*) FROM river_job WHERE kind = 'send_acknowledgement')`); n != 0 {
		t.Errorf("%d transmissions and jobs", n)
	}
	if len(hub.Forwarded("acme")) != 1 {
		t.Error("the invoice was not forwarded once")
	}
}

// What cannot be answered is on record with the reason, and does not hold up the document.
func TestUnanswerable(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme, _ := answerable(t, hub, "acme", nil)
	processed(t, as2test.Send(t, acme, strings.Replace(asking(as2test.Invoice("INV1", "1")), "+5412345000013:14+", "++", 1)))
	problems := hub.Strings(`SELECT problem FROM acknowledgement WHERE outcome = 'impossible' AND octets IS NULL`)
	if len(problems) != 1 || !strings.Contains(problems[0], "S003") {
		t.Errorf("problems %q", problems)
	}
	if n := hub.Count(`SELECT count(*) FROM ledger_event WHERE kind = 'acknowledged' AND detail->>'problem' LIKE '%S003%'`); n != 1 {
		t.Errorf("%d events", n)
	}
	if len(hub.Forwarded("acme")) != 1 {
		t.Error("the invoice was not forwarded")
	}
}

// A retry is the same message, octet for octet.
func TestAcknowledgementIsRetried(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme, station := answerable(t, hub, "acme", nil)
	failures := 3
	station.Answer = func(w http.ResponseWriter, _ *http.Request) bool {
		if failures--; failures >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return failures >= 0
	}
	processed(t, as2test.Send(t, acme, asking(as2test.Invoice("INV1", "1"))))
	station.wait(t, hub, 1)
	if len(station.bodies) != 4 {
		t.Errorf("%d attempts", len(station.bodies))
	}
	for i, body := range station.bodies {
		if h := station.Requests(); !bytes.Equal(body, station.bodies[0]) || h[i].Get("Message-ID") != h[0].Get("Message-ID") || h[i].Get("Date") != h[0].Get("Date") {
			t.Errorf("attempt %d is another message", i+1)
		}
	}
	if n := hub.Count(`SELECT count(*) FROM acknowledgement_transmission WHERE state = 'sent' AND attempts = 4 AND last_error = ''`); n != 1 {
		t.Error("the attempts are not on record")
	}
}

// Only a receipt that proves the arrival ends the attempts.
func TestAcknowledgementIsStuck(t *testing.T) {
	t.Parallel()
	elsewhere := newMailbox(t)
	for name, tc := range map[string]struct {
		spoil func(*testing.T, *receiver)
		want  string
	}{
		"no receipt": {func(_ *testing.T, r *receiver) {
			r.Answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusOK); return true }
		}, "no receipt came"},
		"refused":   {func(t *testing.T, r *receiver) { r.Signers = nil }, "the receipt is negative: processed/error: authentication-failed"},
		"unsigned":  {func(t *testing.T, r *receiver) { r.Unsigned = true }, "signature does not hold"},
		"stranger":  {func(t *testing.T, r *receiver) { r.Alter = func(*mdn.Report) { r.Key = as2test.Key(t, "stranger") } }, "none of the receipt certificates made it"},
		"wrong MIC": {func(t *testing.T, r *receiver) { r.Alter = func(p *mdn.Report) { p.MIC.Digest[0]++ } }, "content digest does not match"},
		"other message": {func(t *testing.T, r *receiver) { r.Alter = func(p *mdn.Report) { p.OriginalMessageID = "<other@x>" } },
			"the receipt is for another message"},
		"redirect": {func(t *testing.T, r *receiver) {
			r.Answer = func(w http.ResponseWriter, request *http.Request) bool {
				http.Redirect(w, request, elsewhere.URL, http.StatusTemporaryRedirect)
				return true
			}
		}, "307 Temporary Redirect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := as2test.Start(t, bounded(func(c *gateway.Config) { c.Forward.Attempts = 2 }))
			acme, station := answerable(t, hub, "acme", nil)
			tc.spoil(t, station)
			processed(t, as2test.Send(t, acme, asking(as2test.Invoice("INV1", "1"))))
			as2test.Eventually(t, "the acknowledgement to be stuck", func() bool {
				return hub.Count(`SELECT count(*) FROM acknowledgement_transmission WHERE state = 'stuck'`) == 1
			})
			got := hub.Strings(`SELECT last_error FROM acknowledgement_transmission WHERE attempts = 2
				UNION ALL SELECT detail->>'error' FROM ledger_event WHERE kind = 'acknowledgement_stuck'`)
			if len(got) != 2 || !strings.Contains(got[0], tc.want) || !strings.Contains(got[1], tc.want) {
				t.Errorf("errors %q, want %q", got, tc.want)
			}
			if n := len(elsewhere.letters()); n != 0 {
				t.Errorf("%d requests went elsewhere", n)
			}
			// The partner's retry sets it off again, as a new message.
			processed(t, as2test.Send(t, acme, asking(as2test.Invoice("INV1", "1"))))
			if n := hub.Count(`SELECT count(*) FROM acknowledgement_transmission`); n != 2 {
				t.Errorf("%d transmissions after the retry", n)
			}
		})
	}
}

// A storm of copies while an acknowledgement is under way does not become a storm of acknowledgements.
func TestOneTransmissionAtATime(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme, station := answerable(t, hub, "acme", nil)
	gate := make(chan struct{})
	station.Answer = func(http.ResponseWriter, *http.Request) bool { <-gate; return false }
	invoice := asking(as2test.Invoice("INV1", "1"))
	m := as2test.Prepare(t, acme, invoice, as2client.Options{})
	for range 3 {
		processed(t, as2test.Post(t, m))
		processed(t, as2test.Send(t, acme, invoice))
	}
	close(gate)
	station.wait(t, hub, 1)
	if n := hub.Count(`SELECT count(*) FROM acknowledgement_transmission`); n != 1 {
		t.Errorf("%d transmissions", n)
	}
}

// Two copies that come at the same moment, neither of which sees the other's transmission, set off one.
func TestConcurrentCopiesSetOffOneTransmission(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme, station := answerable(t, hub, "acme", nil)
	processed(t, as2test.Send(t, acme, asking(as2test.Invoice("INV1", "1"))))
	station.wait(t, hub, 1)
	var acknowledgement, delivery [16]byte
	if err := hub.Pool.QueryRow(t.Context(), `SELECT acknowledgement_id, delivery_id FROM acknowledgement`).Scan(&acknowledgement, &delivery); err != nil {
		t.Fatal(err)
	}
	again := func() (pgx.Tx, error) {
		tx, err := hub.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var batch pgx.Batch
		batch.Queue(`SET LOCAL lock_timeout = '100ms'`)
		one := forward.Transmission{ID: uuid.Must(uuid.NewV7()), Delivery: delivery, Channel: gateway.AS2}
		forward.QueueRetransmission(&batch, &one, acknowledgement, 0)
		return tx, tx.SendBatch(t.Context(), &batch).Close()
	}
	first, err := again()
	if err != nil {
		t.Fatal(err)
	}
	second, err := again()
	if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "55P03" {
		t.Errorf("the second did not wait for the first: %v", err)
	}
	second.Rollback(t.Context())
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	third, err := again()
	if err != nil {
		t.Errorf("one that comes later: %v", err)
	}
	third.Commit(t.Context())
	if n := hub.Count(`SELECT count(*) FROM acknowledgement_transmission WHERE state = 'pending'`); n != 1 {
		t.Errorf("%d transmissions are pending", n)
	}
}

// Nodes that draw numbers at the same moment draw different ones.
func TestControlNumbersAreNeverRepeated(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	const drawers, draws = 8, 25
	a, b := forward.Parties{Standard: "edifact", Sender: "A", Recipient: "B"}, forward.Parties{Standard: "x12", Sender: "A", Recipient: "B"}
	var mu sync.Mutex
	seen := map[string]bool{}
	var wait sync.WaitGroup
	for range drawers {
		wait.Go(func() {
			for range draws {
				last, err := forward.DrawNumbers(t.Context(), hub.Pool, map[forward.Parties]int{a: 2, b: 1})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, number := range []string{fmt.Sprint("a", last[a]), fmt.Sprint("a", last[a]-1), fmt.Sprint("b", last[b])} {
					if seen[number] {
						t.Errorf("%s twice", number)
					}
					seen[number] = true
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if len(seen) != 3*drawers*draws || !seen[fmt.Sprint("a", 2*drawers*draws)] || !seen["b1"] {
		t.Errorf("%d numbers", len(seen))
	}
}

// Two payloads with the same interchanges in opposite order, and no acknowledgement stored for any of them yet, as after the
// agreement has changed: neither waits for the other in a circle.
func TestAcknowledgementsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	agree := func(edifact partners.AcknowledgeEDIFACT) as2client.Partner {
		return hub.Agree("acme", func(a *partners.Agreement) { a.Acknowledge.EDIFACT = edifact })
	}
	acme := agree(partners.AcknowledgeNone)
	var references []string
	for i := range 100 {
		references = append(references, fmt.Sprint("ORD", i))
	}
	processed(t, as2test.Send(t, acme, as2test.Orders(references...)))
	agree(partners.AcknowledgeContrl)
	tx, err := hub.Pool.Begin(t.Context()) // all of them are to start at the same moment
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE acknowledgement IN SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	const copies = 6
	var wait sync.WaitGroup
	for range copies {
		references = slices.Clone(references)
		slices.Reverse(references)
		m := as2test.Prepare(t, acme, as2test.Orders(references...), as2client.Options{})
		wait.Go(func() { processed(t, as2test.Post(t, m)) })
	}
	as2test.Eventually(t, "all to be about to write", func() bool {
		return hub.Count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == copies
	})
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	if n := hub.Count(`SELECT count(*) FROM acknowledgement WHERE outcome = 'accepted'`); n != len(references) {
		t.Errorf("%d acknowledgements", n)
	}
	if n := hub.Count(`SELECT count(DISTINCT control_reference) FROM acknowledgement`); n != len(references) {
		t.Errorf("%d control numbers", n)
	}
}
