package gateway_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"firstcopy/gateway"
	"firstcopy/gateway/forward"
	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/mdn"
	"firstcopy/partners"
)

// mailbox is a partner's address for receipts. It answers with the statuses it is given, then 200.
type mailbox struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	location string        // of a redirect
	gate     chan struct{} // nothing is answered before it is closed; nil: at once
	got      []letter
}

type letter struct {
	uri  string
	head http.Header
	body []byte
}

func newMailbox(tb testing.TB, statuses ...int) *mailbox {
	tb.Helper()
	m := &mailbox{statuses: statuses}
	m.Server = httptest.NewServer(m)
	tb.Cleanup(m.Close)
	return m
}

func (m *mailbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	_, err := body.ReadFrom(r.Body)
	if err != nil {
		return // nobody waits for an answer
	}
	if m.gate != nil {
		<-m.gate
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.got = append(m.got, letter{r.RequestURI, r.Header.Clone(), body.Bytes()})
	status := http.StatusOK
	if len(m.statuses) > 0 {
		status, m.statuses = m.statuses[0], m.statuses[1:]
	}
	if m.location != "" {
		w.Header().Set("Location", m.location)
	}
	w.WriteHeader(status)
}

func (m *mailbox) letters() []letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]letter(nil), m.got...)
}

func (m *mailbox) wait(tb testing.TB, n int) []letter {
	tb.Helper()
	as2test.Eventually(tb, fmt.Sprint(n, " receipts"), func() bool { return len(m.letters()) >= n })
	return m.letters()
}

// read judges a letter as a receipt signed by the hub.
func (l letter) read(tb testing.TB, hub *as2test.Hub, want mdn.Disposition, messageID string) mdn.Parsed {
	tb.Helper()
	p, err := mdn.Parse(l.head.Get("Content-Type"), l.body)
	if err != nil {
		tb.Fatalf("no receipt was posted: %v", err)
	}
	if p.Disposition != want || p.OriginalMessageID != messageID {
		tb.Errorf("%v for %q, want %v for %q", p.Disposition, p.OriginalMessageID, want, messageID)
	}
	checkSigned(tb, hub, p)
	return p
}

// agreeAsync has a partner who may have receipts posted to an address.
func agreeAsync(hub *as2test.Hub, name, url string) as2client.Partner {
	p := hub.Agree(name, func(a *partners.Agreement) { a.AS2.AsyncURLs, a.AS2.AllowPrivate = []string{url}, true })
	p.Receipt.AsyncURL = url
	return p
}

// The answer on the connection does not wait for the receipt to be delivered, and the receipt goes to where it was asked
// for, query and all.
func TestAsynchronousReceipt(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	box := newMailbox(t)
	box.gate = make(chan struct{})
	acme := agreeAsync(hub, "acme", box.URL+"/in")
	acme.Receipt.AsyncURL = box.URL + "/in/receipts?partner=acme&x=%20y"
	m := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
	if a := as2test.Post(t, m); !a.Pending || a.Status != 200 || len(a.Raw) != 0 {
		t.Errorf("answered %d with %q, want an empty 200", a.Status, a.Raw)
	}
	close(box.gate)
	l := box.wait(t, 1)[0]
	l.read(t, hub, mdn.Processed, m.MessageID)
	if l.uri != "/in/receipts?partner=acme&x=%20y" {
		t.Errorf("posted to %q", l.uri)
	}
	as2test.Eventually(t, "the delivery of the receipt to be recorded", func() bool {
		return hub.Count(`SELECT count(*) FROM receipt WHERE delivered_at IS NOT NULL`) == 1 &&
			hub.Count(`SELECT count(*) FROM ledger_event WHERE kind = 'receipt_delivered'`) == 1
	})
	if a := as2test.Post(t, m); !a.Pending { // a retry has the same receipt sent again
		t.Errorf("the retry got %d with %q", a.Status, a.Raw)
	}
	if again := box.wait(t, 2)[1]; !bytes.Equal(again.body, l.body) || again.head.Get("Message-ID") != l.head.Get("Message-ID") {
		t.Error("the retry got another receipt")
	}
	if len(hub.Forwarded("acme")) != 1 {
		t.Error("the message was not forwarded once")
	}
}

// What goes over the wire has the same shape as on the same connection.
func TestAsynchronousReceiptOnTheWire(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	acme := agreeAsync(hub, "acme", "http://"+listener.Addr().String()+"/mdn")
	m := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
	if a := as2test.Post(t, m); !a.Pending {
		t.Fatalf("%d: %v", a.Status, a.Problems)
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	c := &rawConn{Conn: conn, tb: t, in: bufio.NewReader(conn)}
	request := c.read() // a request line reads like a status line
	c.write([]byte("HTTP/1.1 204 No Content\r\n\r\n"))
	if request.proto != "POST" {
		t.Fatalf("%q", request.octets)
	}
	for _, want := range []string{"AS2-From: HUB", "AS2-To: ACME", "MIME-Version: 1.0", fmt.Sprintf("Content-Length: %d", len(request.body))} {
		if !strings.Contains("\n"+strings.Join(request.lines, "\n")+"\n", "\n"+want+"\n") {
			t.Errorf("no line %q in %q", want, request.lines)
		}
	}
	if _, found := request.find("Transfer-Encoding"); found {
		t.Error("the receipt is chunked")
	}
	checkBody(t, request)
}

func TestAsynchronousReceiptIsRetried(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	box := newMailbox(t, 500, 500)
	m := as2test.Prepare(t, agreeAsync(hub, "acme", box.URL), as2test.Invoice("INV1", "1"), as2client.Options{})
	if a := as2test.Post(t, m); !a.Pending {
		t.Fatalf("%d: %v", a.Status, a.Problems)
	}
	box.wait(t, 3)
	as2test.Eventually(t, "the delivery to be recorded", func() bool {
		return hub.Count(`SELECT count(*) FROM receipt WHERE delivered_at IS NOT NULL`) == 1
	})
	got := box.letters()
	if len(got) != 3 {
		t.Errorf("%d posts, want 3", len(got))
	}
	for _, l := range got {
		l.read(t, hub, mdn.Processed, m.MessageID)
		if !bytes.Equal(l.body, got[0].body) || l.head.Get("Message-ID") != got[0].head.Get("Message-ID") || l.head.Get("Date") != got[0].head.Get("Date") {
			t.Error("an attempt sent another receipt")
		}
	}
}

// A blank option asks for nothing.
func TestBlankDeliveryOption(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	m := as2test.Prepare(t, hub.Agree("acme", nil), as2test.Invoice("INV1", "1"), as2client.Options{})
	for _, blank := range []string{"", "   ", "\t"} {
		exchange(t, hub, raw(m).set("Receipt-Delivery-Option", blank).octets()).taken(t, hub, m)
	}
}

// A1: anybody can write an address into a message. Only agreed ones get a request from us; else the answer is here.
func TestReceiptAddressesThatAreNotAgreed(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	agreed, other := newMailbox(t), newMailbox(t)
	acme := agreeAsync(hub, "acme", agreed.URL+"/in")
	none := hub.Agree("none", nil)
	_, port, _ := strings.Cut(strings.TrimPrefix(agreed.URL, "http://"), ":")
	t.Run("each", func(t *testing.T) {
		for name, tt := range map[string]struct {
			partner as2client.Partner
			url     string
		}{
			"nothing agreed": {none, other.URL + "/in"}, "another port": {acme, other.URL + "/in"}, "another path": {acme, agreed.URL + "/out"},
			"path prefix": {acme, agreed.URL + "/inside"}, "dot segments": {acme, agreed.URL + "/in/../out"},
			"encoded dots": {acme, agreed.URL + "/in/%2e%2e/out"}, "another name": {acme, "http://localhost:" + port + "/in"},
			"user information": {acme, "http://acme:secret@127.0.0.1:" + port + "/in"}, "host in user": {acme, "http://127.0.0.1:" + port + "@" + strings.TrimPrefix(other.URL, "http://") + "/in"},
			"link-local": {acme, "http://169.254.169.254/latest/meta-data"}, "number": {acme, "http://2130706433:" + port + "/in"},
			"file": {acme, "file:///etc/passwd"}, "mailto": {acme, "mailto:edi@acme.example"}, "no scheme": {acme, "127.0.0.1:" + port + "/in"},
			"https": {acme, "https://127.0.0.1:" + port + "/in"}, "no URL": {acme, "http://[::1"}, "Latin-1": {acme, agreed.URL + "/in?x=\xfc"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := as2test.Prepare(t, tt.partner, as2test.Invoice("INV-"+name, "1"), as2client.Options{})
				exchange(t, hub, raw(m).set("Receipt-Delivery-Option", tt.url).octets()).taken(t, hub, m)
			})
		}
	})
	t.Run("log", func(t *testing.T) {
		for _, line := range hub.Logs.Lines("message handled") {
			if line["async_refused"] == nil || line["async_refused"] == "" {
				t.Errorf("no word about the refused address: %v", line)
			}
		}
		if a, o := agreed.letters(), other.letters(); len(a) != 0 || len(o) != 0 {
			t.Errorf("%d and %d requests were made", len(a), len(o))
		}
		if n := hub.Count(`SELECT count(*) FROM river_job WHERE kind = 'send_receipt'`); n != 0 {
			t.Errorf("%d receipts wait to be sent", n)
		}
	})
}

// The address is judged again when the receipt is sent: agreements change meanwhile.
func TestPrivateAddressNeedsPermission(t *testing.T) {
	t.Parallel()
	box := newMailbox(t)
	receipt := composedReceipt(t, "hub").Marshal()
	agreement := &partners.Agreement{AS2: partners.AS2{AsyncURLs: []string{box.URL}}}
	if err := forward.PostReceipt(t.Context(), agreement, box.URL, receipt); err == nil || len(box.letters()) != 0 {
		t.Errorf("%v, and %d requests were made to a private address", err, len(box.letters()))
	}
	agreement.AS2.AllowPrivate = true
	if err := forward.PostReceipt(t.Context(), agreement, box.URL, receipt); err != nil || len(box.letters()) != 1 {
		t.Errorf("%v, and %d requests were made to the agreed address", err, len(box.letters()))
	}
}

func TestRedirectedReceiptIsNotFollowed(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, bounded(func(c *gateway.Config) { c.Forward.Attempts = 2 }))
	elsewhere := newMailbox(t)
	box := newMailbox(t, 302, 307)
	box.location = elsewhere.URL + "/in"
	m := as2test.Prepare(t, agreeAsync(hub, "acme", box.URL+"/in"), as2test.Invoice("INV1", "1"), as2client.Options{})
	if a := as2test.Post(t, m); !a.Pending {
		t.Fatalf("%d: %v", a.Status, a.Problems)
	}
	as2test.Eventually(t, "the receipt to be given up", func() bool {
		return hub.Count(`SELECT count(*) FROM ledger_event WHERE kind = 'receipt_failed'`) == 1
	})
	if n := len(elsewhere.letters()); n != 0 || len(box.letters()) != 2 {
		t.Errorf("%d attempts, %d requests to the redirect's target", len(box.letters()), n)
	}
	as2test.Eventually(t, "the second line, which follows the event", func() bool {
		return len(hub.Logs.Lines("asynchronous receipt not delivered")) == 2
	})
	lines := hub.Logs.Lines("asynchronous receipt not delivered")
	if len(lines) != 2 || !strings.Contains(fmt.Sprint(lines[0]["error"]), "302") || lines[1]["level"] != "ERROR" {
		t.Errorf("logged %v", lines)
	}
	if len(hub.Forwarded("acme")) != 1 {
		t.Error("the message itself was not forwarded")
	}
}

// A refusal goes the way the receipt was asked for, and keeps nothing either.
func TestNegativeAsynchronousReceipt(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	box := newMailbox(t, 500)
	forged := agreeAsync(hub, "acme", box.URL+"/in")
	stranger := as2test.Key(t, "stranger")
	forged.SignKey = &stranger
	m := as2test.Prepare(t, forged, as2test.Invoice("INV1", "1"), as2client.Options{})
	if a := as2test.Post(t, m); !a.Pending || len(a.Raw) != 0 {
		t.Errorf("answered %d with %q, want an empty 200", a.Status, a.Raw)
	}
	for _, l := range box.wait(t, 2) { // the first attempt failed
		l.read(t, hub, mdn.AuthenticationFailed, m.MessageID)
	}
	keptNothing(t, hub)
}

// Nobody knows a stranger's addresses.
func TestStrangerGetsNoAsynchronousReceipt(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	box := newMailbox(t)
	m := as2test.Prepare(t, agreeAsync(hub, "acme", box.URL+"/in"), as2test.Invoice("INV1", "1"), as2client.Options{})
	exchange(t, hub, raw(m).set("AS2-From", "NOBODY").octets()).answers(t, mdn.UnknownTradingRelationship, m.MessageID)
	if n := len(box.letters()); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}
