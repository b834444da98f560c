package as2client_test

import (
	"bytes"
	"crypto/x509"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"firstcopy/internal/as2client"
	"firstcopy/internal/as2client/receivertest"
	"firstcopy/mdn"
)

// A message that has been stored is posted to the octet, and its receipt judged
// as if it had not been.
func TestStoredMessage(t *testing.T) {
	t.Parallel()
	sender, receiver := receivertest.NewKey("sender"), receivertest.NewKey("receiver")
	station := &receivertest.Receiver{Key: receiver, Signers: []*x509.Certificate{sender.Certificate}}
	server := httptest.NewServer(station)
	defer server.Close()
	p, err := as2client.Prepare(as2client.Partner{URL: server.URL, From: "A", To: "B", SignKey: &sender,
		EncryptFor: []*x509.Certificate{receiver.Certificate}, ReceiptSigners: []*x509.Certificate{receiver.Certificate},
		Receipt: mdn.Request{Wanted: true, Signed: true, Protocol: "pkcs7-signature", MICAlgorithms: []string{"sha-256"}}},
		[]byte("UNB+UNOA:3+A+B+1:1+1'UNZ+0+1'"), as2client.Options{FileName: "ü.edi"})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := as2client.Unmarshal(stored, server.URL, []*x509.Certificate{receiver.Certificate})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Body, p.Body) || !reflect.DeepEqual(again.Header, p.Header) || again.MessageID != p.MessageID {
		t.Errorf("%+v became %+v", p, again)
	}
	a, err := as2client.Client{}.Post(t.Context(), again)
	if err != nil || !a.Positive() || !a.MICOK || !a.SignatureOK {
		t.Errorf("%v, %v", err, a.Problems)
	}
	stranger, err := as2client.Unmarshal(stored, server.URL, []*x509.Certificate{sender.Certificate})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := (as2client.Client{}).Post(t.Context(), stranger); err != nil || a.Positive() {
		t.Errorf("%v; a receipt of another signer counts", err)
	}
	for _, broken := range []string{"", "{", `{"mics": {"crc32": "AA=="}}`} {
		if _, err := as2client.Unmarshal([]byte(broken), server.URL, nil); err == nil || !strings.Contains(err.Error(), "stored message") {
			t.Errorf("%q: %v", broken, err)
		}
	}
	if _, err := as2client.Unmarshal(stored, "ftp://x/", nil); err == nil {
		t.Error("any address will do")
	}
}
