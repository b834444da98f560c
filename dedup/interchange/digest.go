package interchange

import (
	"crypto/sha256"
	"hash"
)

const (
	blockSize   = 64 << 10
	spareBlocks = 2
)

// A digest computes SHA-256 sums of consecutive stretches of a stream. Whole
// blocks can be handed to a goroutine, which is started by the first one, so
// that scanning and both digests of a large interchange share the processors,
// while small ones never pay for a goroutine.
type digest struct {
	hash hash.Hash
	// work carries blocks to the goroutine and free brings their buffers back.
	// When all spare buffers are in free, the goroutine does not touch hash.
	work chan handed
	free chan []byte
	away bool // blocks may be on their way
}

type handed struct{ octets, buffer []byte }

// hand adds octets, which lie in buffer, and takes the buffer in exchange for
// another one of blockSize.
func (d *digest) hand(octets, buffer []byte) []byte {
	if d.work == nil {
		d.start()
	}
	d.work <- handed{octets, buffer}
	d.away = true
	return <-d.free
}

func (d *digest) start() {
	d.work = make(chan handed, spareBlocks)
	d.free = make(chan []byte, spareBlocks+1)
	for range spareBlocks {
		d.free <- make([]byte, blockSize)
	}
	go func(h hash.Hash, work <-chan handed, free chan<- []byte) {
		for block := range work {
			h.Write(block.octets)
			free <- block.buffer
		}
	}(d.hash, d.work, d.free)
}

// settle waits until every block handed over is hashed.
func (d *digest) settle() {
	if !d.away {
		return
	}
	var buffers [spareBlocks][]byte
	for i := range buffers {
		buffers[i] = <-d.free
	}
	for _, buffer := range buffers {
		d.free <- buffer
	}
	d.away = false
}

// sum adds the last octets of the stretch and begins the next one.
func (d *digest) sum(last []byte) (sum [sha256.Size]byte) {
	d.settle()
	d.hash.Write(last)
	d.hash.Sum(sum[:0])
	d.hash.Reset()
	return sum
}

// stop forgets the stretch and ends the goroutine; the digest may be used
// again.
func (d *digest) stop() {
	d.settle()
	d.hash.Reset()
	if d.work != nil {
		close(d.work)
		d.work, d.free = nil, nil
	}
}
