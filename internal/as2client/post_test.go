package as2client_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"firstcopy/as2/smime"
	"firstcopy/internal/as2client"
	"firstcopy/internal/as2client/receivertest"
	"firstcopy/mdn"
)

func TestPostPositive(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		change    func(*as2client.Partner)
		signature bool
	}{
		{"signed and encrypted", func(*as2client.Partner) {}, true},
		{"signed", func(p *as2client.Partner) { p.EncryptFor = nil }, true},
		{"encrypted", func(p *as2client.Partner) { p.SignKey = nil }, true},
		{"plain", func(p *as2client.Partner) { p.SignKey, p.EncryptFor = nil, nil }, true},
		{"GCM, SHA-512", func(p *as2client.Partner) {
			p.Cipher, p.Digest, p.Receipt.MICAlgorithms = "aes-128-gcm", crypto.SHA512, []string{"sha512"}
		}, true},
		{"unsigned receipt", func(p *as2client.Partner) { p.Receipt.Signed = false }, false},
		{"the signature's digest", func(p *as2client.Partner) { p.Digest, p.Receipt = crypto.SHA384, mdn.Request{Wanted: true} }, false},
		{"the receiver's digest", func(p *as2client.Partner) { p.SignKey, p.Receipt = nil, mdn.Request{Wanted: true} }, false},
		{"no certificate to verify with", func(p *as2client.Partner) { p.ReceiptSigners = nil }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := &receivertest.Receiver{}
			url, client := start(t, r)
			p := partner(url)
			tc.change(&p)
			a := post(t, client, prepare(t, p, invoice))
			if !a.Positive() || a.Err() != nil || !a.MICOK || !a.HasReceipt || a.Pending {
				t.Fatalf("not positive: %q, MIC %v, receipt %v", a.Problems, a.MICOK, a.HasReceipt)
			}
			if a.SignatureOK != tc.signature || (a.Signer != nil) != tc.signature {
				t.Errorf("signature verified: %v, want %v", a.SignatureOK, tc.signature)
			}
			if a.Status != http.StatusOK || a.ReceiptMessageID() != "<receipt-1@receiver>" || a.Duration <= 0 {
				t.Errorf("status %d, receipt %q, duration %v", a.Status, a.ReceiptMessageID(), a.Duration)
			}
			if got := r.Payloads(); len(got) != 1 || string(got[0]) != invoice {
				t.Errorf("received %q", got)
			}
		})
	}
}

func TestPostFaults(t *testing.T) {
	t.Parallel()
	words := func(status int, text string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
			return true
		}
	}
	alter := func(change func(*mdn.Report)) *receivertest.Receiver { return &receivertest.Receiver{Alter: change} }
	for _, tc := range []struct {
		name     string
		receiver *receivertest.Receiver
		fault    error
		says     string
	}{
		{"negative", alter(func(r *mdn.Report) { r.Disposition, r.MIC = mdn.DecryptionFailed, mdn.MIC{} }),
			as2client.ErrNegative, "processed/error: decryption-failed"},
		{"unsigned negative", &receivertest.Receiver{Unsigned: true, Alter: func(r *mdn.Report) { r.Disposition = mdn.UnknownTradingRelationship }},
			as2client.ErrNegative, "unknown-trading-relationship"},
		{"other content", alter(func(r *mdn.Report) { r.MIC.Digest = slices.Repeat([]byte{1}, 32) }), as2client.ErrMIC, "expected "},
		{"digest of another algorithm", alter(func(r *mdn.Report) { r.MIC.Algorithm = "sha-384" }), as2client.ErrMIC, `"sha-384", which was not asked for`},
		{"no digest", alter(func(r *mdn.Report) { r.MIC = mdn.MIC{} }), as2client.ErrMIC, "has none"},
		{"wrong signer", &receivertest.Receiver{Key: keys().stranger}, as2client.ErrSignature, "none of the receipt certificates"},
		{"unsigned", &receivertest.Receiver{Unsigned: true}, as2client.ErrSignature, "unsigned"},
		{"another message", alter(func(r *mdn.Report) { r.OriginalMessageID = "<other@x>" }), as2client.ErrOtherMessage, `"<other@x>"`},
		{"brackets lost", alter(func(r *mdn.Report) { r.OriginalMessageID = strings.Trim(r.OriginalMessageID, "<>") }), as2client.ErrOtherMessage, ""},
		{"empty answer", &receivertest.Receiver{Answer: words(200, "")}, as2client.ErrNoReceipt, "empty"},
		{"words for a receipt", &receivertest.Receiver{Answer: words(200, "It\r\nworks!\x1b")}, as2client.ErrNoReceipt, "It works!?"},
		{"unavailable", &receivertest.Receiver{Answer: words(503, "Try later.")}, as2client.ErrStatus, "503 Service Unavailable: Try later."},
		{"redirect", &receivertest.Receiver{Answer: redirect}, as2client.ErrStatus, `to "/elsewhere", not followed`},
		{"altered on the way", forged(), as2client.ErrSignature, "altered after it had been signed"},
		{"unreadable receipt", &receivertest.Receiver{Answer: halfReceipt}, as2client.ErrUnreadable, "disposition"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			url, client := start(t, tc.receiver)
			p := partner(url)
			if tc.receiver.Key.Certificate.Equal(keys().stranger.Certificate) {
				p.EncryptFor = nil
			}
			a := post(t, client, prepare(t, p, invoice))
			if a.Positive() {
				t.Fatal("positive")
			}
			if err := a.Err(); !errors.Is(err, tc.fault) || len(a.Problems) != 1 || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("problems %q, want one: %v: %s", a.Problems, tc.fault, tc.says)
			}
		})
	}
}

func redirect(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path == "/elsewhere" {
		return false
	}
	http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	return true
}

// forged is negative when signed and positive when it arrives.
func forged() *receivertest.Receiver {
	return &receivertest.Receiver{
		Alter: func(r *mdn.Report) { r.Disposition = mdn.IntegrityCheckFailed },
		Tamper: func(stored []byte) []byte {
			return bytes.Replace(stored, []byte("processed/error: integrity-check-failed"), []byte("processed"), -1)
		},
	}
}

func halfReceipt(w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("Content-Type", "message/disposition-notification")
	_, _ = w.Write([]byte("Original-Message-ID: <1@x>\r\n\r\n"))
	return true
}

// Where no receipt is asked for, a 2xx is all there is to have.
func TestPostWithoutReceipt(t *testing.T) {
	t.Parallel()
	url, client := start(t, &receivertest.Receiver{})
	p := partner(url)
	p.Receipt = mdn.Request{}
	if a := post(t, client, prepare(t, p, invoice)); !a.Positive() || a.HasReceipt {
		t.Errorf("problems %q, receipt %v", a.Problems, a.HasReceipt)
	}
}

func TestPostAgainShowsTheSameReceipt(t *testing.T) {
	t.Parallel()
	url, client := start(t, &receivertest.Receiver{})
	p := prepare(t, partner(url), invoice)
	first, second := post(t, client, p), post(t, client, p)
	if !second.Positive() || !bytes.Equal(first.Raw, second.Raw) || !bytes.Equal(first.Entity(), second.Entity()) {
		t.Error("the repeat got another receipt")
	}
	fresh := post(t, client, prepare(t, partner(url), invoice))
	if !fresh.Positive() || bytes.Equal(first.Raw, fresh.Raw) {
		t.Error("a new message got the old receipt")
	}
}

func TestEntityStandsAlone(t *testing.T) {
	t.Parallel()
	url, client := start(t, &receivertest.Receiver{})
	p := prepare(t, partner(url), invoice)
	a := post(t, client, p)
	header, body := smime.SplitHeader(a.Entity())
	parsed, err := mdn.Parse(header.Get("Content-Type"), body)
	if err != nil || parsed.OriginalMessageID != p.MessageID || !bytes.Equal(body, a.Raw) {
		t.Errorf("reading the entity: %v, for %q", err, parsed.OriginalMessageID)
	}
	if !bytes.Contains(a.Entity(), []byte("\r\nAS2-From: HUB\r\nAS2-To: \"Sender One\"\r\n")) {
		t.Errorf("names are missing or misspelled:\n%s", a.Entity())
	}
}

// Old receivers compare header names by their letters and read no chunks.
func TestPostOnTheWire(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	wire := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var head strings.Builder
		in := bufio.NewReader(conn)
		request, err := http.ReadRequest(bufio.NewReader(io.TeeReader(in, &head)))
		if err == nil {
			_, _ = io.Copy(io.Discard, request.Body)
		}
		fmt.Fprint(conn, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
		wire <- head.String()
	}()
	p := partner("http://" + listener.Addr().String() + "/as2?x=y")
	p.Receipt.AsyncURL = "http://127.0.0.1:1/"
	prepared := prepare(t, p, invoice)
	a := post(t, as2client.Client{}, prepared)
	if !a.Pending || a.Positive() || a.Err() != nil {
		t.Errorf("pending %v, positive %v, problems %q", a.Pending, a.Positive(), a.Problems)
	}
	got := <-wire
	for _, want := range []string{
		"POST /as2?x=y HTTP/1.1\r\n", "\r\nAS2-Version: ", "\r\nAS2-From: \"Sender One\"\r\n", "\r\nAS2-To: HUB\r\n",
		"\r\nMessage-ID: " + prepared.MessageID + "\r\n", "\r\nMIME-Version: 1.0\r\n", "\r\nDisposition-Notification-To: Sender One\r\n",
		"\r\nReceipt-Delivery-Option: http://127.0.0.1:1/\r\n", fmt.Sprintf("\r\nContent-Length: %d\r\n", len(prepared.Body)),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %q in:\n%s", want, got)
		}
	}
	for _, bad := range []string{"Transfer-Encoding: chunked", "Accept-Encoding"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q in:\n%s", bad, got)
		}
	}
}

func TestPostWithoutAnswer(t *testing.T) {
	t.Parallel()
	r := &receivertest.Receiver{Answer: func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }}
	url, client := start(t, r)
	if a, err := client.Post(t.Context(), prepare(t, partner(url), invoice)); err == nil || a.Positive() && a.Status != 0 {
		t.Errorf("error %v, answer %+v", err, a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Post(ctx, prepare(t, partner(url), invoice)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
