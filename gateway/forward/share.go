package forward

import "sync"

// share bounds how many workers one partner's sink may hold, so that a slow one leaves room for the others.
type share struct {
	sync.Mutex
	limit int
	inUse map[int64]int
}

func newShare(limit int) *share { return &share{limit: limit, inUse: map[int64]int{}} }

// take reports whether the partner may have one more worker; if so, give must follow.
func (s *share) take(partner int64) bool {
	s.Lock()
	defer s.Unlock()
	if s.inUse[partner] >= s.limit {
		return false
	}
	s.inUse[partner]++
	return true
}

func (s *share) give(partner int64) {
	s.Lock()
	defer s.Unlock()
	if s.inUse[partner]--; s.inUse[partner] == 0 {
		delete(s.inUse, partner)
	}
}
