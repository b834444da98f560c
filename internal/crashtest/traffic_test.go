//go:build failpoint

package crashtest_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
)

// traffic is what the partner's side does: several senders post messages and repeat each until it is acknowledged,
// whatever happens to the gateway. They remember what they were promised.
type traffic struct {
	tb       testing.TB
	sender   as2client.Partner
	receipts string // where asynchronous receipts go
	client   as2client.Client
	url      atomic.Pointer[string] // of the gateway; nil while there is none
	stopping chan struct{}
	wait     sync.WaitGroup
	promises *promises

	settled atomic.Int64 // messages acknowledged
	unknown atomic.Int64 // posts without a receipt: refused, broken off, not answered

	mu      sync.Mutex
	next    int                 // number of the last reference
	orders  []string            // references of orders, the latest ones
	recent  []*message          // for repeats and copies
	content map[[32]byte]string // every interchange ever sent: hash of its octets, and reference
}

// message is one AS2 message, to be posted as often as it takes.
type message struct {
	as2client.Prepared
	references   []string // of orders; empty for an invoice
	payload      string
	interchanges [][32]byte // hashes of their octets
}

const (
	senders = 4
	recall  = 24 // how many messages, and references, are kept for repeats
)

func startTraffic(w *world, seed uint64) *traffic {
	t := &traffic{tb: w.tb, sender: w.sender, receipts: w.receipts.URL(), client: as2client.Client{HTTP: as2client.NewHTTP(senders)},
		stopping: make(chan struct{}), promises: newPromises(), content: map[[32]byte]string{}}
	for i := range senders {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		t.wait.Go(func() { t.send(random) })
	}
	w.tb.Cleanup(func() {
		t.url.Store(nil)
		t.stop()
	})
	return t
}

// stop has every sender settle what it is about, then end. Without a gateway, they give up.
func (t *traffic) stop() {
	select {
	case <-t.stopping:
	default:
		close(t.stopping)
	}
	t.wait.Wait()
	t.client.HTTP.CloseIdleConnections()
}

// send settles one message after another. What did not go smoothly is often sent once more under a new Message-ID, as by a
// system, or a person, that had given it up.
func (t *traffic) send(random *rand.Rand) {
	var again *message
	for !t.pause(time.Duration(random.IntN(15)) * time.Millisecond) {
		if again == nil {
			again = t.choose(random)
		}
		m, smooth := again, true
		for !t.settle(m) {
			smooth = false
			if t.pause(20*time.Millisecond) && t.url.Load() == nil {
				return
			}
		}
		t.settled.Add(1)
		if again = nil; !smooth && random.IntN(2) == 0 {
			again = t.renewed(m, random)
		}
	}
}

// pause waits, and reports whether the end has come.
func (t *traffic) pause(d time.Duration) bool {
	select {
	case <-t.stopping:
		return true
	case <-time.After(d):
		return false
	}
}

// settle posts the message once and reports whether it is acknowledged.
func (t *traffic) settle(m *message) bool {
	url := t.url.Load()
	if url == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience/2)
	defer cancel()
	prepared := m.Prepared
	prepared.URL = *url
	answer, err := t.client.Post(ctx, prepared)
	switch {
	case err != nil || answer.Status == http.StatusServiceUnavailable && !answer.HasReceipt:
		t.unknown.Add(1)
		return false
	case answer.Pending || answer.Positive():
		t.promises.keep(m, answer)
		return true
	}
	// Nothing else may be said to a good message: no negative receipt because of what is our own trouble.
	t.promises.broken("negative answer", "HTTP %d to %s: %v", answer.Status, m.MessageID, answer.Problems)
	return false
}

// choose makes a new message, or takes up an old one again.
func (t *traffic) choose(random *rand.Rand) *message {
	switch n := random.IntN(100); {
	case n < 30:
		return t.prepare(t.sender, as2test.Invoice(t.reference("I"), "100.00"), nil)
	case n < 45:
		return t.batch(t.someOrders(random), random)
	case n < 55:
		late := t.sender
		late.Receipt.AsyncURL = t.receipts
		return t.prepare(late, as2test.Invoice(t.reference("I"), "100.00"), nil)
	case n < 57:
		return t.prepare(t.sender, large(t.reference("L")), nil)
	case n < 75: // the same message
		if m := t.old(random); m != nil {
			return m
		}
	case n < 82: // one that asks for a CONTRL
		return t.prepare(t.sender, asking(t.reference(asks)), nil)
	default: // the same content under a new Message-ID
		if m := t.old(random); m != nil {
			return t.renewed(m, random)
		}
	}
	return t.prepare(t.sender, as2test.Invoice(t.reference("I"), "100.00"), nil)
}

// asks marks the references of interchanges that ask for a CONTRL (0031).
const asks = "C"

func asking(reference string) string {
	return strings.Replace(as2test.Invoice(reference, "100.00"), "++INVOIC'", "++INVOIC++1'", 1)
}

// renewed has the same interchanges, in whatever order, under a new Message-ID.
func (t *traffic) renewed(m *message, random *rand.Rand) *message {
	if len(m.references) > 0 {
		return t.batch(m.references, random)
	}
	return t.prepare(t.sender, m.payload, nil)
}

// reference is a new one.
func (t *traffic) reference(kind string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	return fmt.Sprintf("%s%08d", kind, t.next)
}

// someOrders is a mixture of new references and known ones.
func (t *traffic) someOrders(random *rand.Rand) []string {
	some := map[string]bool{}
	for range 2 + random.IntN(4) {
		t.mu.Lock()
		known := len(t.orders)
		t.mu.Unlock()
		if known > 0 && random.IntN(3) == 0 {
			t.mu.Lock()
			some[t.orders[random.IntN(len(t.orders))]] = true
			t.mu.Unlock()
			continue
		}
		r := t.reference("O")
		some[r] = true
		t.mu.Lock()
		t.orders = latest(append(t.orders, r))
		t.mu.Unlock()
	}
	var list []string
	for r := range some {
		list = append(list, r)
	}
	return list
}

// batch is a payload of several interchanges, in any order.
func (t *traffic) batch(references []string, random *rand.Rand) *message {
	shuffled := append([]string{}, references...)
	random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	return t.prepare(t.sender, as2test.Orders(shuffled...), shuffled)
}

// large is an invoice that has to be staged before its transaction.
func large(reference string) string {
	text := strings.Repeat("FTX+AAI+++nobody will ever read these words'\r\n", 28_000)
	return strings.Replace(as2test.Invoice(reference, "100.00"), "LIN+1", text+"LIN+1", 1)
}

func (t *traffic) prepare(sender as2client.Partner, payload string, references []string) *message {
	m := &message{references: references, payload: payload}
	prepared, err := as2client.Prepare(sender, []byte(payload), as2client.Options{})
	if err != nil {
		panic(err) // goroutines of senders cannot fail the test, and this is not under test
	}
	m.Prepared = prepared
	names := references
	if references == nil {
		m.interchanges, names = [][32]byte{sha256.Sum256([]byte(payload))}, []string{payload[strings.Index(payload, "UNB"):][:66]}
	}
	for _, r := range references {
		m.interchanges = append(m.interchanges, sha256.Sum256([]byte(as2test.Orders(r))))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, sum := range m.interchanges {
		t.content[sum] = names[i]
	}
	t.recent = latest(append(t.recent, m))
	return m
}

// old is a message of late, acknowledged or still under way.
func (t *traffic) old(random *rand.Rand) *message {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.recent) == 0 {
		return nil
	}
	return t.recent[random.IntN(len(t.recent))]
}

func latest[T any](list []T) []T {
	return list[max(0, len(list)-recall):]
}

// name tells an interchange by the hash of its octets.
func (t *traffic) name(sum [32]byte) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name, ok := t.content[sum]
	return name, ok
}
