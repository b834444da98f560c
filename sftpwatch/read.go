package sftpwatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"firstcopy/partners"
)

// inFlight is how many READs of one file are under way at once. The SSH channel's window holds 2 MiB, which is as many chunks;
// more would wait there.
const inFlight = 64

var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// errChanged says that a file is not what it was a moment ago: somebody writes it still.
var errChanged = errors.New("the file changes while it is read")

// readFile copies a file of a known size. It is an error when the file turns out to have more octets or fewer.
func (l *link) readFile(ctx context.Context, path string, size int64, to io.Writer) (err error) {
	f, err := l.openFile(ctx, path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() {
		if closing := f.close(context.WithoutCancel(ctx)); err == nil {
			err = closing
		}
	}()
	p := &pieces{file: f, size: size, piece: chunk, beyond: 1, quit: make(chan struct{})}
	if l.terms.Has(partners.QuirkNoStatAfterOpen) {
		p.beyond = 0
	}
	if l.terms.Has(partners.QuirkSmallPackets) {
		p.piece = smallChunk
	}
	return p.copy(ctx, to)
}

// pieces reads a file in pieces, several at once, and puts them together in order. The last piece is an octet beyond the end,
// where nothing may be; servers that consume what they have given to its end are not asked for it.
type pieces struct {
	file   *remoteFile
	size   int64
	piece  int64
	beyond int64 // 1 if that octet is asked for
	quit   chan struct{}
}

// result is one piece; its buffer goes back to its reader.
type result struct {
	octets []byte
	err    error
}

func (p *pieces) copy(ctx context.Context, to io.Writer) error {
	count := (p.size+p.piece-1)/p.piece + p.beyond
	readers, err := p.file.link.places(ctx, min(count, inFlight))
	if err != nil {
		return err
	}
	defer p.file.link.giveUp(readers)
	results, next := make([]chan result, readers), make([]chan struct{}, readers)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer close(p.quit)
	for r := range readers {
		results[r], next[r] = make(chan result), make(chan struct{}, 1)
		wait.Go(func() { p.reader(ctx, r, readers, count, results[r], next[r]) })
	}
	for i := range count {
		got := <-results[i%readers]
		if got.err != nil {
			return got.err
		}
		if _, err := to.Write(got.octets); err != nil {
			return &Fault{Kind: KindOurs, Doing: "keeping what was read", Err: err}
		}
		next[i%readers] <- struct{}{}
	}
	return nil
}

// places takes room for as many READs as there is, of those wanted, and waits for the first.
func (l *link) places(ctx context.Context, wanted int64) (taken int64, err error) {
	select {
	case l.reads <- struct{}{}:
	case <-l.done:
		return 0, l.ended()
	case <-ctx.Done():
		return 0, faultOf("reading", context.Cause(ctx))
	}
	for taken = 1; taken < wanted; taken++ {
		select {
		case l.reads <- struct{}{}:
		default:
			return taken, nil
		}
	}
	return taken, nil
}

func (l *link) giveUp(places int64) {
	for range places {
		<-l.reads
	}
}

// reader reads every readers-th piece, into one buffer, which is free again when next says so.
func (p *pieces) reader(ctx context.Context, first, readers, count int64, out chan<- result, next <-chan struct{}) {
	buffer := chunks.Get().(*[chunk]byte)
	defer chunks.Put(buffer)
	for i := first; i < count; i += readers {
		octets, err := p.read(ctx, buffer, i)
		select {
		case out <- result{octets, err}:
		case <-p.quit:
			return
		}
		select {
		case <-next:
		case <-p.quit:
			return
		}
	}
}

func (p *pieces) read(ctx context.Context, buffer *[chunk]byte, i int64) ([]byte, error) {
	at := i * p.piece
	beyond := at >= p.size
	want := buffer[:1]
	if beyond {
		at = p.size
	} else {
		want = buffer[:min(p.piece, p.size-at)]
	}
	var n int
	err := p.file.link.request(ctx, "reading "+shown(p.file.path), func() (err error) {
		if n, err = p.file.ReadAt(want, at); err == io.EOF {
			err = nil
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case beyond && n > 0:
		return nil, fmt.Errorf("%w: it has more than %d octets", errChanged, p.size)
	case !beyond && n < len(want):
		return nil, fmt.Errorf("%w: it ends at %d of %d octets", errChanged, at+int64(n), p.size)
	case beyond:
		return nil, nil
	}
	return want[:n], nil
}
