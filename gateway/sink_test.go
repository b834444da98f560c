package gateway_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"firstcopy/gateway"
	"firstcopy/gateway/forward"
	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/partners"
)

func attempts(n int) as2test.Options {
	return bounded(func(c *gateway.Config) { c.Forward.Attempts = n })
}

// state waits until the only document is in a state, and returns it.
func state(tb testing.TB, hub *as2test.Hub, want forward.State) forward.Document {
	tb.Helper()
	as2test.Eventually(tb, "a document to be "+string(want), func() bool {
		return hub.Count(`SELECT count(*) FROM document WHERE state = $1`, string(want)) == 1
	})
	var id [16]byte
	if err := hub.Pool.QueryRow(tb.Context(), `SELECT document_id FROM document`).Scan(&id); err != nil {
		tb.Fatal(err)
	}
	d, err := forward.Get(tb.Context(), hub.Pool, id)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func resend(tb testing.TB, hub *as2test.Hub, d forward.Document, attempts int) {
	tb.Helper()
	desk, err := forward.NewDesk(hub.Pool, attempts, "test")
	if err != nil {
		tb.Fatal(err)
	}
	if err := desk.Resend(tb.Context(), d.ID, "admin", "the sink is back"); err != nil {
		tb.Fatal(err)
	}
}

// CloudEvents 1.0 in HTTP binary mode, an Idempotency-Key, and a Standard Webhooks signature; the same id at each attempt.
func TestWebhook(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, attempts(5))
	hook := newMailbox(t, 500, 503)
	secret := []byte("thirty-two octets of test secret")
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("whsec_"+base64.StdEncoding.EncodeToString(secret)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	acme := hub.Agree("acme", func(a *partners.Agreement) { a.Sink, a.SinkSecretFile = hook.URL+"/hook?tenant=1", file })
	invoice := as2test.Invoice("INV1", "1")
	processed(t, as2test.Post(t, as2test.Prepare(t, acme, invoice, as2client.Options{FileName: "rechnung ü.edi"})))
	d := state(t, hub, forward.Done)
	got := hook.letters()
	if len(got) != 3 || d.Attempts != 3 || d.ForwardedTo != hook.URL+"/hook?tenant=1" {
		t.Fatalf("%d posts, %d attempts, to %q; want 3", len(got), d.Attempts, d.ForwardedTo)
	}
	for _, l := range got {
		checkHook(t, l, d, invoice, secret)
	}
}

func checkHook(t *testing.T, l letter, d forward.Document, payload string, secret []byte) {
	t.Helper()
	sum := sha256.Sum256([]byte(payload))
	id := d.ID.String()
	for name, want := range map[string]string{
		"ce-specversion": "1.0", "ce-id": id, "Idempotency-Key": id, "webhook-id": id, "ce-source": "firstcopy/acme",
		"ce-type": "firstcopy.document.first", "ce-subject": "INV1", "ce-controlreference": "INV1", "ce-partner": "acme",
		"ce-channel": "as2", "ce-standard": "edifact", "ce-sender": "4012345000009", "ce-recipient": "5412345000013",
		"ce-messagetypes": "INVOIC", "ce-test": "false", "ce-epoch": "1", "ce-sha256": hex.EncodeToString(sum[:]),
		"ce-filename": "rechnung%20%C3%BC.edi", "Content-Type": "application/EDIFACT", "Content-Length": fmt.Sprint(len(payload)),
	} {
		if got := l.head.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if at, err := time.Parse(time.RFC3339Nano, l.head.Get("ce-time")); err != nil || time.Since(at) > time.Hour {
		t.Errorf("ce-time %q: %v", l.head.Get("ce-time"), err)
	}
	if l.uri != "/hook?tenant=1" || string(l.body) != payload {
		t.Errorf("%s got %q", l.uri, l.body)
	}
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, l.head.Get("webhook-timestamp"), l.body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); l.head.Get("webhook-signature") != want {
		t.Errorf("webhook-signature %q, want %q", l.head.Get("webhook-signature"), want)
	}
}

// After the last attempt a document is stuck, shown, and can be sent again under the same id.
func TestStuckWebhook(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, attempts(3))
	hook := newMailbox(t, 500, 302, 404)
	hook.location = hook.URL + "/elsewhere"
	acme := hub.Agree("acme", func(a *partners.Agreement) { a.Sink = hook.URL })
	m := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
	processed(t, as2test.Post(t, m))
	d := state(t, hub, forward.StuckState)
	if !strings.Contains(d.LastError, "404") || d.Attempts != 3 || len(hook.letters()) != 3 {
		t.Errorf("%d attempts, %d posts, the last error is %q", d.Attempts, len(hook.letters()), d.LastError)
	}
	if got := hub.Strings(`SELECT kind FROM ledger_event WHERE document_id = $1 ORDER BY at`, d.ID.String()); !slices.Equal(got, []string{"first", "stuck"}) {
		t.Errorf("events %v", got)
	}
	processed(t, as2test.Post(t, m)) // the partner is not to blame, and a retry sends nothing again
	resend(t, hub, d, 3)
	d = state(t, hub, forward.Done)
	got := hook.letters()
	if len(got) != 4 || d.LastError != "" {
		t.Errorf("%d posts, last error %q", len(got), d.LastError)
	}
	for _, l := range got {
		if l.head.Get("Idempotency-Key") != d.ID.String() || l.head.Get("webhook-signature") != "" || l.uri != "/" {
			t.Errorf("posted %s to %s with %v", l.head.Get("Idempotency-Key"), l.uri, l.head)
		}
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	invoice := as2test.Invoice("INV1", "1")
	processed(t, as2test.Post(t, as2test.Prepare(t, acme, invoice, as2client.Options{FileName: "März 1.edi"})))
	d := state(t, hub, forward.Done)
	dir := filepath.Join(hub.Inbox, "acme")
	name := d.ID.String() + "_M-rz-1.edi" // made of nothing but the document
	before := listing(t, dir)
	if len(before) != 2 || before[name] == "" || before[name+".json"] == "" {
		t.Fatalf("the folder holds %v", before)
	}
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || string(content) != invoice || d.ForwardedTo != "dir:"+filepath.Join(dir, name) {
		t.Errorf("%q, %v, forwarded to %s", content, err, d.ForwardedTo)
	}
	sum := sha256.Sum256([]byte(invoice))
	want := description{ID: d.ID.String(), SHA256: hex.EncodeToString(sum[:]), FileName: "März 1.edi", Partner: "acme", Channel: "as2",
		Standard: "edifact", Reference: "INV1", Verdict: "first", Size: int64(len(invoice))}
	if got := descriptions(t, dir, func(description) bool { return true }); got != want {
		t.Errorf("described as %+v, want %+v", got, want)
	}
	resend(t, hub, d, 3)
	as2test.Eventually(t, "the second forwarding", func() bool {
		return hub.Count(`SELECT count(*) FROM ledger_event WHERE kind = 'forwarded'`) == 2
	})
	if after := listing(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("forwarding it again changed the folder: %v, then %v", before, after)
	}
}

// listing tells files apart: inode and time are another's if a file was written anew.
func listing(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	found := map[string]string{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			tb.Fatal(err)
		}
		found[e.Name()] = fmt.Sprint(info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
	return found
}

// A folder that is not there is the operator's to make. It is not made by the way: a mount that is missing looks the same.
func TestMissingFolder(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, attempts(2))
	missing := filepath.Join(hub.Inbox, "not", "mounted")
	acme := hub.Agree("acme", func(a *partners.Agreement) { a.Sink = "dir:" + missing })
	processed(t, as2test.Send(t, acme, as2test.Invoice("INV1", "1")))
	d := state(t, hub, forward.StuckState)
	if d.Attempts != 2 || !strings.Contains(d.LastError, missing) || !strings.Contains(d.LastError, "no such file or directory") {
		t.Errorf("%d attempts, the last error is %q", d.Attempts, d.LastError)
	}
	// The line is written when the state is: a moment after the state can be seen.
	as2test.Eventually(t, "the second line of the log", func() bool { return len(hub.Logs.Lines("forward failed")) >= 2 })
	if lines := hub.Logs.Lines("forward failed"); len(lines) != 2 || lines[1]["stuck"] != true || lines[1]["level"] != "ERROR" {
		t.Errorf("logged %v", lines)
	}
	if err := os.MkdirAll(missing, 0o755); err != nil {
		t.Fatal(err)
	}
	resend(t, hub, d, 2)
	state(t, hub, forward.Done)
	if got := as2test.Inbox(t, missing); len(got) != 1 {
		t.Errorf("%d files in the folder", len(got))
	}
}

// A sink's secret that cannot be used is a failure of the sink, with words that say which.
func TestUnusableSecret(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, attempts(1))
	hook := newMailbox(t)
	dir := t.TempDir()
	for name, content := range map[string]string{"empty": " \n", "damaged": "whsec_%%%"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"empty", "damaged", "absent"} {
		p := hub.Agree(name, func(a *partners.Agreement) { a.Sink, a.SinkSecretFile = hook.URL, filepath.Join(dir, name) })
		processed(t, as2test.Send(t, p, as2test.Invoice("INV1", "1")))
	}
	as2test.Eventually(t, "all to be stuck", func() bool { return hub.Count(`SELECT count(*) FROM document WHERE state = 'stuck'`) == 3 })
	stuck, err := forward.InState(context.Background(), hub.Pool, forward.StuckState, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range stuck {
		if !strings.Contains(d.LastError, dir) || strings.Contains(d.LastError, "%%%") {
			t.Errorf("the error is %q, want one that names the file, without its content", d.LastError)
		}
	}
	if n := len(hook.letters()); n != 0 {
		t.Errorf("%d posts without a signature", n)
	}
}

// A partner whose sink is slow, with many documents waiting, holds its share of the workers and nobody else's.
func TestSlowSinkHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { <-release; w.WriteHeader(503) }))
	defer slow.Close()
	defer close(release)
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", func(a *partners.Agreement) { a.Sink = slow.URL })
	globex := hub.Agree("globex", nil)
	var references []string
	for i := range 300 {
		references = append(references, fmt.Sprintf("S%03d", i))
	}
	processed(t, as2test.Send(t, acme, as2test.Orders(references...)))
	processed(t, as2test.Send(t, globex, as2test.Invoice("INV1", "1")))
	as2test.Eventually(t, "globex's document", func() bool { return len(as2test.Inbox(t, filepath.Join(hub.Inbox, "globex"))) == 1 })
}

// What an attempt that died has left in the folder goes with the attempt that succeeds.
func TestFolderIsSwept(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	dir := filepath.Join(hub.Inbox, "acme")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	processed(t, as2test.Post(t, as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{FileName: "a.edi"})))
	as2test.Eventually(t, "a failed attempt", func() bool { return hub.Count(`SELECT count(*) FROM document WHERE attempts > 0`) == 1 })
	id := hub.Strings(`SELECT document_id::text FROM document`)[0]
	staging := t.TempDir()
	for _, name := range []string{"." + id + "_a.edi.123", "." + id + "_a.edi.json.456", ".other"} {
		if err := os.WriteFile(filepath.Join(staging, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(staging, dir); err != nil { // all at once: the next attempt may come at any moment
		t.Fatal(err)
	}
	state(t, hub, forward.Done)
	got := listing(t, dir)
	if len(got) != 3 || got[".other"] == "" || got[id+"_a.edi"] == "" || got[id+"_a.edi.json"] == "" {
		t.Errorf("the folder holds %v", got)
	}
}
