package demo

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"time"

	"firstcopy/as2/smime"
	"firstcopy/internal/as2client"
	"firstcopy/mdn"
)

// step is one message and how it should come out.
type step struct {
	title     string
	message   as2client.Prepared
	async     bool
	verdict   string // the kind of event the ledger should hold for it; "" for none
	answer    mdn.Disposition
	forwarded int               // documents that should be forwarded because of it
	into      string            // the partner whose inbox it goes to
	same      *as2client.Answer // an earlier answer that this one must equal, octet for octet
}

// play posts one message after the other and prints a line for each.
func (w *world) play(ctx context.Context) error {
	acme, err := w.partner("acme", "ACME")
	if err != nil {
		return err
	}
	globex, err := w.partner("globex", "GLOBEX")
	if err != nil {
		return err
	}
	async := globex
	async.Receipt = mdn.Request{Wanted: true, To: "globex", MICAlgorithms: nil, AsyncURL: w.receipts.URL()}
	stranger, err := w.key("stranger")
	if err != nil {
		return err
	}
	forged := acme
	forged.SignKey = &stranger

	bill := invoice("INV2026001", "1190.00")
	original, err := prepare(acme, bill, "")
	if err != nil {
		return err
	}
	var first as2client.Answer
	steps := []struct {
		step
		from    as2client.Partner
		payload string
		id      string
	}{
		{step: step{title: "acme posts an INVOIC, signed and encrypted", message: original, verdict: "first", answer: mdn.Processed, forwarded: 1, into: "acme"}},
		{step: step{title: "the same octets again: acme missed the MDN", message: original, verdict: "repeat", answer: mdn.Processed, into: "acme", same: &first}},
		{step: step{title: "the same invoice under a new Message-ID", verdict: "duplicate", answer: mdn.Processed, into: "acme"}, from: acme, payload: bill},
		{step: step{title: "the same reference with another amount", verdict: "drift", answer: mdn.Processed, into: "acme"}, from: acme, payload: invoice("INV2026001", "9999.00")},
		{step: step{title: "globex posts an X12 850, asynchronous receipt", async: true, verdict: "first", answer: mdn.Processed, forwarded: 1, into: "globex"}, from: async, payload: purchaseOrder},
		{step: step{title: "globex uses acme's invoice reference", verdict: "first", answer: mdn.Processed, forwarded: 1, into: "globex"}, from: globex, payload: bill},
		{step: step{title: "a message in acme's name, signed by a stranger", answer: mdn.AuthenticationFailed, into: "acme"}, from: forged, payload: invoice("INV2026002", "50.00"), id: "<retry-1@acme.example>"},
		{step: step{title: "acme's good resend under the same Message-ID", verdict: "first", answer: mdn.Processed, forwarded: 1, into: "acme"}, from: acme, payload: invoice("INV2026002", "50.00"), id: "<retry-1@acme.example>"},
	}
	w.say("\n      %-46s  %-44s %-5s %-10s %s", "what the partner does", "disposition", "MIC", "verdict", "forwarded")
	for i, s := range steps {
		if s.message.Body == nil {
			if s.message, err = prepare(s.from, s.payload, s.id); err != nil {
				return err
			}
		}
		answer, err := w.take(ctx, i+1, s.step)
		if err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, s.title, err)
		}
		if i == 0 {
			first = answer
		}
	}
	return w.playDrops(ctx, len(steps)+1)
}

func (w *world) partner(name, id string) (as2client.Partner, error) {
	key, err := w.key(name)
	if err != nil {
		return as2client.Partner{}, err
	}
	hub, err := w.key("hub")
	if err != nil {
		return as2client.Partner{}, err
	}
	return as2client.Partner{URL: w.url, From: id, To: "HUB", SignKey: &smime.Key{Certificate: key.Certificate, Private: key.Private},
		EncryptFor: []*x509.Certificate{hub.Certificate}, ReceiptSigners: []*x509.Certificate{hub.Certificate},
		Receipt: mdn.Request{Wanted: true, To: name + "@example.com", Signed: true, Protocol: "pkcs7-signature", MICAlgorithms: []string{"sha-256"}}}, nil
}

func prepare(p as2client.Partner, payload, id string) (as2client.Prepared, error) {
	return as2client.Prepare(p, []byte(payload), as2client.Options{MessageID: id, FileName: "message.edi"})
}

// take posts one message, looks at what became of it, and prints the line.
func (w *world) take(ctx context.Context, number int, s step) (as2client.Answer, error) {
	before, err := w.inbox(s.into)
	if err != nil {
		return as2client.Answer{}, err
	}
	answer, err := as2client.Client{}.Post(ctx, s.message)
	if err != nil {
		return answer, err
	}
	if s.async {
		wait, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		if answer, err = w.receipts.Wait(wait, s.message); err != nil {
			return answer, err
		}
	}
	verdict, err := w.verdict(ctx, s.message.MessageID)
	if err != nil {
		return answer, err
	}
	if err := w.drain(ctx); err != nil {
		return answer, err
	}
	after, err := w.inbox(s.into)
	if err != nil {
		return answer, err
	}
	var faults []string
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	expect(answer.Receipt.Disposition == s.answer, "the disposition should be %s", s.answer)
	expect(s.answer != mdn.Processed || answer.MICOK, "the MIC is wrong")
	expect(!s.message.Receipt.Signed || answer.SignatureOK, "the receipt's signature does not verify")
	expect(verdict == s.verdict, "the verdict should be %q", s.verdict)
	expect(after-before == s.forwarded, "%d documents were forwarded, not %d", after-before, s.forwarded)
	expect(s.same == nil || bytes.Equal(s.same.Entity(), answer.Entity()), "the stored receipt should have come again, octet for octet")
	w.line(number, s, answer, verdict, after-before, faults)
	return answer, nil
}

func (w *world) line(number int, s step, a as2client.Answer, verdict string, forwarded int, faults []string) {
	mark, mic, went := "ok", "–", "–"
	if len(faults) > 0 {
		mark = "!!"
		w.failed++
	}
	if !a.Receipt.MIC.IsZero() {
		mic = "wrong"
		if a.MICOK {
			mic = "ok"
		}
	}
	switch {
	case forwarded > 0:
		went = fmt.Sprintf("%d to inbox/%s", forwarded, s.into)
	case verdict == "drift":
		went = "held for an administrator"
	case s.same != nil && len(faults) == 0:
		went = "–  (stored MDN, byte-identical)"
	case verdict == "":
		verdict, went = "refused", "–  (nothing kept)"
	}
	_, words, _ := strings.Cut(a.Receipt.Disposition.String(), "; ")
	if s.async {
		words += "  (asynchronous)"
	}
	w.say("%s %2d %-46s  %-44s %-5s %-10s %s", mark, number, s.title, words, mic, verdict, went)
	for _, f := range faults {
		w.say("       %s", f)
	}
}

// verdict is what the ledger holds last for a Message-ID.
func (w *world) verdict(ctx context.Context, messageID string) (kind string, err error) {
	err = w.pool.QueryRow(ctx, `SELECT coalesce((SELECT kind FROM ledger_event WHERE detail->>'transport_id' = $1 ORDER BY at DESC LIMIT 1), '')`,
		messageID).Scan(&kind)
	return kind, err
}

// drain waits until no document and no acknowledgement is on its way any more.
func (w *world) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		var pending int
		if err := w.pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM document WHERE state = 'pending')
			+ (SELECT count(*) FROM acknowledgement_transmission WHERE state = 'pending')`).Scan(&pending); err != nil {
			return fmt.Errorf("waiting for the outbox: %w", err)
		}
		if pending == 0 {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// inbox counts the documents that were forwarded for a partner.
func (w *world) inbox(name string) (n int, err error) {
	entries, err := os.ReadDir(w.path("inbox/" + name))
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
			n++
		}
	}
	return n, err
}

// showResult prints the forwarded files, and the ledger's page on the invoice, as an administrator sees it.
func (w *world) showResult(ctx context.Context) error {
	w.say("\nForwarded, one file for each first copy, with a description beside it:")
	for _, name := range []string{"acme", "globex"} {
		entries, err := os.ReadDir(w.path("inbox/" + name))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && !strings.HasSuffix(e.Name(), ".json") {
				w.say("  inbox/%s/%s  %d octets", name, e.Name(), info.Size())
			}
		}
	}
	w.say("\n$ firstcopy ledger show INV2026001 --partner acme\n")
	page, err := w.cli(ctx, "ledger", "show", "INV2026001", "--partner", "acme")
	if err != nil {
		return err
	}
	w.say("%s", strings.TrimRight(page, "\n"))
	return nil
}
