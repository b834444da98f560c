package gateway_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/mdn"
	"firstcopy/partners"
)

// chunked frames a body in chunks of one octet, with an extension and a trailer (RFC 9112 §7.1).
func chunked(body []byte) []byte {
	var b bytes.Buffer
	for _, c := range body {
		b.WriteString("1;note=\"a; b\"\r\n")
		b.WriteByte(c)
		b.WriteString("\r\n")
	}
	b.WriteString("0;last\r\nX-Trailer: 1\r\nMessage-ID: <of-the-trailer@x>\r\n\r\n")
	return b.Bytes()
}

func TestFramings(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	fold := func(s string) string { return strings.ReplaceAll(s, "; ", ";\r\n\t") }
	t.Run("each", func(t *testing.T) {
		for name, wrap := range map[string]func(p rawPost) []byte{
			"content length": func(p rawPost) []byte { return p.octets() },
			"chunked": func(p rawPost) []byte {
				return append(p.set("Transfer-Encoding", "chunked").head(), chunked(p.body)...)
			},
			"Chunked": func(p rawPost) []byte {
				return append(p.set("Transfer-Encoding", "Chunked").head(), chunked(p.body)...)
			},
			"HTTP/1.0": func(p rawPost) []byte {
				p.proto = "HTTP/1.0"
				return p.drop("Host").octets()
			},
			"folded Content-Type": func(p rawPost) []byte { return p.set("Content-Type", fold(p.value("Content-Type"))).octets() },
			"folded options": func(p rawPost) []byte {
				return p.set("Disposition-Notification-Options", fold(p.value("Disposition-Notification-Options"))).octets()
			},
			"lower case names": func(p rawPost) []byte { return p.lowerCase().octets() },
			"bare LF header": func(p rawPost) []byte {
				head := p.set("Content-Length", strconv.Itoa(len(p.body))).head()
				return append(bytes.ReplaceAll(head, []byte("\r\n"), []byte("\n")), p.body...)
			},
			"//as2":        func(p rawPost) []byte { p.target = "//as2"; return p.octets() },
			"/as2/":        func(p rawPost) []byte { p.target = "/as2/"; return p.octets() },
			"/as2?x=y":     func(p rawPost) []byte { p.target = "/as2?x=y"; return p.octets() },
			"//as2///?x":   func(p rawPost) []byte { p.target = "//as2///?x"; return p.octets() },
			"%61s2":        func(p rawPost) []byte { p.target = "/%61s2"; return p.octets() },
			"absolute URI": func(p rawPost) []byte { p.target = "http://hub.example/as2"; return p.octets() },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := as2test.Prepare(t, acme, as2test.Invoice("F-"+name, "1"), as2client.Options{})
				exchange(t, hub, wrap(raw(m))).taken(t, hub, m)
			})
		}
	})
	t.Run("forwarded", func(t *testing.T) {
		if n := len(hub.Forwarded("acme")); n != hub.Count(`SELECT count(*) FROM delivery`) {
			t.Errorf("%d forwarded", n)
		}
	})
}

func TestFoldedMultipart(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", func(a *partners.Agreement) { a.AS2.Require.Encrypted = false })
	acme.EncryptFor = nil
	m := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
	folded := strings.ReplaceAll(raw(m).value("Content-Type"), "; ", ";\r\n   ")
	exchange(t, hub, raw(m).set("Content-Type", folded).octets()).taken(t, hub, m)
}

// One connection serves many messages, also when they are sent before the first is answered.
func TestMessagesOnOneConnection(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	var all []as2client.Prepared
	for i := range 4 {
		all = append(all, as2test.Prepare(t, acme, as2test.Invoice(fmt.Sprint("K", i), "1"), as2client.Options{}))
	}
	c := connect(t, hub)
	for _, m := range all[:2] {
		c.write(raw(m).octets())
		c.read().taken(t, hub, m)
	}
	c.write(append(raw(all[2]).octets(), raw(all[3]).octets()...))
	c.read().taken(t, hub, all[2])
	c.read().taken(t, hub, all[3])
}

// RFC 9110 §10.1.1: a client that waits gets its 100, also one that nobody knows: it cannot read a refusal otherwise.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	for name, tt := range map[string]struct {
		from string
		want mdn.Disposition
	}{"partner": {"ACME", mdn.Processed}, "stranger": {"NOBODY", mdn.UnknownTradingRelationship}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
			c := connect(t, hub)
			post := raw(m).set("AS2-From", tt.from).set("Expect", "100-continue")
			c.write(post.set("Content-Length", strconv.Itoa(len(m.Body))).head())
			if r := c.read(); r.status != 100 {
				t.Fatalf("%q, want 100 Continue", r.octets)
			}
			c.write(m.Body)
			c.read().answers(t, tt.want, m.MessageID)
		})
	}
}

// HTTP/1.0 ends a body by closing at best, and net/http takes one without a length for empty: that is never a message.
func TestNoFramingIsNoContent(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	m := as2test.Prepare(t, hub.Agree("acme", nil), as2test.Invoice("INV1", "1"), as2client.Options{})
	post := raw(m)
	post.proto = "HTTP/1.0"
	for name, octets := range map[string][]byte{
		"no length": append(post.head(), m.Body...),
		"chunked":   append(post.set("Transfer-Encoding", "chunked").head(), chunked(m.Body)...),
		"nothing":   post.head(),
	} {
		c := connect(t, hub)
		c.write(octets)
		c.halfClose()
		if r := c.read(); r.status != 200 || r.receipt(t).Disposition.Positive() {
			t.Errorf("%s: %q, want a negative receipt", name, r.octets)
		}
	}
	keptNothing(t, hub)
}

// A body that breaks off is no message, whatever it would mean if it ended there.
func TestIncompleteBody(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", func(a *partners.Agreement) { a.AS2.Require = partners.Require{} })
	sealed := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
	acme.SignKey, acme.EncryptFor = nil, nil
	plain := as2test.Prepare(t, acme, as2test.Invoice("INV2", "1"), as2client.Options{})
	last := func(b []byte) []byte {
		return chunked(b)[:len(chunked(b))-len("0;last\r\nX-Trailer: 1\r\nMessage-ID: <of-the-trailer@x>\r\n\r\n")]
	}
	for _, m := range []as2client.Prepared{sealed, plain} {
		complete := raw(m).octets()
		for _, octets := range [][]byte{
			complete[:len(complete)-1], complete[:len(complete)-len(m.Body)/2], complete[:len(complete)-len(m.Body)],
			append(raw(m).set("Content-Length", strconv.Itoa(len(m.Body)+1)).head(), m.Body...),
			append(raw(m).set("Transfer-Encoding", "chunked").head(), last(m.Body)...),
			append(raw(m).set("Transfer-Encoding", "chunked").head(), append(last(m.Body), "no chunk\r\n"...)...),
		} {
			c := connect(t, hub)
			c.write(octets)
			c.halfClose()
			if r := c.read(); r.status != 400 || r.isReceipt() {
				t.Errorf("%q, want 400 without a receipt", r.octets)
			}
		}
		c := connect(t, hub) // and one who does not wait for the answer
		c.write(complete[:len(complete)-1])
		c.Close()
	}
	for _, line := range handled(t, hub, 14) {
		if line["outcome"] != "incomplete" {
			t.Errorf("handled as %v", line["outcome"])
		}
	}
	keptNothing(t, hub)
	exchange(t, hub, raw(sealed).octets()).taken(t, hub, sealed) // the retry is a first copy
	if n := hub.Count(`SELECT count(*) FROM ledger_event WHERE kind = 'first'`); n != 1 {
		t.Errorf("%d first copies", n)
	}
}

// What comes by the way of probes and scanners is answered and leaves no trace.
func TestProbes(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	hub.Agree("acme", nil)
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/as2", 200}, {"HEAD", "/as2", 200}, {"GET", "//as2/", 200}, {"OPTIONS", "/as2", 405}, {"PUT", "/as2", 405},
		{"DELETE", "/as2", 405}, {"GET", "/", 404}, {"POST", "/", 404}, {"POST", "/AS2", 404}, {"POST", "/as2/x", 404},
		{"POST", "/as22", 404}, {"GET", "/metrics", 404}, {"GET", "/healthz", 404},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://"+hub.Node.Address()+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(req) // follows no redirect
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.status || resp.ContentLength < 0 {
			t.Errorf("%s %s: %s, length %d, want %d", tt.method, tt.path, resp.Status, resp.ContentLength, tt.status)
		}
		if tt.status == 405 && !slices.Contains(resp.Header.Values("Allow"), "GET, HEAD, POST") {
			t.Errorf("%s: Allow %q", tt.method, resp.Header.Values("Allow"))
		}
	}
	keptNothing(t, hub)
	if got := hub.Logs.Lines("message handled"); len(got) != 0 {
		t.Errorf("probes were taken for messages: %v", got)
	}
}

// RFC 4130 §5.2.2 lets HTTP compress; we say that we do not take it, and never take it for a payload.
func TestContentEncoding(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", func(a *partners.Agreement) { a.AS2.Require = partners.Require{} })
	acme.SignKey, acme.EncryptFor = nil, nil
	m := as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{})
	for _, encoding := range []string{"gzip", "deflate", "br", "GZIP", "identity, gzip", "gzip, identity"} {
		if r := exchange(t, hub, raw(m).set("Content-Encoding", encoding).octets()); r.status != 415 || r.isReceipt() {
			t.Errorf("%s: %q, want 415", encoding, r.octets)
		}
	}
	two := raw(m)
	two.fields = append(two.fields, mdn.Field{Name: "Content-Encoding", Value: "identity"}, mdn.Field{Name: "content-encoding", Value: "gzip"})
	if r := exchange(t, hub, two.octets()); r.status != 415 {
		t.Errorf("in two fields: %q, want 415", r.octets)
	}
	keptNothing(t, hub)
	r := exchange(t, hub, raw(m).set("Content-Encoding", "Identity").octets())
	checkSigned(t, hub, r.answers(t, mdn.Processed, m.MessageID))
}
