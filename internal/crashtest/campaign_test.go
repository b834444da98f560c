//go:build failpoint

package crashtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/internal/localpg"
	"firstcopy/internal/pgtest"
)

// campaign is a world under traffic, in which one thing after another dies.
type campaign struct {
	*world
	server   *localpg.Server
	proxy    *proxy
	pool     *pgxpool.Pool // for looking, past the proxy
	traffic  *traffic
	random   *rand.Rand
	gateway  *gateway
	kills    int
	examined int // promises looked at by the last examination but one
	last     int // and by the last
}

// newCampaign starts a database of its own, which answers COMMIT before its log is on disk unless a session insists, and
// is slow to flush it otherwise: with the usual delay of the log's writer, what was not flushed at COMMIT would often be
// there all the same by the time of the crash.
func newCampaign(t *testing.T, binary string, seed uint64) *campaign {
	t.Helper()
	c := &campaign{random: rand.New(rand.NewPCG(seed, 0))}
	c.server = pgtest.Server(t, localpg.Options{Fsync: true, Settings: map[string]string{
		"synchronous_commit": "off", "wal_writer_delay": "10s", "wal_writer_flush_after": "1GB", "bgwriter_delay": "10s",
	}})
	var database string
	c.proxy, database = startProxy(t, c.server.URL("postgres"))
	c.world = newWorld(t, binary, database)
	var err error
	if c.pool, err = pgxpool.New(t.Context(), c.server.URL("postgres")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.pool.Close)
	c.traffic = startTraffic(c.world, seed)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d; after %d kills", seed, c.kills)
		}
	})
	return c
}

// revive kills the gateway if it lives, and starts it again.
func (c *campaign) revive(environment ...string) {
	c.tb.Helper()
	c.bury()
	c.gateway = c.start("gw", append(environment, "FIRSTCOPY_FAILPOINT_TRACE="+c.trace())...)
	if c.gateway.url != "" {
		c.traffic.url.Store(&c.gateway.url)
	}
}

// bury makes sure that the gateway is dead.
func (c *campaign) bury() {
	c.traffic.url.Store(nil)
	if c.gateway != nil {
		c.gateway.kill()
	}
}

func (c *campaign) trace() string { return filepath.Join(c.dir, "trace") }

// await waits until something has happened, and fails the test if it does not, or if the gateway ends by itself.
func (c *campaign) await(what string, happened func() bool) {
	c.tb.Helper()
	deadline := time.After(patience)
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		if happened() {
			tick.Stop()
			return
		}
		select {
		case <-tick.C:
		case <-c.gateway.exited:
			if !happened() {
				c.tb.Fatalf("the gateway ended by itself, with %s, before: %s", c.gateway.cmd.ProcessState, what)
			}
		case <-deadline:
			c.tb.Fatalf("waited too long for: %s", what)
		}
	}
}

// progress waits until every sender may have settled something: the gateway works.
func (c *campaign) progress() {
	c.tb.Helper()
	goal := c.traffic.settled.Load() + 2*senders
	c.await("messages to be settled again", func() bool { return c.traffic.settled.Load() >= goal })
}

// postmaster is the process id of the database's first process.
func (c *campaign) postmaster() int {
	c.tb.Helper()
	var lines string
	ctx, cancel := context.WithTimeout(c.tb.Context(), patience)
	defer cancel()
	if err := c.pool.QueryRow(ctx, `SELECT pg_read_file('postmaster.pid')`).Scan(&lines); err != nil {
		c.tb.Fatal(err)
	}
	first, _, _ := strings.Cut(lines, "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		c.tb.Fatalf("reading postmaster.pid: %v", err)
	}
	return pid
}

// restart has the database recover from its crash.
func (c *campaign) restart() {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(c.tb.Context(), patience)
	defer cancel()
	if err := c.server.Restart(ctx); err != nil {
		c.tb.Fatal(err)
	}
	c.pool.Reset()
}

// round is one death. It leaves the database alive, and the gateway in whatever state.
type round struct {
	name string
	run  func(c *campaign)
}

// gatewayDiesAt kills the gateway when it reaches a point for a random one of its first times.
func gatewayDiesAt(point string) round {
	return round{"the gateway dies at " + point, func(c *campaign) {
		c.revive(fmt.Sprintf("FIRSTCOPY_FAILPOINT=%s@%d", point, c.hit(point)))
		select {
		case <-c.gateway.exited:
		case <-time.After(patience):
			c.tb.Fatalf("the gateway never reached %s", point)
		}
		if !c.gateway.killed() {
			c.tb.Fatalf("the gateway ended by itself, with %s, instead of at %s", c.gateway.cmd.ProcessState, point)
		}
	}}
}

// killed tells whether the process died by SIGKILL. It must have exited.
func (g *gateway) killed() bool {
	status, ok := g.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// databaseDiesAt has the gateway kill the database at a point, and go on.
func databaseDiesAt(point string) round {
	return round{"the database dies at " + point, func(c *campaign) {
		pid := c.postmaster()
		c.revive(fmt.Sprintf("FIRSTCOPY_FAILPOINT=%s@%d@%d", point, c.hit(point), pid))
		c.await("the database to die at "+point, func() bool { return syscall.Kill(pid, 0) != nil })
		c.restart()
		c.progress()
	}}
}

// answerIsLost cuts a connection between the database's COMMIT and its answer.
func answerIsLost() round {
	return round{"the answer to a COMMIT is lost", func(c *campaign) {
		c.revive()
		lost := c.proxy.lose(1 + c.random.IntN(8))
		c.await("a COMMIT whose answer can be lost", func() bool {
			select {
			case <-lost:
				return true
			default:
				return false
			}
		})
		c.progress()
	}}
}

// gatewayDies and databaseDies choose their moment by chance.
func gatewayDies() round {
	return round{"the gateway dies", func(c *campaign) {
		c.revive()
		<-time.After(time.Duration(c.random.IntN(1000)) * time.Millisecond)
	}}
}

func databaseDies() round {
	return round{"the database dies", func(c *campaign) {
		c.revive()
		<-time.After(time.Duration(c.random.IntN(1000)) * time.Millisecond)
		if err := c.server.Crash(); err != nil {
			c.tb.Fatal(err)
		}
		<-time.After(time.Duration(c.random.IntN(200)) * time.Millisecond)
		c.restart()
		c.progress()
	}}
}

// hit chooses at which time of reaching a point to kill: rare points must not be waited for too long.
func (c *campaign) hit(point string) int {
	switch {
	case strings.HasPrefix(point, "ingest."), strings.HasPrefix(point, "as2."):
		return 1 + c.random.IntN(12)
	case strings.HasPrefix(point, "stage."):
		return 1
	}
	return 1 + c.random.IntN(4)
}

// fight runs a round and examines what can be examined at any time; it returns what is wrong.
func (c *campaign) fight(r round) []violation {
	c.tb.Helper()
	c.kills++
	r.run(c)
	// Promises from before the round are looked at again, since this round's crash may have taken them back.
	found := c.examine(c.traffic.promises.since(c.examined))
	c.examined, c.last = c.last, c.traffic.promises.count()
	return found
}
