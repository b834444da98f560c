package gateway_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/mdn"
	"firstcopy/partners"
)

// C6: whatever octets the partner seals are the octets that are forwarded, and the MIC is theirs.
func TestOctetsAreSacred(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	invoice := func(reference, old, replacement string) string {
		return strings.Replace(as2test.Invoice(reference, "1"), old, replacement, 1)
	}
	for name, payload := range map[string]string{
		"Latin-1":           invoice("R1", "NAD+SU", "FTX+AAI+++f\xfcr M\xfcller'\r\nNAD+SU"),
		"Latin-1 in id":     invoice("R2", "5412345000013:14", "M\xdcLLER:ZZ"),
		"NUL":               invoice("R3", "NAD+SU", "FTX+AAI+++a\x00b'NAD+SU"),
		"NUL in id":         invoice("R4", "5412345000013:14", "A\x00B:ZZ"),
		"no last newline":   strings.TrimSuffix(as2test.Invoice("R5", "1"), "\r\n"),
		"bare LF":           strings.ReplaceAll(as2test.Invoice("R6", "1"), "\r\n", "\n"),
		"bare CR":           strings.ReplaceAll(as2test.Invoice("R7", "1"), "\r\n", "\r"),
		"junk behind":       as2test.Invoice("R8", "1") + " \t\r\n\r\n\x1a",
		"boundary behind":   as2test.Invoice("R9", "1") + "\r\n--part",
		"header before":     "Content-Type: text/plain\r\n\r\n" + as2test.Invoice("R10", "1"),
		"long reference":    invoice("R11", "+R11++", "+"+strings.Repeat("9", 3000)+"++"),
		"long party":        invoice("R12", "5412345000013:14", strings.Repeat("9", 3000)+":ZZ"),
		"control reference": invoice("R13", "+R13++", "+"+strings.Repeat("\x01", 500)+"++"),
		"X12 controls":      strings.NewReplacer("*", "\x1d", "~", "\x1c", ">", "\x1f").Replace(as2test.PurchaseOrder(17, 3)),
		"byte order mark":   "\xef\xbb\xbf<?xml version=\"1.0\"?>\n<Invoice/>\n",
		"empty":             "",
		"one octet":         "\n",
		"every octet":       string(every),
		"zeros":             strings.Repeat("\x00", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part := "Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: binary\r\n\r\n" + payload
			m := sealed(t, acme, "<"+strings.ReplaceAll(name, " ", "-")+"@x>", []byte(part))
			p := exchange(t, hub, raw(m).octets()).taken(t, hub, m)
			if want := micOf(part); p.MIC.String() != want {
				t.Errorf("MIC %s, want %s", p.MIC, want)
			}
			if got := hub.Forwarded("acme"); !slices.Contains(got, payload) {
				t.Fatalf("%q is not among the forwarded %q", payload, got)
			}
			sum := sha256.Sum256([]byte(payload))
			descriptions(t, filepath.Join(hub.Inbox, "acme"), func(d description) bool { return d.SHA256 == hex.EncodeToString(sum[:]) })
			exchange(t, hub, raw(m).octets()).taken(t, hub, m) // and it is found again
		})
	}
}

// description is what a dir: sink writes beside a payload.
type description struct {
	ID        string `json:"document_id"`
	SHA256    string `json:"sha256"`
	FileName  string `json:"file_name"`
	Partner   string `json:"partner"`
	Channel   string `json:"channel"`
	Standard  string `json:"standard"`
	Reference string `json:"control_reference"`
	Verdict   string `json:"verdict"`
	Size      int64  `json:"size"`
}

// descriptions finds the one description in a folder that is wanted.
func descriptions(tb testing.TB, dir string, wanted func(description) bool) (found description) {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		tb.Fatal(err)
	}
	n := 0
	for _, name := range names {
		content, err := os.ReadFile(name)
		var d description
		if err == nil {
			err = json.Unmarshal(content, &d)
		}
		if err != nil {
			tb.Fatal(err)
		}
		if wanted(d) {
			found, n = d, n+1
		}
	}
	if n != 1 {
		tb.Errorf("%d of %d descriptions are the one that is wanted", n, len(names))
	}
	return found
}

// H5-H7, T16: metadata is as hostile as it likes; the message is taken, answered, and taken once.
func TestHostileMetadata(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", func(a *partners.Agreement) { a.AS2.Require = partners.Require{} })
	box := newMailbox(t)
	agreeAsync(hub, "async", box.URL)
	plain := acme
	plain.SignKey, plain.EncryptFor = nil, nil
	t.Run("each", func(t *testing.T) {
		for name, fields := range map[string]map[string]string{
			"subject":      {"Subject": "Bestellung f\xfcr M\xfcnchen; DROP TABLE delivery"},
			"date":         {"Date": "mar., 08 d\xe9c. 2026"},
			"from":         {"From": "M\xfcller <x@y>"},
			"content type": {"Content-Type": "application/octet-stream; name=\"f\xfcr.edi\"; x=" + strings.Repeat("y", 3000)},
			"disposition":  {"Content-Disposition": "attachment; filename=\"..\\..\\f\xfcr.edi\""},
			"digest":       {"Disposition-Notification-Options": "signed-receipt-protocol=optional, pkcs7-signature; signed-receipt-micalg=optional, sha256withRSA\xfc"},
			"protocol":     {"Disposition-Notification-Options": "signed-receipt-protocol=optional, \xfc; signed-receipt-micalg=optional, sha-256"},
			"receipt to":   {"Disposition-Notification-To": "\xfc'; --"},
			"version":      {"AS2-Version": "1.9\xfc", "EDIINT-Features": "\xfc, unknown"},
			"user agent":   {"User-Agent": "\xff\xfe", "X-Forwarded-For": "\xff"},
			"message id":   {"Message-ID": "<'; DELETE FROM delivery; --\xfc%00/../@x>"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for i, p := range []as2client.Partner{acme, plain} {
					post := raw(as2test.Prepare(t, p, as2test.Invoice(fmt.Sprint(name, i), "1"), as2client.Options{}))
					for field, value := range fields {
						if field == "Content-Type" && p.SignKey != nil {
							continue
						}
						post = post.set(field, value)
					}
					first, again := exchange(t, hub, post.octets()), exchange(t, hub, post.octets())
					checkSigned(t, hub, first.answers(t, mdn.Processed, post.value("Message-ID")))
					if string(first.body) != string(again.body) {
						t.Errorf("the repeat was answered otherwise: %q", again.octets)
					}
				}
			})
		}
	})
	t.Run("forwarded", func(t *testing.T) {
		if got, want := len(hub.Forwarded("acme")), hub.Count(`SELECT count(DISTINCT control_reference) FROM dedup_key`); got != want {
			t.Errorf("%d forwarded of %d references", got, want)
		}
	})
}

// What the inner part says of itself has not even passed an HTTP parser, and goes on to consumers.
func TestHostilePartHeader(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	hook := newMailbox(t)
	acme := hub.Agree("acme", func(a *partners.Agreement) { a.Sink = hook.URL })
	cases := map[string]string{
		"LATIN1": "application/EDIFACT; name=\"f\xfcr.edi\"", "CONTROL": "application/EDIFACT; name=\"a\x01\x00b\"", "CR": "application/EDIFACT\rX: y",
		"FOLD": "application/EDIFACT;\r\n\tcharset=x", "LONG": "application/EDIFACT; x=" + strings.Repeat("\xfc", 3000), "NONE": "",
	}
	for name, contentType := range cases {
		m := sealed(t, acme, "<"+name+"@x>", []byte("Content-Type: "+contentType+"\r\n\r\n"+as2test.Invoice(name, "1")))
		exchange(t, hub, raw(m).octets()).taken(t, hub, m)
	}
	for _, l := range hook.wait(t, len(cases)) {
		if string(l.body) != as2test.Invoice(l.head.Get("ce-subject"), "1") {
			t.Errorf("%s: %q", l.head.Get("ce-subject"), l.body)
		}
	}
}

// F3: a partner's file name helps a person, and is no path.
func TestFileNamesAreNoPaths(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	cases := map[string]struct{ disposition, want string }{
		"UP":       {`attachment; filename="../../../tmp/x.edi"`, "x.edi"},
		"ABSOLUTE": {`attachment; filename=/etc/passwd`, "passwd"},
		"WINDOWS":  {`attachment; filename="..\..\boot.ini"`, ""},
		"DOTS":     {`attachment; filename=".."`, ""},
		"HIDDEN":   {`attachment; filename=".ssh"`, "ssh"},
		"CONTROL":  {"attachment; filename=\"a\x01b\x7f.edi\"", "ab.edi"},
		"SPACES":   {`attachment; filename=my order 1.edi`, "my order 1.edi"},
		"ENCODED":  {`attachment; filename*=UTF-8''%2e%2e%2fr%c3%b3.edi`, "ró.edi"},
		"WORDS":    {`attachment; filename="=?utf-8?q?..=2Fr=C3=B3?= =?utf-8?q?_2.edi?="`, "ró 2.edi"},
		"LONG":     {`attachment; filename="` + strings.Repeat("x", 2000) + `.edi"`, strings.Repeat("x", 255)},
	}
	for name, tt := range cases {
		part := "Content-Type: application/EDIFACT\r\nContent-Disposition: " + tt.disposition + "\r\n\r\n" + as2test.Invoice(name, "1")
		m := sealed(t, acme, "<"+name+"@x>", []byte(part))
		exchange(t, hub, raw(m).octets()).taken(t, hub, m)
	}
	if got := hub.Forwarded("acme"); len(got) != len(cases) {
		t.Fatalf("%d files in the sink's folder, want %d", len(got), len(cases))
	}
	for name, tt := range cases {
		d := descriptions(t, filepath.Join(hub.Inbox, "acme"), func(d description) bool { return d.Reference == name })
		if strings.ContainsAny(d.FileName, "/\\\x00") || (tt.want != "" && d.FileName != tt.want) {
			t.Errorf("%s: the file is called %q, want %q", name, d.FileName, tt.want)
		}
	}
	entries, err := os.ReadDir(hub.Inbox)
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the sink's folder stand %v, %v", entries, err)
	}
}
