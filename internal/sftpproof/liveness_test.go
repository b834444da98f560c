package sftpproof_test

import (
	"fmt"
	"testing"
	"time"

	"firstcopy/internal/as2test"
	"firstcopy/internal/sftptest"
	"firstcopy/partners"
)

// trial is a partner whose server misbehaves until it is set right.
type trial struct {
	name, what, content string // of the partner, of its trouble, of its file
	server              *sftptest.Scripted
}

func (tr trial) begin(t *testing.T, hub *as2test.Hub) {
	t.Helper()
	tr.server.Files.Put("in/one.edi", tr.content)
	agree(t, hub, tr.name, scripted(t, tr.server))
}

// end sets the servers right and wants everything done that was to be done.
func end(t *testing.T, hub *as2test.Hub, trials []trial) {
	t.Helper()
	for _, tr := range trials {
		if n := tr.server.Open(); n > 2 {
			t.Errorf("%s: %d connections are open", tr.what, n)
		}
		tr.server.Change(func(script *sftptest.Script) { *script = sftptest.Script{} })
		hurry(t, hub, tr.name, scripted(t, tr.server))
	}
	for _, tr := range trials {
		taken(t, hub, tr.name, tr.content)
		as2test.Eventually(t, "the file to be archived after "+tr.what, func() bool { return len(tr.server.Files.Names("archive")) == 1 })
	}
}

// hurry has a partner polled at once that was left alone after failures, as an administrator does who has mended something.
func hurry(t *testing.T, hub *as2test.Hub, name string, s server) {
	t.Helper()
	agree(t, hub, name, s.with(func(terms *partners.SFTP) { terms.Jitter++ }))
	const due = `UPDATE sftp_poll SET due_at = now() WHERE partner_id = (SELECT partner_id FROM partner WHERE name = $1)`
	if _, err := hub.Pool.Exec(t.Context(), due, name); err != nil {
		t.Fatal(err)
	}
}

// F4: a server that falls silent at any request is given up, alone, and taken up again.
func TestF04SilentServer(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	w := newWitness(t, hub)
	var trials []trial
	for kind, name := range silences {
		s := startScripted(t, sftptest.Script{NoExtensions: true, Twists: []sftptest.Twist{sftptest.Silent(kind)}})
		trials = append(trials, trial{"silent-" + name, "silence at " + name, invoice(int(kind)), s})
		trials[len(trials)-1].begin(t, hub)
	}
	w.works()
	for _, tr := range trials {
		tr.server.Await("a second try after "+tr.what, func(c sftptest.Counts) bool { return c.Connections >= 2 })
	}
	end(t, hub, trials)
}

// silences are the requests at which servers fall silent here.
var silences = map[sftptest.Kind]string{sftptest.Init: "init", sftptest.Opendir: "opendir", sftptest.Readdir: "readdir",
	sftptest.Open: "open", sftptest.Read: "read", sftptest.Close: "close", sftptest.Rename: "rename"}

// F4: the line is dead, and neither side is told.
func TestF04DeadLine(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startReal(t, sftptest.Options{})
	line := sftptest.StartDelay(t, s.Address, 10*time.Millisecond)
	terms := openssh(s)
	terms.address = line.Address
	agree(t, hub, "acme", terms)
	s.Put("in/one.edi", invoice(1))
	taken(t, hub, "acme", invoice(1))
	line.Freeze()
	as2test.Eventually(t, "the failure to be seen", func() bool { return hub.Count(`SELECT max(failures) FROM sftp_poll`) >= 1 })
	s.Put("in/two.edi", invoice(2))
	line.Thaw()
	taken(t, hub, "acme", invoice(1), invoice(2))
	line.Cut()
	s.Put("in/three.edi", invoice(3))
	taken(t, hub, "acme", invoice(1), invoice(2), invoice(3))
}

// F5: silence, or a closed connection, at any point before SFTP begins.
func TestF05Handshake(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	w := newWitness(t, hub)
	var trials []trial
	for p := sftptest.AtConnect; p <= sftptest.AtFirstRequest; p++ {
		for i, script := range []sftptest.Script{{Mute: p}, {HangUp: p}} {
			what := fmt.Sprintf("point %d, %d", script.Mute, script.HangUp)
			trials = append(trials, trial{fmt.Sprintf("point-%d-%d", p, i), what, invoice(10*int(p) + i), startScripted(t, script)})
			trials[len(trials)-1].begin(t, hub)
		}
	}
	w.works()
	for _, tr := range trials {
		tr.server.Await("a second try after "+tr.what, func(c sftptest.Counts) bool { return c.Connections >= 2 })
	}
	end(t, hub, trials)
}

// F5: the node stops in good time whatever its peers do.
func TestF05StopsWhileServersAreSilent(t *testing.T) {
	t.Parallel()
	begin := make(chan time.Time, 1)
	t.Cleanup(func() { // the last one, after the node and then the servers have stopped
		if took := time.Since(<-begin); took > 10*time.Second {
			t.Errorf("stopping took %s", took)
		}
	})
	var trials []trial
	for kind, name := range silences {
		s := startScripted(t, sftptest.Script{NoExtensions: true, Twists: []sftptest.Twist{sftptest.Silent(kind)}})
		trials = append(trials, trial{"silent-" + name, "silence at " + name, invoice(int(kind)), s})
	}
	hub := startHub(t)
	for _, tr := range trials {
		tr.begin(t, hub)
		tr.server.Await(tr.name, func(c sftptest.Counts) bool { return c.Connections > 0 })
	}
	polls(t, hub, "silent-init", 1)
	begin <- time.Now()
}

// F4: more dead servers than anybody has places for, each of which may take its time: the others do not wait for them.
func TestF04ManyDeadServers(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	dead := startScripted(t, sftptest.Script{Mute: sftptest.AtConnect})
	for i := range 100 {
		agree(t, hub, fmt.Sprintf("dead%d", i), scripted(t, dead).with(func(terms *partners.SFTP) {
			terms.Timeouts.Connect = partners.Period(2 * time.Minute)
		}))
	}
	dead.Await("many connections", func(c sftptest.Counts) bool { return c.Connections >= 60 })
	newWitness(t, hub).works()
}
