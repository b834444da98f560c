package gateway_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/internal/pgtest"
	"firstcopy/mdn"
	"firstcopy/partners"
)

// RFC 4130 §5.3.3 demands neither brackets nor an "@", and the receipt names the message as it named itself.
func TestMessageIDIsEchoedToTheOctet(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	long := func(n int) string { return "<" + strings.Repeat("x", n-4) + "@x>" }
	for name, id := range map[string]string{
		"no brackets": "abc-1@x", "space": "<abc 2@x>", "no at": "4f1c", "one bracket": "<abc@x", "250 octets": long(250),
		"990 octets": long(990), "quote": "<a'b@x>", "slash": "<../../7872@u7P/YcIM=>", "percent": "<a%00b@x>",
		"Latin-1": "<\xfcber@x>", "backslash": `<a\x00@x>`, "double quote": `<"a b"@x>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			post := raw(as2test.Prepare(t, acme, as2test.Invoice("ID-"+name, "1"), as2client.Options{})).set("Message-ID", id)
			first := exchange(t, hub, post.octets())
			checkSigned(t, hub, first.answers(t, mdn.Processed, id))
			if !bytes.Contains(first.body, []byte("\r\nOriginal-Message-ID: "+id+"\r\n")) {
				t.Errorf("the receipt does not echo %q on one line", id)
			}
			again := exchange(t, hub, post.lowerCase().octets()) // names of fields are not case-sensitive
			if !bytes.Equal(first.body, again.body) {
				t.Error("the repeat was not recognised")
			}
		})
	}
}

// What cannot be a Message-ID is answered, and keeps nothing (RFC 4130 §5.3.3: at most 998 characters).
func TestImpossibleMessageIDs(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	post := raw(as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{}))
	tooLong := "<" + strings.Repeat("x", 997) + ">"
	checkSigned(t, hub, exchange(t, hub, post.set("Message-ID", tooLong).octets()).answers(t, mdn.InvalidMessageID, tooLong))
	two := post.set("Message-ID", "<1@x>")
	two.fields = append(two.fields, mdn.Field{Name: "message-id", Value: "<2@x>"})
	exchange(t, hub, two.octets()).answers(t, mdn.UnexpectedProcessingError, "<1@x>")
	if r := exchange(t, hub, post.drop("Message-ID").octets()); r.status != 400 || r.isReceipt() {
		t.Errorf("without Message-ID: %q; a receipt for it could be matched with nothing", r.octets)
	}
	keptNothing(t, hub)
}

// A partner that stops listening after the last octet may lose the receipt, but neither the message nor the retry's receipt.
func TestRetryAfterTheConnectionWasClosed(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	m := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
	c := connect(t, hub)
	c.write(raw(m).octets())
	c.Close()
	as2test.Eventually(t, "the message to be taken", func() bool { return hub.Count(`SELECT count(*) FROM delivery`) == 1 })
	first, again := as2test.Post(t, m), as2test.Post(t, m)
	processed(t, first)
	if !bytes.Equal(first.Entity(), again.Entity()) || len(hub.Forwarded("acme")) != 1 {
		t.Error("the retries are not taken for retries")
	}
	if got := hub.Strings(`SELECT kind FROM ledger_event WHERE kind IN ('first', 'repeat') ORDER BY at`); !slices.Equal(got, []string{"first", "repeat", "repeat"}) {
		t.Errorf("events %v", got)
	}
}

// Some clients close their sending side once they have sent everything. They still read.
func TestHalfClosedConnectionIsAnswered(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	for range 5 {
		m := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
		c := connect(t, hub)
		c.write(raw(m).octets())
		c.halfClose()
		c.read().taken(t, hub, m)
	}
}

func TestRetryAfterRestart(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	var message as2client.Prepared
	var before as2client.Answer
	t.Run("before", func(t *testing.T) {
		hub := as2test.Start(t, as2test.Options{Database: database})
		acme := hub.Agree("acme", nil)
		message = as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
		before = as2test.Post(t, message)
		processed(t, before)
		if len(hub.Forwarded("acme")) != 1 {
			t.Error("not forwarded")
		}
	})
	t.Run("after", func(t *testing.T) {
		hub := as2test.Start(t, as2test.Options{Database: database})
		acme := hub.Agree("acme", nil)
		message.URL = hub.URL
		if after := as2test.Post(t, message); !bytes.Equal(after.Entity(), before.Entity()) {
			t.Errorf("another receipt: %d, %v", after.Status, after.Problems)
		}
		processed(t, as2test.Send(t, acme, as2test.Invoice("INV1", "1"))) // the reference is known, too
		if n := hub.Count(`SELECT count(*) FROM document`); n != 1 {
			t.Errorf("%d documents, want one", n)
		}
	})
}

// The same interchange is the same whatever is wrapped around it, and belongs to the partner who sent it.
func TestSameInterchangeInOtherWrapping(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	lax := func(a *partners.Agreement) { a.AS2.Require = partners.Require{} }
	acme, globex := hub.Agree("acme", lax), hub.Agree("globex", nil)
	invoice := as2test.Invoice("INV1", "1")
	processed(t, as2test.Send(t, acme, invoice))
	plain := acme
	plain.SignKey, plain.EncryptFor = nil, nil
	processed(t, as2test.Send(t, plain, invoice))
	for name, part := range map[string]string{
		"base64":           "Content-Type: application/EDIFACT\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64Text(invoice),
		"quoted-printable": "Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n" + quotedPrintable(invoice),
		"no encoding":      "\r\n" + invoice,
	} {
		m := sealed(t, acme, "<"+strings.ReplaceAll(name, " ", "-")+"@x>", []byte(part))
		r := exchange(t, hub, raw(m).octets()).taken(t, hub, m)
		if want := micOf(part); r.MIC.String() != want {
			t.Errorf("%s: MIC %s, want %s", name, r.MIC, want)
		}
	}
	armoured := as2test.Prepare(t, acme, invoice, as2client.Options{})
	armoured.Body = []byte(base64Text(string(armoured.Body)))
	post := raw(armoured).set("Content-Transfer-Encoding", "base64")
	exchange(t, hub, post.octets()).taken(t, hub, armoured)
	if got := hub.Forwarded("acme"); !slices.Equal(got, []string{invoice}) {
		t.Errorf("%d forwarded, want the invoice once", len(got))
	}
	if got := hub.Strings(`SELECT kind FROM ledger_event WHERE kind NOT IN ('forwarded') ORDER BY at`); !slices.Equal(got, []string{"first", "duplicate", "duplicate", "duplicate", "duplicate", "duplicate"}) {
		t.Errorf("verdicts %v", got)
	}
	processed(t, as2test.Send(t, globex, invoice))
	if len(hub.Forwarded("globex")) != 1 {
		t.Error("another partner's interchange was taken for a copy")
	}
}
