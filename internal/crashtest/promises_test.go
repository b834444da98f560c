//go:build failpoint

package crashtest_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"

	"firstcopy/internal/as2client"
)

// promise is an acknowledgement that a partner holds.
type promise struct {
	message      string   // Message-ID it is for
	receipt      string   // its own Message-ID; empty for one that is to come later
	octets       [32]byte // hash over header and body; zero for one that is to come later
	interchanges [][32]byte
}

// promises are all that partners hold, and what was wrong with them.
type promises struct {
	mu       sync.Mutex
	list     []promise
	receipts map[string][32]byte           // by the message's id
	late     map[string]as2client.Prepared // messages whose receipts come asynchronously
	found    []violation
}

// violation is a promise that was not kept.
type violation struct {
	check  string // which check found it
	detail string
}

func (v violation) String() string { return v.check + ": " + v.detail }

func newPromises() *promises {
	return &promises{receipts: map[string][32]byte{}, late: map[string]as2client.Prepared{}}
}

// keep notes what came as an acknowledgement of a message.
func (p *promises) keep(m *message, a as2client.Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := promise{message: m.MessageID, interchanges: m.interchanges}
	if a.Pending {
		p.late[m.MessageID] = m.Prepared
	} else {
		one.receipt, one.octets = a.ReceiptMessageID(), fingerprint(a.Header, a.Raw)
		if former, ok := p.receipts[m.MessageID]; ok && former != one.octets {
			p.violate("same Message-ID, same receipt", "%s was answered with %s, earlier with another receipt", m.MessageID, one.receipt)
		} else if ok {
			return // as it should be, and held already
		}
		p.receipts[m.MessageID] = one.octets
	}
	p.list = append(p.list, one)
}

// broken notes a violation that was seen in an answer.
func (p *promises) broken(check, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.violate(check, format, args...)
}

func (p *promises) violate(check, format string, args ...any) {
	p.found = append(p.found, violation{check, fmt.Sprintf(format, args...)})
}

// violations are those noted so far.
func (p *promises) violations() []violation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]violation(nil), p.found...)
}

// since are the promises made after the first n.
func (p *promises) since(n int) []promise {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]promise(nil), p.list[n:]...)
}

func (p *promises) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.list)
}

// fingerprint stands for the octets of a receipt: every field that the gateway sets, and the body.
func fingerprint(h http.Header, body []byte) [32]byte {
	sum := sha256.New()
	for _, name := range []string{"AS2-Version", "AS2-From", "AS2-To", "MIME-Version", "Message-ID", "Date", "Subject", "Content-Type"} {
		fmt.Fprintf(sum, "%s: %s\r\n", name, h.Get(name))
	}
	sum.Write(body)
	return [32]byte(sum.Sum(nil))
}
