package as2client_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"firstcopy/internal/as2client"
	"firstcopy/internal/as2client/receivertest"
	"firstcopy/mdn"
)

func listen(t *testing.T) *as2client.ReceiptListener {
	t.Helper()
	l, err := as2client.ListenReceipts("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestAsynchronousReceipt(t *testing.T) {
	t.Parallel()
	r := &receivertest.Receiver{}
	url, client := start(t, r)
	l := listen(t)
	l.FailFirst(2)
	p := partner(url)
	p.Receipt.AsyncURL = l.URL()
	prepared := prepare(t, p, invoice)
	if a := post(t, client, prepared); !a.Pending || a.Positive() || a.Err() != nil || a.HasReceipt {
		t.Fatalf("pending %v, problems %q", a.Pending, a.Problems)
	}
	a, err := l.Wait(t.Context(), prepared)
	if err != nil {
		t.Fatal(err)
	}
	if !a.Positive() || !a.MICOK || !a.SignatureOK || a.ReceiptMessageID() != "<receipt-1@receiver>" {
		t.Errorf("problems %q, MIC %v, signature %v, receipt %q", a.Problems, a.MICOK, a.SignatureOK, a.ReceiptMessageID())
	}
	all := l.All()
	if len(all) != 3 || all[0].Status != 500 || all[1].Status != 500 || all[2].Status != 200 {
		t.Fatalf("%d receipts came, not three, two of them refused", len(all))
	}
	if !bytes.Equal(all[0].Raw, all[2].Raw) || !bytes.Equal(all[1].Raw, all[2].Raw) {
		t.Error("the retries differ")
	}
}

func TestReceiptsFindTheirMessages(t *testing.T) {
	t.Parallel()
	r := &receivertest.Receiver{Alter: func(r *mdn.Report) {
		if strings.HasPrefix(r.OriginalMessageID, "<bad") {
			r.Disposition = mdn.IntegrityCheckFailed
		}
	}}
	url, client := start(t, r)
	l := listen(t)
	p := partner(url)
	p.Receipt.AsyncURL = l.URL()
	good := prepare(t, p, invoice)
	bad, err := as2client.Prepare(p, []byte(invoice), as2client.Options{MessageID: "<bad@x>"})
	if err != nil {
		t.Fatal(err)
	}
	post(t, client, good)
	post(t, client, bad)
	post(t, client, good)
	r.Wait()
	for _, want := range []struct {
		message  as2client.Prepared
		positive bool
	}{{bad, false}, {good, true}, {good, true}} {
		a, err := l.Wait(t.Context(), want.message)
		if err != nil || a.Positive() != want.positive || a.Receipt.OriginalMessageID != want.message.MessageID {
			t.Errorf("for %s: %v, positive %v", want.message.MessageID, err, a.Positive())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Wait(ctx, good); !errors.Is(err, as2client.ErrNoReceipt) {
		t.Errorf("two receipts were returned three times: %v", err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	l := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Wait(ctx, prepare(t, partner("http://127.0.0.1/"), invoice))
	if !errors.Is(err, as2client.ErrNoReceipt) || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestListenerRefuses(t *testing.T) {
	t.Parallel()
	l := listen(t)
	response, err := http.Get(l.URL())
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", response.StatusCode)
	}
	response, err = http.Post(l.URL(), "text/plain", strings.NewReader("no receipt"))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if all := l.All(); response.StatusCode != http.StatusBadRequest || len(all) != 1 || all[0].Status != http.StatusBadRequest {
		t.Errorf("no receipt: %d, %d kept", response.StatusCode, len(all))
	}
	if _, err := as2client.ListenReceipts(l.Addr().String()); err == nil {
		t.Error("the same address twice")
	}
}

func TestListenerOnAllInterfacesHasNoURL(t *testing.T) {
	t.Parallel()
	l, err := as2client.ListenReceipts(":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.URL() != "" {
		t.Errorf("URL %q", l.URL())
	}
}
