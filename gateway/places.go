package gateway

import "sync"

// Owners of places beside the partners, whose ids begin at 1.
const (
	everybody int64 = 0
	strangers int64 = -1 // all senders without an agreement
)

// forStrangers is the share of those without an agreement: their bodies are read for the sake of an answer, and however
// many come, or however slowly they send, partners must find a place.
func (l *Limits) forStrangers() int {
	if l.Concurrent == 0 {
		return 0
	}
	return max(1, l.Concurrent/4)
}

// places counts what is under way, in all and for each owner, so that nobody takes more than a share.
type places struct {
	sync.Mutex
	taken map[int64]int
}

func newPlaces() *places { return &places{taken: map[int64]int{}} }

// take reports whether the owner may have one more place of limit; 0 is no limit. give must follow a true.
func (p *places) take(owner int64, limit int) bool {
	p.Lock()
	defer p.Unlock()
	if limit > 0 && p.taken[owner] >= limit {
		return false
	}
	p.taken[owner]++
	return true
}

func (p *places) give(owner int64) {
	p.Lock()
	defer p.Unlock()
	if p.taken[owner]--; p.taken[owner] == 0 {
		delete(p.taken, owner)
	}
}
