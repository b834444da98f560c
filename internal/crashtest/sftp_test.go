//go:build failpoint

package crashtest_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/crypto/ssh"

	"firstcopy/internal/pgtest"
	"firstcopy/internal/sftptest"
)

// Two nodes on one database fetch from the same partners, who put files again and again; one node after the other dies
// between two steps, from the listing of a folder to a file's putting away. Nothing is lost, nothing is forwarded twice.
func TestSFTPCrash(t *testing.T) {
	t.Parallel()
	seed := chance()
	random := rand.New(rand.NewPCG(seed, 1))
	f := newFetching(t, program(t, "failpoint"), seed)
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	points := sftpPoints(t)
	f.reach(points)
	for range (*rounds + 4) / 5 { // a round has as many deaths as there are points, each of which waits for leases to expire
		random.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
		for i, p := range points {
			f.dieAt(i%2, p, 1+random.IntN(6))
			report(t, "a node dies at "+p, f.examine())
		}
	}
	report(t, "the end", f.finish())
	t.Logf("%d deaths; %d files put, %d interchanges", f.kills, f.dropper.puts.Load(), f.dropper.known())
}

// The proof is worth what it can refute.
func TestSFTPMutantIsCaught(t *testing.T) {
	if !*mutants {
		t.Log("only with -mutants, as make crash runs it")
		return
	}
	path := filepath.Join(t.TempDir(), "firstcopy")
	build(t, mutant(t, "delete-before-commit.patch"), "failpoint", path)
	f := newFetching(t, path, chance())
	f.revive(0)
	f.revive(1)
	for n := range 4 {
		f.dieAt(n%2, "ingest.before-commit", 3)
	}
	found := f.finish()
	if !slices.ContainsFunc(found, func(v violation) bool { return v.check == everythingForwarded }) {
		t.Fatalf("not caught: %v", found)
	}
	t.Logf("caught: %s", found[0])
}

const everythingForwarded = "everything put is forwarded"

// fetching is a world with SFTP partners and two nodes.
type fetching struct {
	*world
	server  *sftptest.OpenSSH
	pool    *pgxpool.Pool
	nodes   [2]*gateway
	dropper *dropper
	kills   int
}

// sftpPartners share a server, each with folders of its own.
const sftpPartners = 4

const sftpAgreement = `
  - name: %[1]s
    sftp:
      host: 127.0.0.1
      port: %[2]s
      user: %[3]s
      host_keys: ["%[4]s"]
      auth: {keys: [{file: %[5]s}]}
      folders: {in: %[1]s/in, archive: %[1]s/archive, error: %[1]s/error, acknowledgement: %[1]s/ack}
      ready: {quiet: 2s}
      interval: 200ms
      after: %[6]s
      timeouts: {connect: 5s, request: 5s, list: 5s, file: 10s}
    acknowledge: {edifact: contrl}
    sink: dir:%[7]s
`

func newFetching(t *testing.T, binary string, seed uint64) *fetching {
	t.Helper()
	database := pgtest.URL(t)
	f := &fetching{world: newWorld(t, binary, database), server: sftptest.StartOpenSSH(t, sftptest.Options{})}
	var err error
	if f.pool, err = pgxpool.New(t.Context(), database); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.pool.Close)
	agreements := strings.Builder{}
	agreements.WriteString("partners:")
	_, port, _ := strings.Cut(f.server.Address, ":")
	key := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(f.server.HostKeys[0])))
	for i := range sftpPartners {
		name := fmt.Sprintf("p%d", i)
		f.server.Mkdir(name, name+"/in", name+"/archive", name+"/error", name+"/ack")
		if err := os.Mkdir(filepath.Join(f.inbox, name), 0o755); err != nil {
			t.Fatal(err)
		}
		after := []string{"archive", "delete"}[i%2]
		fmt.Fprintf(&agreements, sftpAgreement, name, port, f.server.User, key, f.server.KeyFile, after, filepath.Join(f.inbox, name))
	}
	f.write("sftp.yaml", agreements.String())
	f.run("partner", "apply", "-f", filepath.Join(f.dir, "sftp.yaml"))
	f.dropper = startDropper(f.server, seed)
	t.Cleanup(f.dropper.stop)
	return f
}

// sftpPoints are those of the SFTP channel, and those of the ingest that a file goes through.
func sftpPoints(t *testing.T) []string {
	t.Helper()
	points := slices.DeleteFunc(pointsBelow(t, "sftpwatch", "gateway"), func(p string) bool {
		return !strings.HasPrefix(p, "sftp.") && !strings.HasPrefix(p, "ingest.") && !strings.HasPrefix(p, "forward.")
	})
	const least = 11 // what there were when this was written
	if n := len(slices.DeleteFunc(slices.Clone(points), func(p string) bool { return !strings.HasPrefix(p, "sftp.") })); n < least {
		t.Fatalf("the source marks %d points of SFTP, fewer than %d: %q", n, least, points)
	}
	return slices.DeleteFunc(points, func(p string) bool { return p == "ingest.staged" }) // of large payloads only
}

func nodeName(i int) string { return fmt.Sprintf("gw%d", i) }

// revive starts the nodes that are dead.
func (f *fetching) revive(i int, environment ...string) {
	f.tb.Helper()
	if f.nodes[i] != nil {
		f.nodes[i].kill()
	}
	f.nodes[i] = f.start(nodeName(i), append(environment, "FIRSTCOPY_FAILPOINT_TRACE="+filepath.Join(f.dir, "trace"))...)
}

// reach runs both nodes undisturbed until files have gone through every point.
func (f *fetching) reach(points []string) {
	f.tb.Helper()
	f.revive(0)
	f.revive(1)
	var missing []string
	f.await("every point to be reached", func() bool {
		reached, err := os.ReadFile(filepath.Join(f.dir, "trace"))
		if err != nil && !os.IsNotExist(err) {
			f.tb.Fatal(err)
		}
		missing = slices.DeleteFunc(slices.Clone(points), func(p string) bool { return slices.Contains(strings.Fields(string(reached)), p) })
		return len(missing) == 0
	}, func() string { return fmt.Sprintf("not reached: %q", missing) })
}

// dieAt has a node die at a point while the other lives. The other dies before that, too, and comes back when the first has
// taken over its partners, or it would keep them: whoever polled last has the first chance.
func (f *fetching) dieAt(i int, point string, hit int) {
	f.tb.Helper()
	f.kills++
	f.nodes[1-i].kill()
	f.nodes[i].kill()
	former := f.owners()
	f.revive(i, fmt.Sprintf("FIRSTCOPY_FAILPOINT=%s@%d", point, hit))
	f.await("partners to be taken over", func() bool {
		select {
		case <-f.nodes[i].exited:
			return true
		default:
			return !slices.Equal(f.owners(), former)
		}
	}, func() string { return point })
	f.revive(1 - i)
	select {
	case <-f.nodes[i].exited:
	case <-time.After(patience):
		f.tb.Fatalf("%s never reached %s %d times", nodeName(i), point, hit)
	}
	if !f.nodes[i].killed() {
		f.tb.Fatalf("%s ended by itself, with %s, instead of at %s", nodeName(i), f.nodes[i].cmd.ProcessState, point)
	}
	f.revive(i)
}

// owners are the nodes' lives that polled each partner last.
func (f *fetching) owners() []string {
	f.tb.Helper()
	var owners []string
	for _, v := range f.list("", `SELECT owner FROM sftp_poll ORDER BY partner_id`) {
		owners = append(owners, v.detail)
	}
	return owners
}

func (f *fetching) await(what string, happened func() bool, detail func() string) {
	f.tb.Helper()
	deadline := time.Now().Add(2 * patience)
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		if happened() {
			tick.Stop()
			return
		}
		if time.Now().After(deadline) {
			f.tb.Fatalf("waited too long for %s; %s", what, detail())
		}
	}
}

// list makes a violation of each row.
func (f *fetching) list(check, sql string) []violation {
	f.tb.Helper()
	c := campaign{world: f.world, pool: f.pool}
	return c.list(check, sql)
}

// examine looks at what must be so at any time.
func (f *fetching) examine() []violation {
	f.tb.Helper()
	found := f.list("one first copy", `SELECT format('content %s: %s first events', encode(content_hash, 'hex'), count(*))
		FROM ledger_event WHERE kind = 'first' GROUP BY partner_id, content_hash HAVING count(*) > 1`)
	found = append(found, f.list("one document", `SELECT format('%s: %s documents', encode(raw_hash, 'hex'), count(*))
		FROM document GROUP BY partner_id, raw_hash HAVING count(*) > 1`)...)
	return append(found, f.forwardedTwice()...)
}

// sinks are the contents of every partner's sink, by hash, and the files that hold each.
func (f *fetching) sinks() map[[32]byte][]string {
	f.tb.Helper()
	found := map[[32]byte][]string{}
	err := filepath.WalkDir(f.inbox, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(path, ".json") {
			return err
		}
		content, err := os.ReadFile(path)
		sum := sha256.Sum256(content)
		found[sum] = append(found[sum], path)
		return err
	})
	if err != nil && !os.IsNotExist(err) { // a temporary file that was renamed meanwhile
		f.tb.Fatal(err)
	}
	return found
}

func (f *fetching) forwardedTwice() (found []violation) {
	for sum, paths := range f.sinks() {
		name, known := f.dropper.name(sum)
		if !known {
			found = append(found, violation{"forwarded byte for byte", paths[0] + " is nothing that was put"})
		}
		if len(paths) > 1 {
			found = append(found, violation{"forwarded once", fmt.Sprintf("%s: %q", name, paths)})
		}
	}
	return found
}

var answered = regexp.MustCompile(`UCI\+([A-Z0-9]+)`)

// acknowledged wants a functional acknowledgement for every reference, none of them twice, and no half one left.
func (f *fetching) acknowledged() (found []violation) {
	f.tb.Helper()
	references, files := map[string]bool{}, map[string]string{}
	for i := range sftpPartners {
		folder := fmt.Sprintf("p%d/ack/", i)
		for _, name := range f.server.Names(folder) {
			content, _ := f.server.Read(folder + name)
			if strings.HasPrefix(name, ".") {
				found = append(found, violation{"no half acknowledgement is left", folder + name})
			}
			if other, twice := files[content]; twice {
				found = append(found, violation{"each acknowledgement once", folder + name + " and " + other})
			}
			files[content] = folder + name
			for _, m := range answered.FindAllStringSubmatch(content, -1) {
				references[m[1]] = true
			}
		}
	}
	for _, name := range f.dropper.all() {
		if reference, _, _ := strings.Cut(name, " "); !references[reference] {
			found = append(found, violation{"everything put is acknowledged", name})
		}
	}
	return found
}

// finish lets the nodes clear the folders, and compares what was forwarded with what was put.
func (f *fetching) finish() []violation {
	f.tb.Helper()
	f.dropper.stop()
	var left []string
	f.await("the folders and the outbox to be empty", func() bool {
		left = nil
		for i := range sftpPartners {
			for _, name := range f.server.Names(fmt.Sprintf("p%d/in", i)) {
				left = append(left, fmt.Sprintf("p%d/in/%s", i, name))
			}
		}
		for _, v := range append(f.list("", unfinished), f.list("", `SELECT document_id::text FROM document WHERE state <> 'forwarded'`)...) {
			left = append(left, v.detail)
		}
		return len(left) == 0
	}, func() string { return fmt.Sprintf("left: %q", left) })
	found := f.examine()
	arrived := f.sinks()
	for sum, name := range f.dropper.all() {
		if len(arrived[sum]) == 0 {
			found = append(found, violation{everythingForwarded, name})
		}
	}
	for i := range sftpPartners {
		if names := f.server.Names(fmt.Sprintf("p%d/error", i)); len(names) > 0 {
			found = append(found, violation{"nothing whole is an error", fmt.Sprintf("%q", names)})
		}
	}
	found = append(found, f.acknowledged()...)
	for _, n := range f.nodes {
		if err := n.stop(); err != nil {
			found = append(found, violation{"orderly stop", err.Error()})
		}
	}
	return found
}
