package gateway_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"firstcopy/gateway/forward"
	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/mdn"
	"firstcopy/partners"
)

func processed(tb testing.TB, a as2client.Answer) {
	tb.Helper()
	if !a.Positive() || a.Receipt.Disposition != mdn.Processed || !a.SignatureOK || !a.MICOK {
		tb.Errorf("want a processed receipt with signature and MIC; got status %d, %v, problems %v", a.Status, a.Receipt.Disposition, a.Problems)
	}
}

func refused(tb testing.TB, a as2client.Answer, want mdn.Disposition) {
	tb.Helper()
	if a.Status != 200 || a.Receipt.Disposition != want {
		tb.Errorf("want %v with HTTP 200; got status %d, %v, problems %v", want, a.Status, a.Receipt.Disposition, a.Problems)
	}
}

func TestFirstCopyIsForwarded(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	invoice := as2test.Invoice("INV1", "100.00")
	processed(t, as2test.Send(t, acme, invoice))
	if got := hub.Forwarded("acme"); !slices.Equal(got, []string{invoice}) {
		t.Errorf("forwarded %q, want the invoice byte for byte", got)
	}
}

// RFC 4130 §5.5: the reply body previously sent is sent again.
func TestSameMessageIDGetsTheStoredReceipt(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	message := as2test.Prepare(t, acme, as2test.Invoice("INV1", "100.00"), as2client.Options{})
	first, again := as2test.Post(t, message), as2test.Post(t, message)
	processed(t, first)
	if !bytes.Equal(first.Entity(), again.Entity()) {
		t.Errorf("the repeat got another receipt:\n%s\nthen\n%s", first.Entity(), again.Entity())
	}
	if got := hub.Forwarded("acme"); len(got) != 1 {
		t.Errorf("%d copies were forwarded", len(got))
	}
	if got := hub.Strings(`SELECT kind FROM ledger_event WHERE kind IN ('first', 'repeat') ORDER BY at`); !slices.Equal(got, []string{"first", "repeat"}) {
		t.Errorf("events %v", got)
	}
}

// A repeat that is encrypted anew is the same delivery: what counts is what the partner sealed.
func TestSameMessageIDEncryptedAnew(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	o := as2client.Options{MessageID: "<again@acme>"}
	a := as2test.Post(t, as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), o))
	b := as2test.Post(t, as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), o))
	if !bytes.Equal(a.Entity(), b.Entity()) || len(hub.Forwarded("acme")) != 1 {
		t.Error("the repeat was not recognised")
	}
}

func TestNewMessageIDGetsAFreshReceipt(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	invoice := as2test.Invoice("INV1", "100.00")
	first, again := as2test.Send(t, acme, invoice), as2test.Send(t, acme, invoice)
	processed(t, first)
	processed(t, again)
	if first.ReceiptMessageID() == again.ReceiptMessageID() {
		t.Error("the copy under a new Message-ID got the old receipt")
	}
	if got := hub.Forwarded("acme"); len(got) != 1 {
		t.Errorf("%d copies were forwarded", len(got))
	}
}

func TestDriftIsHeldAndAnsweredPositively(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	processed(t, as2test.Send(t, acme, as2test.Invoice("INV1", "100.00")))
	processed(t, as2test.Send(t, acme, as2test.Invoice("INV1", "999.00")))
	processed(t, as2test.Send(t, acme, as2test.Invoice("INV1", "999.00"))) // a duplicate of what is held
	if got := hub.Forwarded("acme"); len(got) != 1 || !strings.Contains(got[0], "100.00") {
		t.Errorf("forwarded %q", got)
	}
	held, err := forward.InState(context.Background(), hub.Pool, forward.HeldState, 0, 10)
	if err != nil || len(held) != 1 {
		t.Fatalf("held: %v, %v; want one document", held, err)
	}
	desk, err := forward.NewDesk(hub.Pool, 3, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := desk.Release(context.Background(), held[0].ID, "admin", "confirmed by phone"); err != nil {
		t.Fatal(err)
	}
	if got := hub.Forwarded("acme"); len(got) != 2 {
		t.Errorf("%d documents forwarded after the release, want 2", len(got))
	}
	if err := desk.Discard(context.Background(), held[0].ID, "admin", "too late"); err == nil {
		t.Error("a released document could be discarded")
	}
}

// A mistaken discard can be taken back: the partner's retry would be a duplicate of what was discarded.
func TestDiscardedDriftCanBeReleased(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	processed(t, as2test.Send(t, acme, as2test.Invoice("INV1", "100.00")))
	processed(t, as2test.Send(t, acme, as2test.Invoice("INV1", "999.00")))
	held, err := forward.InState(context.Background(), hub.Pool, forward.HeldState, 0, 10)
	if err != nil || len(held) != 1 {
		t.Fatalf("held: %v, %v", held, err)
	}
	desk, err := forward.NewDesk(hub.Pool, 3, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := desk.Discard(context.Background(), held[0].ID, "admin", "a mistake"); err != nil {
		t.Fatal(err)
	}
	if err := desk.Release(context.Background(), held[0].ID, "admin", "it was right"); err != nil {
		t.Fatal(err)
	}
	if got := hub.Forwarded("acme"); len(got) != 2 {
		t.Errorf("%d documents forwarded, want 2", len(got))
	}
}

func TestDriftPolicies(t *testing.T) {
	t.Parallel()
	for policy, forwarded := range map[partners.Drift]int{partners.DriftForward: 2, partners.DriftDiscard: 1} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			hub := as2test.Start(t, as2test.Options{})
			acme := hub.Agree("acme", func(a *partners.Agreement) { a.Drift = policy })
			processed(t, as2test.Send(t, acme, as2test.Invoice("INV1", "100.00")))
			processed(t, as2test.Send(t, acme, as2test.Invoice("INV1", "999.00")))
			if got := hub.Forwarded("acme"); len(got) != forwarded {
				t.Errorf("%d forwarded, want %d", len(got), forwarded)
			}
			if n := hub.Count(`SELECT count(DISTINCT document_id) FROM payload_chunk`); n != 2 {
				t.Errorf("octets of %d documents are kept, want 2", n)
			}
		})
	}
}

func TestReferencesBelongToTheirPartner(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme, globex := hub.Agree("acme", nil), hub.Agree("globex", nil)
	invoice := as2test.Invoice("INV1", "100.00")
	processed(t, as2test.Send(t, acme, invoice))
	processed(t, as2test.Send(t, globex, invoice))
	if a, b := hub.Forwarded("acme"), hub.Forwarded("globex"); len(a) != 1 || len(b) != 1 {
		t.Errorf("forwarded %d and %d, want one each", len(a), len(b))
	}
}

// Promise 4: a message that failed leaves nothing, and its good retry is a first copy under the same Message-ID.
func TestFailureOwnsNothing(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	o := as2client.Options{MessageID: "<retry@acme>"}
	stranger := as2test.Key(t, "stranger")
	forged := acme
	forged.SignKey = &stranger
	refused(t, as2test.Post(t, as2test.Prepare(t, forged, as2test.Invoice("INV1", "1"), o)), mdn.AuthenticationFailed)
	for _, table := range []string{"delivery", "dedup_key", "document", "document_lineage", "receipt", "ledger_event", "payload_chunk"} {
		if n := hub.Count(`SELECT count(*) FROM ` + table); n != 0 {
			t.Errorf("%d rows in %s after a bad signature", n, table)
		}
	}
	processed(t, as2test.Post(t, as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), o)))
	if got := hub.Forwarded("acme"); len(got) != 1 {
		t.Errorf("%d forwarded", len(got))
	}
}

// A Message-ID that comes back with other content is no retry: the references decide, and the delivery is flagged.
func TestReusedMessageIDIsANewDelivery(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	o := as2client.Options{MessageID: "<same@acme>"}
	processed(t, as2test.Post(t, as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), o)))
	processed(t, as2test.Post(t, as2test.Prepare(t, acme, as2test.Invoice("INV2", "2"), o)))
	if got := hub.Forwarded("acme"); len(got) != 2 {
		t.Errorf("%d forwarded, want 2", len(got))
	}
	if n := hub.Count(`SELECT count(*) FROM delivery WHERE reused_id`); n != 1 {
		t.Errorf("%d deliveries flagged, want 1", n)
	}
}

// A repeat that wants another kind of receipt gets a fresh one, and from then on that one.
func TestRepeatMayAskForAnotherReceipt(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	o := as2client.Options{MessageID: "<kinds@acme>"}
	unsigned := acme
	unsigned.Receipt = mdn.Request{Wanted: true, To: "acme"}
	sha512 := acme
	sha512.Receipt.MICAlgorithms = []string{"SHA512"}
	for _, p := range []as2client.Partner{acme, unsigned, sha512} {
		message := as2test.Prepare(t, p, as2test.Invoice("INV1", "1"), o)
		first, again := as2test.Post(t, message), as2test.Post(t, message)
		if !first.Positive() || !first.MICOK || !bytes.Equal(first.Entity(), again.Entity()) {
			t.Errorf("receipt %+v: %v, then differing %v", p.Receipt, first.Problems, !bytes.Equal(first.Entity(), again.Entity()))
		}
		if first.Receipt.Signed != p.Receipt.Signed {
			t.Errorf("signed %v, asked for %v", first.Receipt.Signed, p.Receipt.Signed)
		}
	}
	if n := hub.Count(`SELECT count(*) FROM receipt`); n != 3 {
		t.Errorf("%d receipts stored, want 3", n)
	}
}

func TestPayloadWithKnownAndNewInterchanges(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	processed(t, as2test.Send(t, acme, as2test.Orders("A", "B")))
	processed(t, as2test.Send(t, acme, as2test.Orders("B", "C", "A", "C")))
	got := hub.Forwarded("acme")
	want := []string{as2test.Orders("A"), as2test.Orders("B"), as2test.Orders("C")}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("forwarded %q, want %q", got, want)
	}
}

// A partner may agree to be warned of duplicates (RFC 4130 §7.5.6).
func TestDuplicateWarningByAgreement(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", func(a *partners.Agreement) { a.OnDuplicate = partners.AnswerWarning })
	processed(t, as2test.Send(t, acme, as2test.Invoice("INV1", "1")))
	again := as2test.Send(t, acme, as2test.Invoice("INV1", "1"))
	if again.Receipt.Disposition != mdn.DuplicateDocument || !again.MICOK {
		t.Errorf("got %v", again.Receipt.Disposition)
	}
}

// A large payload is staged before the transaction, and a large duplicate is not stored at all.
func TestLargePayloadIsStaged(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	large := strings.Repeat("FTX+AAI+++some words that nobody will read'\n", 80000)
	invoice := strings.Replace(as2test.Invoice("BIG1", "1"), "LIN+1", large+"LIN+1", 1)
	processed(t, as2test.Send(t, acme, invoice))
	if got := hub.Forwarded("acme"); len(got) != 1 || got[0] != invoice {
		t.Error("the large invoice was not forwarded byte for byte")
	}
	chunks := hub.Count(`SELECT count(*) FROM payload_chunk`)
	processed(t, as2test.Send(t, acme, invoice))
	if n := hub.Count(`SELECT count(*) FROM payload_chunk`); n != chunks || chunks < 3 {
		t.Errorf("%d chunks, then %d", chunks, n)
	}
	if n := hub.Count(`SELECT count(*) FROM payload_stage`); n != 0 {
		t.Errorf("%d stages left", n)
	}
}

// An interchange without its trailer must not own the reference: the full copy is then a first copy, not drift.
func TestTruncatedInterchangeOwnsNoReference(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	whole := as2test.Invoice("INV1", "1")
	processed(t, as2test.Send(t, acme, whole[:strings.Index(whole, "MOA")]))
	processed(t, as2test.Send(t, acme, whole))
	if got := hub.Strings(`SELECT kind FROM ledger_event WHERE kind IN ('first', 'drift', 'duplicate')`); !slices.Equal(got, []string{"first", "first"}) {
		t.Errorf("verdicts %v", got)
	}
}
