//go:build interop

package interop_test

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firstcopy/internal/as2client"
	"firstcopy/internal/interop"
	"firstcopy/internal/pgtest"
	"firstcopy/mdn"
)

var (
	record  = flag.Bool("record", false, "rewrite the vectors in as2/testdata/peers")
	measure = flag.Bool("measure", false, "measure the receivers instead, into docs/performance.md")
	only    = flag.String("peer", "", "run with this peer alone; docs/interop.md is left as it is")
)

const (
	vectors  = "../../as2/testdata/peers"
	document = "../../docs/interop.md"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestPeers is one test, and its peers run one after the other: two cores are
// shared by the hub, its database and the peer.
func TestPeers(t *testing.T) {
	if *measure {
		return
	}
	s := newStage(t)
	missing := map[string]error{}
	var rows []interop.Row
	for _, p := range interop.Peers {
		if *only != "" && *only != p.Name {
			continue
		}
		driver, err := p.Install(t.Context())
		if err != nil {
			t.Errorf("%v", err)
			missing[p.Name] = err
			continue
		}
		rows = append(rows, s.toHub(t, p, driver)...)
		rows = append(rows, s.toPeer(t, p, driver)...)
	}
	for _, r := range rows {
		if r.Verdict != interop.NotOffered {
			t.Logf("%-9s %-14s %-70s %-9s %s %s", r.Peer, r.Direction, r.Case.Packaging(), r.Case.Receipt, r.Verdict, r.Note)
		}
	}
	if *only == "" {
		former, err := os.ReadFile(document)
		if err != nil {
			t.Error(err)
		}
		// TestReaders brings the section about acknowledgements up to date.
		content := interop.Markdown(rows, missing) + interop.Acknowledgements(string(former))
		if err := os.WriteFile(document, []byte(content), 0o644); err != nil {
			t.Error(err)
		}
	}
	for _, v := range interop.Violations(rows) {
		if *only == "" || strings.HasPrefix(v, *only+" ") {
			t.Errorf("required: %s", v)
		}
	}
}

// toHub has the peer send everything it can.
func (s *stage) toHub(t *testing.T, p interop.Peer, d interop.Driver) []interop.Row {
	plan := newPlan(t, p, "send", s.keyFolder)
	s.agree(t, p, fmt.Sprintf("http://127.0.0.1:%d/", plan.ReceiptPort))
	address, err := url.Parse(s.hub.URL)
	if err != nil {
		t.Fatal(err)
	}
	recorder, err := interop.Record(address.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer recorder.Close()
	plan.HubURL = "http://" + recorder.Addr() + address.Path
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	outcomes, err := d.Send(ctx, plan)
	if err != nil {
		t.Errorf("%v", err)
		showLog(t, plan, "send")
	}
	exchanges := byCase(t, recorder)
	forwarded := s.hub.Forwarded(p.Name)
	var rows []interop.Row
	for _, c := range plan.Cases {
		row := interop.Row{Peer: p.Name, Version: d.Version, Direction: interop.ToHub, Case: c, Verdict: interop.Failed, Note: "the driver said nothing"}
		if o, ok := outcomes[c.ID]; ok {
			row.Verdict, row.Note = o.Verdict, o.Detail
		}
		s.check(t, &row, exchanges[c.ID], count(forwarded, c.Payload))
		rows = append(rows, row)
	}
	return rows
}

// check holds the peer's verdict against what the hub did, and keeps the
// message: as a vector if it was accepted, else for whoever looks for the cause.
func (s *stage) check(t *testing.T, row *interop.Row, x *interop.Exchange, forwarded int) {
	t.Helper()
	if row.Verdict == interop.NotOffered {
		return
	}
	if row.Verdict == interop.Negative {
		reason := strings.TrimPrefix(strings.ToLower(row.Note), "processed/error: ")
		row.Verdict, row.Note = interop.Negative+": "+strings.TrimRight(reason, ": "), ""
	}
	if row.Accepted() && forwarded != 1 {
		row.Verdict, row.Note = interop.Failed, fmt.Sprintf("the receipt is right, but the payload was forwarded %d times", forwarded)
	}
	switch {
	case x == nil:
		return
	case !row.Accepted():
		name := filepath.Join(s.failures, row.Peer+"."+row.Case.ID)
		write(t, name+".request", x.RequestRaw)
		write(t, name+".reply", append([]byte("Content-Type: "+x.ReplyType+"\r\n\r\n"), x.ReplyBody...))
	case *record && row.Case.Golden:
		vector, err := interop.Vector(*row, *x)
		if err != nil {
			t.Error(err)
			return
		}
		write(t, filepath.Join(vectors, row.Peer+"."+strings.TrimSuffix(row.Case.ID, ".sync")+".as2"), vector)
	}
}

// toPeer sends to the peer's receiver.
func (s *stage) toPeer(t *testing.T, p interop.Peer, d interop.Driver) []interop.Row {
	receipts, err := as2client.ListenReceipts("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer receipts.Close()
	plan := newPlan(t, p, "receive", s.keyFolder)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	receiver, err := d.Receive(ctx, plan)
	if err != nil {
		t.Errorf("%v", err)
		showLog(t, plan, "receive")
		return nil
	}
	var rows []interop.Row
	for _, c := range outbound(p) {
		row := interop.Row{Peer: p.Name, Version: d.Version, Direction: interop.ToPeer, Case: c}
		row.Verdict, row.Note = s.send(ctx, p, c, receiver, receipts)
		rows = append(rows, row)
	}
	if err := receiver.Stop(); err != nil {
		t.Logf("stopping %s: %v", p.Name, err)
	}
	if t.Failed() {
		showLog(t, plan, "receive")
	}
	return rows
}

// send sends one message and judges what comes back.
func (s *stage) send(ctx context.Context, p interop.Peer, c interop.Case, r *interop.Receiver, receipts *as2client.ReceiptListener) (verdict, note string) {
	partner := as2client.Partner{URL: r.URL, From: interop.HubName, To: p.AS2Name, ReceiptSigners: []*x509.Certificate{s.peerKey.Certificate},
		Receipt: mdn.Request{Wanted: true, Signed: c.Receipt != "unsigned", Protocol: "pkcs7-signature", MICAlgorithms: []string{"sha-256"}}}
	if p.Name == "openssl" {
		partner.Receipt = mdn.Request{}
	}
	if c.Sign != "" {
		partner.SignKey = &s.hubKey
		partner.Digest, _ = mdn.HashByName(c.Sign)
		partner.Receipt.MICAlgorithms = []string{mdn.NameOf(partner.Digest)}
	}
	if c.Encrypt != "" {
		partner.EncryptFor = []*x509.Certificate{s.peerKey.Certificate}
		partner.Cipher = strings.Replace(c.Encrypt, "aes", "aes-", 1)
	}
	if c.Receipt == "async" {
		partner.Receipt.AsyncURL = receipts.URL()
	}
	prepared, err := as2client.Prepare(partner, []byte(c.Payload), as2client.Options{FileName: "invoice.edi"})
	if err != nil {
		return interop.NotOffered, err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	answer, err := as2client.Client{}.Post(ctx, prepared)
	if err == nil && answer.Pending {
		answer, err = receipts.Wait(ctx, prepared)
	}
	switch {
	case err != nil:
		return interop.Failed, err.Error()
	case answer.HasReceipt && !answer.Receipt.Disposition.Positive():
		return interop.Negative + ": " + strings.TrimPrefix(as2client.Outcome(answer.Receipt.Disposition), "processed/error: "), ""
	case !answer.Positive() && answer.HasReceipt:
		if err := os.WriteFile(filepath.Join(s.failures, p.Name+"."+c.ID+".receipt"), answer.Entity(), 0o644); err != nil {
			return interop.Failed, err.Error()
		}
		return interop.Rejected, fault(answer)
	case !answer.Positive():
		return interop.Failed, answer.Err().Error()
	}
	return s.arrived(prepared.MessageID, c, r)
}

// fault says what is wrong with a receipt in words that do not change from run
// to run.
func fault(a as2client.Answer) string {
	var words []string
	for _, f := range []struct {
		is    error
		words string
	}{
		{as2client.ErrOtherMessage, "it is for another message"},
		{as2client.ErrMIC, "the content digest is of other octets"},
		{as2client.ErrSignature, "the signature does not hold"},
	} {
		if errors.Is(a.Err(), f.is) {
			if f.is == as2client.ErrMIC && a.Receipt.MIC.IsZero() {
				f.words = "it has no content digest"
			}
			words = append(words, f.words)
		}
	}
	return strings.Join(words, "; ")
}

func (s *stage) arrived(messageID string, c interop.Case, r *interop.Receiver) (verdict, note string) {
	got, given, look := r.Arrived(messageID), time.After(5*time.Second), time.NewTicker(10*time.Millisecond)
	defer look.Stop()
	for waiting := true; waiting && len(got) == 0; {
		select {
		case <-look.C:
			got = r.Arrived(messageID)
		case <-given:
			waiting = false
		}
	}
	sum := sha256.Sum256([]byte(c.Payload))
	switch {
	case len(got) == 0:
		return interop.Failed, "the receipt is right, but the peer reports no payload"
	case got[0].SHA256 != hex.EncodeToString(sum[:]):
		return interop.Accepted, "the peer's receiver altered the payload: " + got[0].Detail
	}
	return interop.Accepted, ""
}

// outbound are the messages that firstcopy can send.
func outbound(p interop.Peer) []interop.Case {
	var cases []interop.Case
	for _, sign := range []string{"", "sha1", "sha256", "sha384", "sha512"} {
		for _, cipher := range []string{"", "aes128-cbc", "aes256-cbc", "aes128-gcm", "aes256-gcm"} {
			cases = append(cases, interop.Case{Sign: sign, Encrypt: cipher, Receipt: "sync"})
		}
	}
	for _, c := range []interop.Case{{}, {Sign: "sha256"}, {Encrypt: "aes256-cbc"}, {Sign: "sha256", Encrypt: "aes256-cbc"}} {
		c.Receipt = "async"
		cases = append(cases, c)
	}
	cases = append(cases, interop.Case{Sign: "sha256", Encrypt: "aes256-cbc", Receipt: "unsigned"})
	if p.Name == "openssl" { // makes no receipts
		cases = cases[:25]
	}
	for i := range cases {
		cases[i] = cases[i].Named(fmt.Sprintf("%sX%04d", p.Prefix, i))
	}
	return cases
}

// byCase sorts the recorded exchanges; the first one of a case counts.
func byCase(t *testing.T, r *interop.Recorder) map[string]*interop.Exchange {
	t.Helper()
	exchanges, err := r.Exchanges()
	if err != nil {
		t.Errorf("%v", err)
	}
	found := map[string]*interop.Exchange{}
	for _, x := range exchanges {
		query, err := url.ParseQuery(x.Query)
		if err != nil {
			t.Errorf("query %q: %v", x.Query, err)
		}
		if id := query.Get("case"); found[id] == nil {
			found[id] = &x
		}
	}
	return found
}

func count(forwarded []string, payload string) int {
	n := 0
	for _, f := range forwarded {
		if f == payload {
			n++
		}
	}
	return n
}
