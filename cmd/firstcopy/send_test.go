package main

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"firstcopy/as2/smime"
	"firstcopy/internal/as2client/receivertest"
	"firstcopy/mdn"
)

const sendInvoice = "UNB+UNOC:3+SENDER+HUB+250101:0900+REF0000001'UNZ+0+REF0000001'"

// sendKeys are made once; they are dear.
var sendKeys = sync.OnceValue(func() (k struct{ sender, receiver, stranger smime.Key }) {
	k.sender, k.receiver, k.stranger = receivertest.NewKey("sender"), receivertest.NewKey("receiver"), receivertest.NewKey("stranger")
	return k
})

// sendStage is a receiver, and the files a sender to it needs.
type sendStage struct {
	receiver *receivertest.Receiver
	dir      string
	flags    []string // complete, but for the payload
}

func newSendStage(t *testing.T, r *receivertest.Receiver) sendStage {
	t.Helper()
	k := sendKeys()
	if r.Key.Certificate == nil {
		r.Key = k.receiver
	}
	r.Signers = []*x509.Certificate{k.sender.Certificate}
	server := httptest.NewServer(r)
	t.Cleanup(func() { server.Close(); r.Wait() })
	s := sendStage{receiver: r, dir: t.TempDir()}
	private, err := x509.MarshalPKCS8PrivateKey(k.sender.Private)
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "sender.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: k.sender.Certificate.Raw}))
	s.write(t, "sender.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	s.write(t, "receiver.crt", k.receiver.Certificate.Raw)
	s.write(t, "stranger.crt", k.stranger.Certificate.Raw)
	s.write(t, "invoice.edi", []byte(sendInvoice))
	s.flags = []string{"--url", server.URL, "--from", "ACME", "--to", "HUB", "--sign-cert", s.file("sender.crt"),
		"--sign-key", s.file("sender.key"), "--encrypt-cert", s.file("receiver.crt"), "--receipt-cert", s.file("receiver.crt")}
	return s
}

func (s sendStage) file(name string) string { return filepath.Join(s.dir, name) }

func (s sendStage) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(s.file(name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// send runs the command on the invoice; later flags win over the stage's.
func (s sendStage) send(t *testing.T, flags ...string) (code int, out, errs string) {
	t.Helper()
	return runSend(t, sendInvoice, append(append(append([]string{}, s.flags...), flags...), s.file("invoice.edi"))...)
}

// runSend runs firstcopy send by itself, so that these tests need no other command.
func runSend(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{}
	root := &cobra.Command{Use: "firstcopy", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().BoolVar(&a.json, "json", false, "")
	root.AddCommand(newSendCommand(a))
	root.SetArgs(append([]string{"send"}, args...))
	root.SetIn(strings.NewReader(in))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	if err := root.ExecuteContext(t.Context()); err != nil {
		report(&stderr, err)
		code = exitFailed
	}
	return code, stdout.String(), stderr.String()
}

func wantLines(t *testing.T, what, got string, want ...string) {
	t.Helper()
	for _, line := range want {
		if !strings.Contains(got, line) {
			t.Errorf("%s lacks %q:\n%s", what, line, got)
		}
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	s := newSendStage(t, &receivertest.Receiver{})
	code, out, errs := s.send(t, "--message-id", "<1@acme>", "--subject", "Invoice 1", "--save-receipt", s.file("receipt"))
	if code != exitOK || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	wantLines(t, "output", out, "200 OK", "<1@acme>", "automatic-action/MDN-sent-automatically; processed\n", "matches: ", ", sha-256\n",
		"valid, by CN=receiver\n", "<receipt-1@receiver>\n")
	request := s.receiver.Requests()[0]
	if request.Get("Subject") != "Invoice 1" || request.Get("AS2-From") != "ACME" {
		t.Errorf("header %v", request)
	}
	if got := s.receiver.Payloads(); len(got) != 1 || string(got[0]) != sendInvoice {
		t.Errorf("received %q", got)
	}
	entity, err := os.ReadFile(s.file("receipt"))
	if err != nil {
		t.Fatal(err)
	}
	header, body := smime.SplitHeader(entity)
	if parsed, err := mdn.Parse(header.Get("Content-Type"), body); err != nil || parsed.OriginalMessageID != "<1@acme>" || !parsed.Signed {
		t.Errorf("the receipt saved: %v\n%s", err, entity)
	}
}

// A large file's message is made on disk, in every packaging.
func TestSendLargeFile(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--compress", "before-sign", "--cipher", "aes-256-gcm"}, {"--compress", "after-sign"}} {
		s := newSendStage(t, &receivertest.Receiver{})
		large := []byte(strings.Replace(sendInvoice, "UNZ", strings.Repeat("FTX+AAI+++goods'\r\n", 1<<20), 1))
		s.write(t, "invoice.edi", large)
		code, out, errs := s.send(t, flags...)
		if code != exitOK || errs != "" {
			t.Fatalf("%v: exit code %d: %s", flags, code, errs)
		}
		wantLines(t, "output", out, "200 OK", "MDN-sent-automatically; processed\n", "matches: ", "valid, by CN=receiver\n")
		if got := s.receiver.Payloads(); len(got) != 1 || !bytes.Equal(got[0], large) {
			t.Errorf("%v: another payload was received", flags)
		}
		if h := s.receiver.Requests()[0]; h.Get("Transfer-Encoding") != "" || h.Get("Content-Length") == "" {
			t.Errorf("%v: header %v", flags, h)
		}
	}
}

func TestSendPlainFromStandardInput(t *testing.T) {
	t.Parallel()
	s := newSendStage(t, &receivertest.Receiver{})
	code, out, errs := runSend(t, "ISA*00", s.flags[0], s.flags[1], "--from", "ACME", "--to", "HUB", "--receipt", "none", "-")
	if code != exitOK || !strings.Contains(out, "200 OK") {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	request := s.receiver.Requests()[0]
	if request.Get("Content-Type") != "application/EDI-X12" || request.Get("Disposition-Notification-To") != "" || request.Get("Content-Disposition") != "" {
		t.Errorf("header %v", request)
	}
}

func TestSendJSON(t *testing.T) {
	t.Parallel()
	s := newSendStage(t, &receivertest.Receiver{})
	_, out, _ := s.send(t, "--json", "--message-id", "<1@acme>")
	var got sentOutput
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	r := got.Receipt
	if got.MessageID != "<1@acme>" || !got.Accepted || r == nil || !r.MICOK || !r.SignatureOK || r.MessageID != "<receipt-1@receiver>" {
		t.Errorf("output %s", out)
	}
}

func TestSendFaults(t *testing.T) {
	t.Parallel()
	alter := func(change func(*mdn.Report)) *receivertest.Receiver { return &receivertest.Receiver{Alter: change} }
	answer := func(status int) *receivertest.Receiver {
		return &receivertest.Receiver{Answer: func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(status); return true }}
	}
	for _, tc := range []struct {
		name     string
		receiver *receivertest.Receiver
		flags    []string
		says     []string
	}{
		{"negative", &receivertest.Receiver{Key: sendKeys().stranger}, []string{"--receipt-cert", ""},
			[]string{"error: the receipt is negative: processed/error: decryption-failed", "hint: is --encrypt-cert"}},
		{"wrong digest", alter(func(r *mdn.Report) { r.MIC.Digest[0]++ }), nil,
			[]string{"error: the receipt's content digest does not match: received ", "hint: the receiver holds other content"}},
		{"wrong signer", &receivertest.Receiver{}, []string{"--receipt-cert", "stranger.crt"},
			[]string{"error: the receipt's signature does not hold", "hint: is --receipt-cert"}},
		{"no receipt", answer(200), nil, []string{"error: no receipt came although one was asked for: the answer is empty", "hint: is --url"}},
		{"not found", answer(404), nil, []string{"error: the message was refused at HTTP level: 404 Not Found", "hint: is the path"}},
		{"unavailable", answer(503), nil, []string{"503 Service Unavailable", "same --message-id"}},
		{"no server", answer(200), []string{"--url", "http://127.0.0.1:1/"}, []string{"error: posting the message: ", "hint: is the receiver running"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newSendStage(t, tc.receiver)
			flags := s.pinned(tc.flags)
			code, out, errs := s.send(t, flags...)
			if code != exitFailed || strings.Contains(out, "firstcopy:") {
				t.Errorf("exit code %d, output %s", code, out)
			}
			wantLines(t, "standard error", errs, tc.says...)
		})
	}
}

// pinned replaces the stage's --receipt-cert by that in flags, or drops it for "".
func (s *sendStage) pinned(flags []string) []string {
	if len(flags) == 0 || flags[0] != "--receipt-cert" {
		return flags
	}
	s.flags = s.flags[:len(s.flags)-2]
	if flags[1] == "" {
		return flags[2:]
	}
	return append([]string{flags[0], s.file(flags[1])}, flags[2:]...)
}

func TestSendUsage(t *testing.T) {
	t.Parallel()
	s := newSendStage(t, &receivertest.Receiver{})
	for name, flags := range map[string][]string{
		"--url is missing":                 {"--url", ""},
		"--sign-cert and --sign-key":       {"--sign-key", ""},
		"not \"maybe\"":                    {"--receipt", "maybe"},
		"nothing to wait for":              {"--receipt", "none", "--async-listen", "127.0.0.1:0"},
		"needs --async-listen":             {"--save-receipt", "x", "--async-url", "http://127.0.0.1:1/"},
		"give --async-url":                 {"--async-listen", ":0"},
		"1 or more":                        {"--count", "0"},
		"each has its own":                 {"--count", "2", "--message-id", "<1@x>"},
		"for one message":                  {"--count", "2", "--save-receipt", "x"},
		"--timeout is more":                {"--timeout", "0s"},
		"not \"md5\"":                      {"--digest", "md5"},
		"\"REF9\" is not in the payload":   {"--vary", "REF9"},
		"too short for 11 messages":        {"--vary", "3", "--count", "11"},
		"which is missing":                 {"--vary-start", "3"},
		"is not the key of":                {"--sign-cert", s.file("stranger.crt")},
		"no PEM private key":               {"--sign-key", s.file("invoice.edi")},
		"not a readable certificate":       {"--encrypt-cert", s.file("invoice.edi")},
		"no certificate in it":             {"--receipt-cert", s.file("sender.key")},
		"not \"twice\"":                    {"--compress", "twice"},
		"rot13":                            {"--cipher", "rot13"},
		"the address to post to":           {"--url", "hub.example/as2"},
		"--sign-key: open":                 {"--sign-key", s.file("none.key")},
		"listening for receipts: listen t": {"--async-listen", "127.0.0.1:1000000"},
	} {
		code, out, errs := s.send(t, flags...)
		if code != exitFailed || out != "" || !strings.Contains(errs, name) {
			t.Errorf("%q: exit code %d, output %q, error %q, want one with %q", flags, code, out, errs, name)
		}
	}
	if n := len(s.receiver.Requests()); n != 0 {
		t.Errorf("%d messages were sent all the same", n)
	}
}

func TestSendAsynchronous(t *testing.T) {
	t.Parallel()
	s := newSendStage(t, &receivertest.Receiver{})
	code, out, errs := s.send(t, "--async-listen", "127.0.0.1:0")
	if code != exitOK {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	wantLines(t, "output", out, "200 OK", "processed\n", "matches: ", "valid, by CN=receiver", "<receipt-1@receiver>")

	code, out, _ = s.send(t, "--async-url", "http://127.0.0.1:1/receipts")
	if code != exitOK || !strings.Contains(out, "none yet; it was asked for at http://127.0.0.1:1/receipts") {
		t.Errorf("exit code %d, output %s", code, out)
	}
}

func TestSendGivesUpOnAsynchronousReceipt(t *testing.T) {
	t.Parallel()
	s := newSendStage(t, &receivertest.Receiver{Answer: func(http.ResponseWriter, *http.Request) bool { return true }})
	code, out, errs := s.send(t, "--async-listen", "127.0.0.1:0", "--timeout", "300ms")
	if code != exitFailed || !strings.Contains(out, "none yet") {
		t.Errorf("exit code %d, output %s", code, out)
	}
	wantLines(t, "standard error", errs, "error: no receipt came although one was asked for: waited for <", "hint: the receiver must be able to reach")
}
