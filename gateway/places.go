package gateway

import (
	"net"
	"sync"
)

// Owners of places beside the partners, whose ids begin at 1.
var (
	everybody = place{owner: 0}
	strangers = place{owner: -1} // all senders without an agreement
)

// forStrangers is the share of those without an agreement: their bodies are read for the sake of an answer, and however
// many come, or however slowly they send, partners must find a place.
func (l *Limits) forStrangers() int {
	if l.Concurrent == 0 {
		return 0
	}
	return max(1, l.Concurrent/4)
}

// place is what is counted: an owner's, or an owner's from one remote address.
type place struct {
	owner  int64
	remote string // "": from anywhere
}

// claimed is the place of a sender who is not known yet to be who it says. Whoever names a partner takes places only from
// those who name that partner from the same address, so that a stranger who sends slowly does not keep the partner out.
func claimed(owner int64, remoteAddress string) place {
	host, _, err := net.SplitHostPort(remoteAddress)
	if err != nil {
		host = remoteAddress
	}
	return place{owner, host}
}

// places counts what is under way, in all and for each owner, so that nobody takes more than a share.
type places struct {
	sync.Mutex
	taken map[place]int
}

func newPlaces() *places { return &places{taken: map[place]int{}} }

// take reports whether the owner may have one more place of limit; 0 is no limit. give must follow a true.
func (p *places) take(of place, limit int) bool {
	p.Lock()
	defer p.Unlock()
	if limit > 0 && p.taken[of] >= limit {
		return false
	}
	p.taken[of]++
	return true
}

func (p *places) give(of place) {
	p.Lock()
	defer p.Unlock()
	if p.taken[of]--; p.taken[of] == 0 {
		delete(p.taken, of)
	}
}
