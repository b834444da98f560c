package gateway

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"firstcopy/dedup/interchange"
)

// A follower reads a spool's file while it is being written: it waits where it has caught up.
type follower struct {
	mu    sync.Mutex
	more  *sync.Cond
	file  *os.File
	size  int64 // what is there so far
	ended bool
	err   error // why reading has to end
	at    int64 // of the reader
}

func newFollower(file *os.File, size int64) *follower {
	f := &follower{file: file, size: size}
	f.more = sync.NewCond(&f.mu)
	return f
}

func (f *follower) grew(n int) {
	f.mu.Lock()
	f.size += int64(n)
	f.mu.Unlock()
	f.more.Signal()
}

// end says that nothing more comes, for a reason if it is not the end of the payload.
func (f *follower) end(err error) {
	f.mu.Lock()
	f.ended, f.err = true, err
	f.mu.Unlock()
	f.more.Signal()
}

func (f *follower) Read(p []byte) (int, error) {
	f.mu.Lock()
	for f.at == f.size && !f.ended {
		f.more.Wait()
	}
	size, err := f.size, f.err
	f.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if f.at == size {
		return 0, io.EOF
	}
	n, err := f.file.ReadAt(p[:min(int64(len(p)), size-f.at)], f.at)
	f.at += int64(n)
	return n, err
}

var errNotNeeded = errors.New("the payload was not taken")

// early scans a payload that outgrows memory while the rest of it still arrives: both take about as long, on a core each.
// What it finds counts only if the payload turns out to be one document.
type early struct {
	follower *follower
	done     chan struct{}
	found    []interchange.Interchange
	err      error
}

// scanEarly has the scan begin when the spool moves to its file.
func scanEarly(spool *Spool) *early {
	e := &early{}
	spool.moved = func() *follower {
		e.follower, e.done = newFollower(spool.file, spool.size), make(chan struct{})
		go func() {
			defer close(e.done)
			defer func() {
				if p := recover(); p != nil { // nobody above this goroutine would catch it
					e.err = fmt.Errorf("panic while scanning: %v\n%s", p, debug.Stack())
				}
			}()
			e.found, e.err = interchange.Scan(e.follower)
		}()
		return e.follower
	}
	return e
}

// result waits for the scan of the whole payload; false if none was begun.
func (e *early) result() ([]interchange.Interchange, bool, error) {
	if e.follower == nil {
		return nil, false, nil
	}
	e.follower.end(nil)
	<-e.done
	return e.found, true, e.err
}

// stop ends the scan. It must have returned when the spool is closed.
func (e *early) stop() {
	if e.follower == nil {
		return
	}
	e.follower.end(errNotNeeded)
	<-e.done
}
