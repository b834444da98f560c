//go:build failpoint

package crashtest_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// finish lets a gateway without failpoints settle and forward everything, and examines all of it.
func (c *campaign) finish() []violation {
	c.tb.Helper()
	c.revive()
	c.progress()
	c.traffic.stop()
	found := c.takeOver()
	found = append(found, c.drained()...)
	found = append(found, c.lateReceipts()...)
	found = append(found, c.examine(c.traffic.promises.since(0))...)
	found = append(found, c.forwarded()...)
	found = append(found, c.acknowledged()...)
	if err := c.gateway.stop(); err != nil {
		found = append(found, violation{"orderly stop", err.Error()})
	}
	return found
}

// takeOver replaces the gateway once the jobs of the dead are old enough to be taken up again. A leader looks for them when
// it comes into office, and then not for half a minute.
func (c *campaign) takeOver() (found []violation) {
	c.tb.Helper()
	if err := c.gateway.stop(); err != nil {
		found = append(found, violation{"orderly stop", err.Error()})
	}
	const old = `interval '9 seconds'` // forward.timeout of the configuration, 5 s, and a little more
	for tick := time.NewTicker(200 * time.Millisecond); ; <-tick.C {
		if len(c.list("", `SELECT id::text FROM river_job WHERE state = 'running' AND attempted_at > now() - `+old)) == 0 {
			tick.Stop()
			break
		}
	}
	c.revive()
	return found
}

// unfinished are the outbox's jobs that have not come to their end; upkeep is not part of any promise.
const unfinished = `SELECT format('%s %s is %s', kind, args, state) FROM river_job WHERE kind <> 'upkeep' AND state <> 'completed'`

// drained waits for the outbox. Jobs of dead gateways are taken up after forward.timeout, a few seconds, and by a leader
// that comes into office when the dead one's term is over.
func (c *campaign) drained() []violation {
	c.tb.Helper()
	deadline := time.Now().Add(2 * patience)
	for tick := time.NewTicker(200 * time.Millisecond); ; <-tick.C {
		left := append(c.list("every job is done", unfinished),
			c.list("no document is left behind", `SELECT format('%s is %s: %s', document_id, state, last_error) FROM document WHERE state <> 'forwarded'`)...)
		left = append(left, c.list("no acknowledgement is left behind", `SELECT format('%s is %s: %s', transmission_id, state, last_error)
			FROM acknowledgement_transmission WHERE state <> 'sent'`)...)
		if len(left) == 0 || time.Now().After(deadline) {
			tick.Stop()
			return left
		}
	}
}

// lateReceipts wants a good receipt for every message that was to get one asynchronously, and the same one each time.
func (c *campaign) lateReceipts() []violation {
	const check = "asynchronous receipts arrive"
	var found []violation
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := c.traffic.promises
	p.mu.Lock()
	late := p.late
	p.mu.Unlock()
	for _, r := range c.receipts.All() {
		id := r.Receipt.OriginalMessageID
		m, known := late[id]
		if !known {
			continue // a sender gave it up unacknowledged when the traffic stopped
		}
		a, err := c.receipts.Wait(ctx, m)
		if err != nil || !a.Positive() {
			found = append(found, violation{check, fmt.Sprintf("%s: %v, %v", id, err, a.Problems)})
			continue
		}
		one := promise{message: id, receipt: a.ReceiptMessageID(), octets: fingerprint(a.Header, a.Raw)}
		p.mu.Lock()
		if former, ok := p.receipts[id]; ok && former != one.octets {
			p.violate("same Message-ID, same receipt", "%s got several, by asynchronous posts", id)
		}
		p.receipts[id] = one.octets
		p.list = append(p.list, one)
		p.mu.Unlock()
	}
	for id := range late {
		if _, ok := p.receipts[id]; !ok {
			found = append(found, violation{check, "none came for " + id})
		}
	}
	return found
}

// forwarded compares the folder of forwarded documents with what was sent: every acknowledged interchange, byte for byte,
// and no interchange under two names.
func (c *campaign) forwarded() []violation {
	c.tb.Helper()
	files, err := filepath.Glob(filepath.Join(c.inbox, "[^.]*"))
	if err != nil {
		c.tb.Fatal(err)
	}
	var found []violation
	names := map[[32]byte]string{}
	for _, file := range files {
		if strings.HasSuffix(file, ".json") {
			continue
		}
		octets, err := os.ReadFile(file)
		if err != nil {
			c.tb.Fatal(err)
		}
		sum := sha256.Sum256(octets)
		if _, known := c.traffic.name(sum); !known {
			found = append(found, violation{"forwarded byte for byte", file + " is nothing that was sent"})
		}
		if other, twice := names[sum]; twice {
			found = append(found, violation{"forwarded once", other + " and " + file})
		}
		names[sum] = file
	}
	for _, p := range c.traffic.promises.since(0) {
		for _, sum := range p.interchanges {
			if names[sum] == "" {
				name, _ := c.traffic.name(sum)
				found = append(found, violation{"everything acknowledged is forwarded", name + ", of " + p.message})
			}
		}
	}
	return found
}
