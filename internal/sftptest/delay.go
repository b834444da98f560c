package sftptest

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Delay is a long line to a server: every octet takes half a round trip, in order, and as many as one likes may be under
// way. Making a connection takes a round trip, too, after which the first octets pass.
type Delay struct {
	Address string // where to connect instead of to the server

	listener net.Listener
	target   string
	wait     sync.WaitGroup

	mu        sync.Mutex
	roundTrip time.Duration
	frozen    chan struct{} // closed while octets pass; replaced by an open one to freeze
	stopping  chan struct{}
	stopped   bool
	open      map[net.Conn]bool
	passed    int64
}

// underWay bounds the memory of one direction, far beyond what SSH's windows let a sender send ahead.
const underWay = 64 << 20

// StartDelay listens in front of a server (host:port) until the test ends.
func StartDelay(tb testing.TB, target string, roundTrip time.Duration) *Delay {
	tb.Helper()
	d := &Delay{target: target, roundTrip: roundTrip, frozen: make(chan struct{}), stopping: make(chan struct{}),
		open: map[net.Conn]bool{}}
	close(d.frozen)
	var err error
	if d.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		tb.Fatalf("sftptest: %v", err)
	}
	d.Address = d.listener.Addr().String()
	d.wait.Go(d.accept)
	tb.Cleanup(d.stop)
	return d
}

func (d *Delay) stop() {
	d.listener.Close()
	d.mu.Lock()
	d.stopped = true
	close(d.stopping)
	d.mu.Unlock()
	d.Cut()
	d.wait.Wait()
}

// Set changes the round trip, for octets that are not under way yet.
func (d *Delay) Set(roundTrip time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.roundTrip = roundTrip
}

// Cut closes all connections, and loses what is under way.
func (d *Delay) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.open {
		c.Close()
	}
}

// Freeze keeps octets from arriving: the line is dead, and neither side is told. Connections can still be made.
func (d *Delay) Freeze() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if isClosed(d.frozen) {
		d.frozen = make(chan struct{})
	}
}

// Thaw lets everything arrive.
func (d *Delay) Thaw() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !isClosed(d.frozen) {
		close(d.frozen)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Passed is the number of octets that have arrived, in both directions.
func (d *Delay) Passed() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed
}

func (d *Delay) accept() {
	for {
		client, err := d.listener.Accept()
		if err != nil {
			return
		}
		accepted := time.Now()
		d.wait.Go(func() { d.connect(client, accepted) })
	}
}

// connect passes octets on both ways until one side is closed, and then closes the other.
func (d *Delay) connect(client net.Conn, accepted time.Time) {
	defer d.drop(client)
	if !d.keep(client) {
		return
	}
	d.mu.Lock()
	made := accepted.Add(d.roundTrip)
	d.mu.Unlock()
	if !d.until(made) {
		return
	}
	server, err := net.Dial("tcp", d.target)
	if err != nil {
		return
	}
	defer d.drop(server)
	if !d.keep(server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { d.pass(server, client) })
	both.Go(func() { d.pass(client, server) })
	both.Wait()
}

func (d *Delay) keep(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[c] = true
	return !d.stopped
}

func (d *Delay) drop(c net.Conn) {
	c.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, c)
}

// parcel is a piece of the stream and when it arrives.
type parcel struct {
	content []byte
	due     time.Time
}

// pass is one direction: it reads ahead as fast as it can, while what was read waits for its time.
func (d *Delay) pass(to, from net.Conn) {
	q := newQueue()
	var reader sync.WaitGroup
	reader.Go(func() {
		defer q.close()
		for {
			buffer := make([]byte, 64<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				d.mu.Lock()
				due := time.Now().Add(d.roundTrip / 2)
				d.mu.Unlock()
				q.add(parcel{buffer[:n], due})
			}
			if err != nil {
				return
			}
		}
	})
	for {
		p, ok := q.take()
		if !ok || !d.until(p.due) || !d.thawed() {
			break
		}
		if _, err := to.Write(p.content); err != nil {
			break
		}
		d.mu.Lock()
		d.passed += int64(len(p.content))
		d.mu.Unlock()
	}
	// A side that only closes its writing half ends the connection, as SSH does not use half-open ones.
	q.drain()
	from.Close()
	to.Close()
	reader.Wait()
}

// until waits for the modelled time, and reports whether the test still runs.
func (d *Delay) until(due time.Time) bool {
	left := time.Until(due)
	if left <= 0 {
		return true
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.stopping:
		return false
	}
}

func (d *Delay) thawed() bool {
	d.mu.Lock()
	frozen := d.frozen
	d.mu.Unlock()
	select {
	case <-frozen:
		return true
	case <-d.stopping:
		return false
	}
}

// queue holds what is under way in one direction.
type queue struct {
	mu      sync.Mutex
	cond    *sync.Cond
	parcels []parcel
	size    int
	closed  bool // nothing more is added
	drained bool // nothing more is taken
}

func newQueue() *queue {
	q := &queue{}
	q.cond = sync.NewCond(&q.mu)
	return q
}

func (q *queue) add(p parcel) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.size >= underWay && !q.drained {
		q.cond.Wait()
	}
	q.parcels, q.size = append(q.parcels, p), q.size+len(p.content)
	q.cond.Broadcast()
}

func (q *queue) take() (parcel, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.parcels) == 0 && !q.closed {
		q.cond.Wait()
	}
	if len(q.parcels) == 0 {
		return parcel{}, false
	}
	p := q.parcels[0]
	q.parcels, q.size = q.parcels[1:], q.size-len(p.content)
	q.cond.Broadcast()
	return p, true
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.cond.Broadcast()
}

func (q *queue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.drained = true
	q.cond.Broadcast()
}
