package as2client_test

import (
	"crypto"
	"crypto/x509"
	"net/http/httptest"
	"sync"
	"testing"

	"firstcopy/as2/smime"
	"firstcopy/internal/as2client"
	"firstcopy/internal/as2client/receivertest"
	"firstcopy/mdn"
)

type parties struct{ sender, receiver, stranger smime.Key }

// keys are made once; they are dear.
var keys = sync.OnceValue(func() parties {
	return parties{receivertest.NewKey("sender"), receivertest.NewKey("receiver"), receivertest.NewKey("stranger")}
})

const invoice = "UNB+UNOC:3+SENDER+HUB+250101:0900+REF0000001'UNZ+0+REF0000001'"

// partner is a receiver to whom everything is signed and encrypted.
func partner(url string) as2client.Partner {
	k := keys()
	return as2client.Partner{
		URL: url, From: "Sender One", To: "HUB", SignKey: &k.sender, Digest: crypto.SHA256,
		EncryptFor: []*x509.Certificate{k.receiver.Certificate}, ReceiptSigners: []*x509.Certificate{k.receiver.Certificate},
		Receipt: mdn.Request{Wanted: true, Signed: true, MICAlgorithms: []string{"sha-256"}},
	}
}

func prepare(t *testing.T, p as2client.Partner, payload string) as2client.Prepared {
	t.Helper()
	prepared, err := as2client.Prepare(p, []byte(payload), as2client.Options{Subject: "test", FileName: "invoice.edi"})
	if err != nil {
		t.Fatal(err)
	}
	return prepared
}

// start runs a receiver and returns its address and a client for it.
func start(t *testing.T, r *receivertest.Receiver) (string, as2client.Client) {
	t.Helper()
	if r.Key.Certificate == nil {
		r.Key = keys().receiver
	}
	r.Signers = []*x509.Certificate{keys().sender.Certificate}
	server := httptest.NewServer(r)
	t.Cleanup(func() { server.Close(); r.Wait() })
	return server.URL + "/as2", as2client.Client{HTTP: server.Client()}
}

func post(t *testing.T, c as2client.Client, p as2client.Prepared) as2client.Answer {
	t.Helper()
	a, err := c.Post(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
