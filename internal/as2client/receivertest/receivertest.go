// Package receivertest is an AS2 receiver for tests of senders (RFC 4130): it
// opens messages, answers with receipts, synchronous or not, repeats them octet
// for octet, and can be told to answer wrongly.
package receivertest

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"sync"
	"time"

	"firstcopy/as2"
	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

// NewKey makes an RSA key with a self-signed certificate for name. It panics
// if it cannot, so that keys can be made once for all tests.
func NewKey(name string) smime.Key {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		panic(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return smime.Key{Certificate: certificate, Private: private}
}

// Receiver is an http.Handler. Its fields are set before it is used.
type Receiver struct {
	Key     smime.Key           // opens messages and signs receipts
	Signers []*x509.Certificate // whose signatures it accepts

	// Alter, if set, changes what a receipt says.
	Alter func(*mdn.Report)
	// Tamper, if set, changes a receipt after it has been signed.
	Tamper func(stored []byte) []byte
	// Unsigned answers every request with an unsigned receipt.
	Unsigned bool
	// Answer, if set, answers in place of the receiver and returns true.
	Answer func(http.ResponseWriter, *http.Request) bool

	mu       sync.Mutex
	requests []http.Header
	payloads [][]byte
	receipts map[string][]byte // by Message-ID, as mdn.Receipt.Marshal writes them
	late     sync.WaitGroup
}

// Requests are the headers of all messages so far, names as Go spells them.
func (r *Receiver) Requests() []http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]http.Header(nil), r.requests...)
}

// Payloads are the payloads of all messages that could be opened, repeats too.
func (r *Receiver) Payloads() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([][]byte(nil), r.payloads...)
}

// Wait waits until asynchronous receipts are delivered or given up.
func (r *Receiver) Wait() { r.late.Wait() }

// ServeHTTP takes one message.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	r.requests = append(r.requests, request.Header.Clone())
	r.mu.Unlock()
	if r.Answer != nil && r.Answer(w, request) {
		return
	}
	h, err := as2.ParseHeader(request.Header)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	stored, err := r.receipt(h, request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	switch {
	case !h.Receipt.Wanted:
	case h.Receipt.AsyncURL != "":
		r.late.Go(func() { deliver(h.Receipt.AsyncURL, stored) })
	default:
		receipt, _ := mdn.UnmarshalReceipt(stored)
		for _, f := range receipt.Header {
			w.Header()[f.Name] = []string{f.Value}
		}
		_, _ = w.Write(receipt.Body)
	}
}

// receipt opens the message and returns its receipt, the stored one if the
// Message-ID has had one already.
func (r *Receiver) receipt(h as2.Header, request *http.Request) ([]byte, error) {
	var payload bytes.Buffer
	opened, openErr := as2.Open(h, request.Body, &payload, as2.Policy{Keys: []smime.Key{r.Key}, Signers: r.Signers})
	r.mu.Lock()
	defer r.mu.Unlock()
	if openErr == nil {
		r.payloads = append(r.payloads, payload.Bytes())
	}
	if stored := r.receipts[h.MessageID]; stored != nil {
		return stored, nil
	}
	report := mdn.Report{OriginalRecipient: h.To, FinalRecipient: h.To, OriginalMessageID: h.MessageID,
		Disposition: disposition(openErr), MIC: opened.MIC}
	if r.Alter != nil {
		r.Alter(&report)
	}
	var sign mdn.Sign
	if h.Receipt.Signed && !r.Unsigned {
		sign = func(content []byte, hash crypto.Hash) ([]byte, error) {
			return smime.Sign(bytes.NewReader(content), r.Key, hash)
		}
	}
	envelope := mdn.Envelope{From: h.To, To: h.From, Date: time.Now(), MessageID: fmt.Sprintf("<receipt-%d@receiver>", len(r.receipts)+1)}
	receipt, err := mdn.Compose(report, envelope, sign, crypto.SHA256)
	if err != nil {
		return nil, err
	}
	if r.receipts == nil {
		r.receipts = map[string][]byte{}
	}
	stored := receipt.Marshal()
	if r.Tamper != nil {
		stored = r.Tamper(stored)
	}
	r.receipts[h.MessageID] = stored
	return stored, nil
}

func disposition(err error) mdn.Disposition {
	if err == nil {
		return mdn.Processed
	}
	if refused, ok := errors.AsType[*as2.Error](err); ok {
		switch refused.Kind {
		case as2.KindDecryption:
			return mdn.DecryptionFailed
		case as2.KindAuthentication:
			return mdn.AuthenticationFailed
		case as2.KindIntegrity:
			return mdn.IntegrityCheckFailed
		}
	}
	return mdn.UnexpectedProcessingError
}

// attempts is how often a receipt is posted before it is given up.
const attempts = 5

// deliver posts a receipt, the same octets every time, until it is taken.
func deliver(url string, stored []byte) {
	receipt, err := mdn.UnmarshalReceipt(stored)
	if err != nil {
		return
	}
	for range attempts {
		request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(receipt.Body))
		if err != nil {
			return
		}
		for _, f := range receipt.Header {
			request.Header[f.Name] = []string{f.Value}
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return
		}
		response.Body.Close()
		if response.StatusCode < 300 {
			return
		}
	}
}
