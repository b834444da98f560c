package dedup

import (
	"hash/maphash"
	"sync/atomic"

	"firstcopy/dedup/interchange"
)

// Recent guesses whether this process has registered a reference lately. In a storm of retries that saves each of them an
// attempt to arm what is armed. A wrong guess costs a statement and nothing else, so a table of hashes that overwrite one
// another will do. It is safe for concurrent use.
type Recent struct {
	seed  maphash.Seed
	table [1 << 14]atomic.Uint64
}

// NewRecent makes an empty table.
func NewRecent() *Recent { return &Recent{seed: maphash.MakeSeed()} }

// Seen reports whether the partner's reference is in the table, and puts it there.
func (r *Recent) Seen(partner int64, ref *interchange.Reference) bool {
	var h maphash.Hash
	h.SetSeed(r.seed)
	maphash.WriteComparable(&h, partner)
	for _, field := range [...]string{ref.Control, ref.Sender, ref.Recipient, string(ref.Standard)} {
		h.WriteString(field)
		h.WriteByte(0)
	}
	sum := h.Sum64()
	return r.table[sum%uint64(len(r.table))].Swap(sum) == sum
}
