package sftpproof_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/crypto/ssh"

	"firstcopy/internal/as2test"
	"firstcopy/internal/pgtest"
	"firstcopy/internal/sftptest"
)

var soakFor = flag.Duration("soak", 20*time.Second, "how long the soak lasts")

// Fifty partners, of whom half are good and the others slow, dead, flapping or hostile: the good ones are served as if they
// were alone, the node's memory, goroutines and descriptors stay as they are, and in the end every file of everybody has been
// forwarded once.
func TestSoak(t *testing.T) {
	n := newNode(t, pgtest.URL(t))
	n.run("migrate")
	s := newSoak(t, n)
	n.serve()
	s.begin(s.good)
	alone := s.latencies(*soakFor / 4)
	begin := n.vitals()
	s.begin(s.bad)
	s.settle(*soakFor / 4)
	early := s.watch(*soakFor / 4)
	among := s.latencies(*soakFor / 2)
	late := s.watch(*soakFor / 8)
	t.Logf("alone %s; early %s; late %s", begin, early, late)
	t.Logf("good partners' files take %s alone, and %s among the others (the 95th of a hundred)", alone, among)
	// The race detector makes everything slower, and the machine is shared: this is to see starvation, not speed.
	if among > 3*alone+2*time.Second {
		t.Errorf("good partners wait for bad ones: %s, and %s alone", among, alone)
	}
	for _, grown := range []struct {
		what          string
		before, after float64
		allowed       float64
	}{
		{"memory", early.memory, late.memory, early.memory/4 + 32<<20},
		{"goroutines", early.goroutines, late.goroutines, early.goroutines/4 + 40},
		{"descriptors", early.descriptors, late.descriptors, 20},
	} {
		if grown.after > grown.before+grown.allowed {
			t.Errorf("%s grew from %.0f to %.0f", grown.what, grown.before, grown.after)
		}
	}
	s.reform()
	s.allForwarded()
	if took := n.stop(); took > 10*time.Second {
		t.Errorf("stopping took %s", took)
	}
}

// soak is the partners and what they put.
type soak struct {
	tb        testing.TB
	node      *node
	pool      *pgxpool.Pool
	inbox     string
	key       string // file of
	interval  string // of the polls
	good, bad []*soaking
	files     int // put so far
}

// soaking is one partner.
type soaking struct {
	name    string
	server  *sftptest.Scripted
	address string         // through a slow line, if there is one
	act     func(tick int) // misbehaviour that changes with time; nil for none
	gone    chan time.Time // when its files were deleted: taken, that is
	left    []string       // files put and not deleted, at the last look
	waiting int
}

func newSoak(t *testing.T, n *node) *soak {
	t.Helper()
	s := &soak{tb: t, node: n, inbox: t.TempDir(), interval: "500ms"}
	s.key = n.write("partner.key", string(sftptest.NewKey(t, ssh.KeyAlgoED25519, "partner").PEM))
	var err error
	if s.pool, err = pgxpool.New(t.Context(), n.database); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.pool.Close)
	for i := range 25 {
		s.good = append(s.good, s.partner(fmt.Sprintf("good%02d", i), sftptest.Script{}))
	}
	s.bad = s.misfits()
	return s
}

// partner starts a server that notices when a file is deleted.
func (s *soak) partner(name string, script sftptest.Script) *soaking {
	p := &soaking{name: name, gone: make(chan time.Time, 1000)}
	noticed := func(r *sftptest.Request, next func() sftptest.Reply) sftptest.Reply {
		reply := next()
		if r.Kind == sftptest.Remove && reply.Kind == sftptest.Status && reply.Code == sftptest.OK {
			select {
			case p.gone <- time.Now():
			default: // nobody measures
			}
		}
		return reply
	}
	script.Twists = append([]sftptest.Twist{noticed}, script.Twists...)
	p.server = startScripted(s.tb, script)
	p.address = p.server.Address
	return p
}

const soakAgreement = `
  - name: %[1]s
    sftp:
      host: 127.0.0.1
      port: %[2]s
      user: acme
      host_keys: ["%[3]s"]
      auth: {keys: [{file: %[4]s}]}
      folders: {in: in, error: error}
      ready: {quiet: 500ms}
      interval: %[6]s
      after: delete
      timeouts: {connect: 5s, request: 5s, list: 10s, file: 20s}
    sink: dir:%[5]s
`

// begin agrees with partners, beside those there are.
func (s *soak) begin(more []*soaking) {
	s.tb.Helper()
	var text strings.Builder
	text.WriteString("partners:")
	key := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(sftptest.NewKey(s.tb, ssh.KeyAlgoED25519, "host").PublicKey())))
	for _, p := range more {
		sink := filepath.Join(s.inbox, p.name)
		if err := os.MkdirAll(sink, 0o755); err != nil {
			s.tb.Fatal(err)
		}
		_, port, _ := strings.Cut(p.address, ":")
		fmt.Fprintf(&text, soakAgreement, p.name, port, key, s.key, sink, s.interval)
	}
	s.node.run("partner", "apply", "-f", s.node.write("agreements.yaml", text.String()))
}

// drop puts a file at a partner's, if its last ones are gone: a dead one's folder shall not grow without end.
func (s *soak) drop(p *soaking) bool {
	p.left = slices.DeleteFunc(p.left, func(name string) bool {
		_, there := p.server.Files.Read(name)
		return !there
	})
	if len(p.left) > 20 {
		return false
	}
	s.files++
	name := fmt.Sprintf("in/%06d.edi", s.files)
	p.server.Files.Put(name, invoice(s.files))
	p.left = append(p.left, name)
	return true
}

// latencies puts files at good partners and returns how long it takes until 95 of a hundred are taken. Everybody else
// gets files, too.
func (s *soak) latencies(d time.Duration) time.Duration {
	s.tb.Helper()
	var took []time.Duration
	for end, tick := time.Now().Add(d), 0; time.Now().Before(end); tick++ {
		s.stir(tick)
		for _, p := range s.good {
			for len(p.gone) > 0 {
				<-p.gone
			}
			p.waiting = 0
			if s.drop(p) {
				p.waiting = 1
			}
		}
		put := time.Now()
		for _, p := range s.good {
			for ; p.waiting > 0; p.waiting-- {
				select {
				case at := <-p.gone:
					took = append(took, at.Sub(put))
				case <-time.After(time.Minute):
					s.tb.Fatalf("%s has waited a minute for its file to be taken", p.name)
				}
			}
		}
	}
	slices.Sort(took)
	if len(took) == 0 {
		s.tb.Fatal("nothing was measured")
	}
	return took[len(took)*95/100]
}

// stir has the bad partners do what they do.
func (s *soak) stir(tick int) {
	for _, p := range s.bad {
		if p.act != nil {
			p.act(tick)
		}
		s.drop(p)
	}
}

// settle lets the bad partners' company become usual.
func (s *soak) settle(d time.Duration) { s.latencies(d) }

// watch returns the vitals' medians over a while.
func (s *soak) watch(d time.Duration) vitals {
	var all []vitals
	for end := time.Now().Add(d); time.Now().Before(end) || len(all) == 0; {
		s.latencies(time.Millisecond) // one round
		all = append(all, s.node.vitals())
	}
	middle := func(of func(vitals) float64) float64 {
		values := make([]float64, len(all))
		for i, v := range all {
			values[i] = of(v)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return vitals{middle(func(v vitals) float64 { return v.memory }), middle(func(v vitals) float64 { return v.goroutines }),
		middle(func(v vitals) float64 { return v.descriptors })}
}

// reform has every server behave, and every partner polled at once: an agreement that has changed is as good as new.
func (s *soak) reform() {
	s.tb.Helper()
	for _, p := range s.bad {
		p.server.Change(func(script *sftptest.Script) { *script = sftptest.Script{} })
		p.server.Disconnect()
	}
	s.interval = "501ms"
	s.begin(s.bad)
	if _, err := s.pool.Exec(s.tb.Context(), `UPDATE sftp_poll SET due_at = now()`); err != nil {
		s.tb.Fatal(err)
	}
}

// allForwarded wants each file's document once, and none else. Partners that have failed for long are not asked at once.
func (s *soak) allForwarded() {
	s.tb.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for tick := time.NewTicker(200 * time.Millisecond); ; <-tick.C {
		if s.count(`SELECT count(*) FROM document WHERE state = 'forwarded'`) >= s.files {
			tick.Stop()
			break
		}
		if time.Now().After(deadline) {
			s.tb.Errorf("%d of %d files were forwarded", s.count(`SELECT count(*) FROM document WHERE state = 'forwarded'`), s.files)
			break
		}
	}
	if n := s.count(`SELECT count(*) FROM document`); n != s.files {
		s.tb.Errorf("%d documents of %d files", n, s.files)
	}
	seen := map[string]int{}
	for _, p := range slices.Concat(s.good, s.bad) {
		for _, content := range as2test.Inbox(s.tb, filepath.Join(s.inbox, p.name)) {
			seen[content]++
		}
	}
	for i := 1; i <= s.files; i++ {
		if n := seen[invoice(i)]; n != 1 {
			s.tb.Errorf("file %d was forwarded %d times", i, n)
		}
	}
	s.tb.Logf("%d files", s.files)
}

func (s *soak) count(sql string) (n int) {
	s.tb.Helper()
	if err := s.pool.QueryRow(context.Background(), sql).Scan(&n); err != nil {
		s.tb.Fatal(err)
	}
	return n
}
