package gateway_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/mdn"
	"firstcopy/partners"
)

// What old AS2 products can read of a receipt on the same connection: one piece of known length, one line a field, only
// CRLF, and nothing of the request.
func TestReceiptOnTheWire(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	stranger := as2test.Key(t, "stranger")
	forged := acme
	forged.SignKey = &stranger
	for name, tt := range map[string]struct {
		sender as2client.Partner
		proto  string
		want   mdn.Disposition
	}{
		"positive":           {acme, "HTTP/1.1", mdn.Processed},
		"positive, HTTP/1.0": {acme, "HTTP/1.0", mdn.Processed},
		"negative":           {forged, "HTTP/1.1", mdn.AuthenticationFailed},
		"negative, HTTP/1.0": {forged, "HTTP/1.0", mdn.AuthenticationFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := as2test.Prepare(t, tt.sender, as2test.Invoice("W-"+name, "1"), as2client.Options{Subject: "of the request"})
			post := raw(m).set("X-Custom", "of the request").set("Content-Disposition", "attachment; filename=of-the-request")
			post.proto = tt.proto
			c := connect(t, hub)
			c.write(post.octets())
			r := c.read()
			checkSigned(t, hub, r.answers(t, tt.want, m.MessageID))
			checkHeader(t, r, tt.proto)
			checkBody(t, r)
			verifyWithOpenSSL(t, hub, r)
			if tt.proto == "HTTP/1.0" && !c.closed() {
				t.Error("the connection stays open")
			}
		})
	}
}

func checkHeader(t *testing.T, r rawReply, proto string) {
	t.Helper()
	if r.proto != proto {
		t.Errorf("answered in %s, want %s", r.proto, proto)
	}
	want := []string{"AS2-From: HUB", "AS2-To: ACME", "MIME-Version: 1.0"}
	names := []string{"AS2-Version", "AS2-From", "AS2-To", "MIME-Version", "Message-ID", "Date", "Subject", "Content-Type", "Content-Length"}
	if proto == "HTTP/1.0" {
		names = append(names, "Connection")
	}
	var got []string
	for _, line := range r.lines {
		name, _, found := strings.Cut(line, ": ")
		if !found || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			t.Errorf("a folded or broken line: %q", line)
		}
		got = append(got, name)
		if strings.Contains(line, "of the request") || strings.Contains(line, "of-the-request") {
			t.Errorf("a header of the request is in the answer: %q", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(r.lines, line) {
			t.Errorf("no line %q in %q", line, r.lines)
		}
	}
	slices.Sort(names)
	if slices.Sort(got); !slices.Equal(got, names) && !slices.Equal(got, slices.DeleteFunc(names, func(s string) bool { return s == "Connection" })) {
		t.Errorf("fields %q, want %q", got, names)
	}
	contentType := r.value("Content-Type")
	if !strings.HasPrefix(contentType, `multipart/signed; protocol="application/pkcs7-signature"; micalg=sha-256; boundary="`) {
		t.Errorf("Content-Type %q", contentType)
	}
	if _, err := time.Parse(time.RFC1123, r.value("Date")); err != nil {
		t.Errorf("the date is not English: %v", err)
	}
}

func checkBody(t *testing.T, r rawReply) {
	t.Helper()
	_, boundary, _ := strings.Cut(r.value("Content-Type"), `boundary="`)
	boundary = strings.TrimSuffix(boundary, `"`)
	if !bytes.HasPrefix(r.body, []byte("--"+boundary+"\r\n")) || !bytes.HasSuffix(r.body, []byte("\r\n--"+boundary+"--\r\n")) {
		t.Errorf("the body is not framed by its delimiters: %q", r.body)
	}
	crlf := bytes.Count(r.octets, []byte("\r\n"))
	if lf, cr := bytes.Count(r.octets, []byte("\n")), bytes.Count(r.octets, []byte("\r")); lf != crlf || cr != crlf {
		t.Errorf("%d LF and %d CR in %d CRLF", lf, cr, crlf)
	}
	if i := bytes.IndexFunc(r.body, func(c rune) bool { return c > '~' }); i >= 0 {
		t.Errorf("octets above ASCII in the body, at %q", r.body[i:])
	}
	if !bytes.Contains(r.body, []byte("\r\nContent-Type: text/plain; charset=us-ascii\r\nContent-Transfer-Encoding: 7bit\r\n\r\n")) &&
		!bytes.Contains(r.body, []byte("Content-Transfer-Encoding: 7bit\r\n")) {
		t.Error("the text is not 7bit")
	}
}

// verifyWithOpenSSL has another implementation read the receipt, where it is installed. The receipt's signature has been
// verified before by our own means.
func verifyWithOpenSSL(t *testing.T, hub *as2test.Hub, r rawReply) {
	t.Helper()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Log("openssl is not installed")
		return
	}
	dir := t.TempDir()
	certificate, _ := as2test.WriteKey(t, dir, "hub", hub.Key)
	entity := filepath.Join(dir, "receipt.eml")
	content := "MIME-Version: 1.0\r\nContent-Type: " + r.value("Content-Type") + "\r\n\r\n" + string(r.body)
	if err := os.WriteFile(entity, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, openssl, "cms", "-verify", "-inform", "SMIME", "-in", entity, "-nointern",
		"-certfile", certificate, "-noverify", "-out", filepath.Join(dir, "content")).CombinedOutput()
	if err != nil {
		t.Errorf("openssl cms -verify: %v\n%s", err, out)
	}
}

// Without options the receipt is unsigned (RFC 4130 §7.3), and without Disposition-Notification-To there is none.
func TestReceiptAsRequested(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	m := as2test.Prepare(t, hub.Agree("acme", nil), as2test.Invoice("INV1", "1"), as2client.Options{})
	unsigned := exchange(t, hub, raw(m).drop("Disposition-Notification-Options").octets())
	if p := unsigned.answers(t, mdn.Processed, m.MessageID); p.Signed || !strings.HasPrefix(unsigned.value("Content-Type"), `multipart/report; report-type=disposition-notification; boundary="`) {
		t.Errorf("Content-Type %q", unsigned.value("Content-Type"))
	}
	none := exchange(t, hub, raw(m).drop("Disposition-Notification-To").octets())
	if none.status != 200 || len(none.body) != 0 || none.value("Content-Length") != "0" {
		t.Errorf("unasked for: %q, want an empty 200", none.octets)
	}
	for _, address := range []string{"http://acme.example/mdn", "Test Company", `"ACME"`} { // its presence is all that counts (§7.3)
		exchange(t, hub, raw(m).set("Disposition-Notification-To", address).octets()).taken(t, hub, m)
	}
	if len(hub.Forwarded("acme")) != 1 {
		t.Error("repeats were forwarded")
	}
}

// RFC 4130 §7.3.1 and §7.5.3: what is required and cannot be done is a failure, what is optional is done otherwise.
func TestReceiptsWeCannotMake(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	t.Run("each", func(t *testing.T) {
		for name, tt := range map[string]struct {
			options string
			want    mdn.Disposition
		}{
			"protocol":          {"signed-receipt-protocol=required, pgp-signature; signed-receipt-micalg=optional, sha-256", mdn.UnsupportedFormat},
			"digest":            {"signed-receipt-protocol=optional, pkcs7-signature; signed-receipt-micalg=required, whirlpool", mdn.UnsupportedMICAlgorithms},
			"only MD5":          {"signed-receipt-protocol=required, pkcs7-signature; signed-receipt-micalg=required, md5", mdn.UnsupportedMICAlgorithms},
			"both":              {"signed-receipt-protocol=required, pgp-signature; signed-receipt-micalg=required, whirlpool", mdn.UnsupportedFormat},
			"optional protocol": {"signed-receipt-protocol=optional, pgp-signature; signed-receipt-micalg=optional, sha-256", mdn.Processed},
			"optional digest":   {"signed-receipt-protocol=optional, pkcs7-signature; signed-receipt-micalg=optional, whirlpool", mdn.Processed},
			"second digest":     {"signed-receipt-protocol=required, pkcs7-signature; signed-receipt-micalg=required, whirlpool, SHA1", mdn.Processed},
			"no digest":         {"signed-receipt-protocol=optional, pkcs7-signature;", mdn.Processed},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := as2test.Prepare(t, acme, as2test.Invoice(name, "1"), as2client.Options{})
				r := exchange(t, hub, raw(m).set("Disposition-Notification-Options", tt.options).octets())
				checkSigned(t, hub, r.answers(t, tt.want, m.MessageID))
				if !tt.want.Positive() && !bytes.Contains(r.body, []byte("; "+as2client.Outcome(tt.want)+"\r\n")) {
					t.Errorf("the disposition is not spelled %q", as2client.Outcome(tt.want))
				}
			})
		}
	})
	t.Run("forwarded", func(t *testing.T) {
		if n := hub.Count(`SELECT count(*) FROM delivery`); n != 4 {
			t.Errorf("%d deliveries, but 4 positive answers", n)
		}
	})
}

// A receipt that comes to the message address is no message (RFC 8098 §2.1: no MDN about an MDN).
func TestReceiptPostedAtTheMessageAddress(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", func(a *partners.Agreement) { a.AS2.Require = partners.Require{} })
	m := as2test.Prepare(t, acme, "replaced", as2client.Options{})
	good, bad := composedReceipt(t, "acme"), composedReceipt(t, "stranger")
	for name, tt := range map[string]struct {
		receipt mdn.Receipt
		status  int
	}{"good": {good, 200}, "bad signature": {bad, 400}} {
		post := raw(m).drop("Content-Transfer-Encoding").drop("Content-Disposition")
		post.body = tt.receipt.Body
		for _, f := range tt.receipt.Header {
			if f.Name == "Content-Type" {
				post = post.set("Content-Type", f.Value)
			}
		}
		if r := exchange(t, hub, post.octets()); r.status != tt.status || r.isReceipt() {
			t.Errorf("%s: answered %q, want %d without a receipt, although one was asked for", name, r.octets, tt.status)
		}
	}
	lines := hub.Logs.Lines("receipt posted at the message address")
	if len(lines) != 1 || lines[0]["original_message_id"] != "<sent@hub>" || lines[0]["partner"] != "acme" {
		t.Errorf("logged %v", lines)
	}
	keptNothing(t, hub)
}
