package gateway

import "sync"

// places counts what is under way, in all (owner 0) and for each partner, so that nobody takes more than a share.
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
