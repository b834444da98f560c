package sftpproof_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"firstcopy/internal/as2test"
	"firstcopy/internal/pgtest"
	"firstcopy/internal/sftptest"
	"firstcopy/partners"
)

// F11: the connection is lost after a file was taken and before it is put away; that is made up for, and the file is not
// taken again.
func TestF11PostActionOnAnotherConnection(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{NoExtensions: true, Twists: []sftptest.Twist{
		sftptest.Times(3, sftptest.HangsUp(sftptest.Rename), sftptest.Rename)}})
	for i := range 5 {
		s.Files.Put(fmt.Sprintf("in/%d.edi", i), invoice(i))
	}
	agree(t, hub, "acme", scripted(t, s))
	taken(t, hub, "acme", invoice(0), invoice(1), invoice(2), invoice(3), invoice(4))
	as2test.Eventually(t, "all to be archived", func() bool { return len(s.Files.Names("archive")) == 5 && len(s.Files.Names("in")) == 0 })
	if n := hub.Count(`SELECT count(*) FROM ledger_event WHERE kind IN ('repeat', 'duplicate')`); n != 0 {
		t.Errorf("%d repeats: files were read again while they waited to be put away", n)
	}
}

// F12: a folder in which nothing may be moved or deleted, ever: one forward a file, no end of polls, no storm of tries.
func TestF12DeniedForEver(t *testing.T) {
	t.Parallel()
	for _, after := range []partners.After{partners.AfterArchive, partners.AfterDelete} {
		t.Run(string(after), func(t *testing.T) {
			t.Parallel()
			hub := startHub(t)
			s := startScripted(t, sftptest.Script{Twists: []sftptest.Twist{sftptest.DeniesChange()}})
			s.Files.Put("in/one.edi", invoice(1))
			s.Files.Put("in/two.edi", invoice(2))
			agree(t, hub, "acme", scripted(t, s).with(func(terms *partners.SFTP) { terms.After = after }))
			taken(t, hub, "acme", invoice(1), invoice(2))
			polls(t, hub, "acme", 10)
			reads := s.Counts().Requests[sftptest.Open]
			if reads > 4 {
				t.Errorf("two files were opened %d times", reads)
			}
			s.Files.Put("in/three.edi", invoice(3))
			taken(t, hub, "acme", invoice(1), invoice(2), invoice(3))
			// Even across restarts of the polls: new content under the old name is taken.
			s.Files.Now(time.Now())
			s.Files.Put("in/one.edi", invoice(4))
			taken(t, hub, "acme", invoice(1), invoice(2), invoice(3), invoice(4))
			s.Change(func(script *sftptest.Script) { script.Twists = nil })
			as2test.Eventually(t, "the folder to be cleared", func() bool { return len(s.Files.Names("in")) == 0 })
		})
	}
}

// F12: the same with OpenSSH, whose folder belongs to somebody else.
func TestF12ReadOnlyFolder(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startReal(t, sftptest.Options{})
	s.Put("in/one.edi", invoice(1))
	if err := os.Chmod(s.Path("in"), 0o555); err != nil {
		t.Fatal(err)
	}
	agree(t, hub, "acme", openssh(s))
	taken(t, hub, "acme", invoice(1))
	polls(t, hub, "acme", 5)
	taken(t, hub, "acme", invoice(1))
	if err := os.Chmod(s.Path("in"), 0o755); err != nil {
		t.Fatal(err)
	}
	as2test.Eventually(t, "the file to be archived", func() bool { return slices.Equal(s.Names("archive"), []string{"one.edi"}) })
}

// F13: what was taken is known after a restart, even where files are kept.
func TestF13Restart(t *testing.T) {
	t.Parallel()
	s := startReal(t, sftptest.Options{})
	database := pgtest.URL(t)
	s.Put("in/one.edi", invoice(1))
	var reads int
	t.Run("before", func(t *testing.T) {
		hub := as2test.Start(t, as2test.Options{Database: database})
		agree(t, hub, "acme", openssh(s).with(func(terms *partners.SFTP) { terms.After = partners.AfterKeep }))
		taken(t, hub, "acme", invoice(1))
	})
	t.Run("after", func(t *testing.T) {
		hub := as2test.Start(t, as2test.Options{Database: database})
		polls(t, hub, "acme", 5)
		if n := hub.Count(`SELECT count(*) FROM document`); n != 1 {
			t.Errorf("%d documents, want the one from before", n)
		}
		if reads = hub.Count(`SELECT count(*) FROM ledger_event WHERE kind IN ('repeat', 'duplicate')`); reads != 0 {
			t.Errorf("the file was read %d times more", reads)
		}
	})
}

// F14: a claim whose owner is gone expires: the next node takes the file.
func TestF14ClaimOfADeadNode(t *testing.T) {
	t.Parallel()
	s := startScripted(t, sftptest.Script{Twists: []sftptest.Twist{sftptest.Silent(sftptest.Read)}})
	database := pgtest.URL(t)
	s.Files.Put("in/one.edi", invoice(1))
	terms := scripted(t, s)
	t.Run("before", func(t *testing.T) {
		hub := as2test.Start(t, as2test.Options{Database: database})
		agree(t, hub, "acme", terms)
		s.Await("the file to be read", func(c sftptest.Counts) bool { return c.Requests[sftptest.Read] > 0 })
	})
	s.Change(func(script *sftptest.Script) { script.Twists = nil })
	t.Run("after", func(t *testing.T) {
		hub := as2test.Start(t, as2test.Options{Database: database})
		as2test.Eventually(t, "the file to be taken", func() bool { return hub.Count(`SELECT count(*) FROM delivery`) == 1 })
	})
}

// F23: two nodes share the work; nothing is forwarded twice, nothing is read twice, and both work.
func TestF23TwoNodes(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	one := as2test.Start(t, as2test.Options{Database: database})
	two := as2test.Start(t, as2test.Options{Database: database})
	var all []*sftptest.Scripted
	for i := range 8 {
		s := startScripted(t, sftptest.Script{})
		for j := range 25 {
			s.Files.Put(fmt.Sprintf("in/%d.edi", j), invoice(100*i+j))
		}
		all = append(all, s)
		agree(t, one, fmt.Sprintf("p%d", i), scripted(t, s))
	}
	if err := two.Node.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		arrived(t, one, fmt.Sprintf("p%d", i), 25)
	}
	for _, s := range all {
		as2test.Eventually(t, "all to be archived", func() bool { return len(s.Files.Names("archive")) == 25 })
		if n := s.Counts().Requests[sftptest.Open]; n != 25 {
			t.Errorf("25 files were opened %d times", n)
		}
	}
	if n := one.Count(`SELECT count(*) FROM document`); n != 200 {
		t.Errorf("%d documents of 200 files", n)
	}
	if n := one.Count(`SELECT count(*) FROM ledger_event WHERE kind IN ('repeat', 'duplicate')`); n != 0 {
		t.Errorf("%d files were taken by both nodes", n)
	}
}

// F29, F30, F31: a file of that name is in the archive already, on servers with and without posix-rename, and on those that
// overwrite although they must not. Nothing in the archive is lost.
func TestF29ArchiveHoldsTheName(t *testing.T) {
	t.Parallel()
	replace := func(s **sftptest.Scripted) sftptest.Twist {
		return func(r *sftptest.Request, next func() sftptest.Reply) sftptest.Reply {
			if r.Kind == sftptest.Rename {
				if _, there := (*s).Files.Read(r.Target); there {
					(*s).Files.Remove(r.Target)
				}
			}
			return next()
		}
	}
	for name, script := range map[string]func(s **sftptest.Scripted) sftptest.Script{
		"posix-rename":  func(**sftptest.Scripted) sftptest.Script { return sftptest.Script{} },
		"no extensions": func(**sftptest.Scripted) sftptest.Script { return sftptest.Script{NoExtensions: true} },
		"overwrites": func(s **sftptest.Scripted) sftptest.Script {
			return sftptest.Script{NoExtensions: true, Twists: []sftptest.Twist{replace(s)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := startHub(t)
			s := startScripted(t, sftptest.Script{})
			s.Change(func(now *sftptest.Script) { *now = script(&s) })
			agree(t, hub, "acme", scripted(t, s))
			for i := range 3 {
				s.Files.Put("in/daily.edi", invoice(i))
				arrived(t, hub, "acme", i+1)
				as2test.Eventually(t, "the file to be put away", func() bool { return len(s.Files.Names("in")) == 0 })
			}
			var archived []string
			for _, name := range s.Files.Names("archive") {
				content, _ := s.Files.Read("archive/" + name)
				archived = append(archived, content)
			}
			slices.Sort(archived)
			if !slices.Equal(archived, []string{invoice(0), invoice(1), invoice(2)}) {
				t.Errorf("the archive holds %q", s.Files.Names("archive"))
			}
		})
	}
}

// F32: the rename was done and its answer lost.
func TestF32LostAnswers(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{Twists: []sftptest.Twist{
		sftptest.Times(2, sftptest.LosesAnswer(sftptest.Rename, sftptest.Remove), sftptest.Rename, sftptest.Remove),
		sftptest.Times(2, sftptest.LosesAnswer(sftptest.Extended), sftptest.Extended)}})
	for i := range 4 {
		s.Files.Put(fmt.Sprintf("in/%d.edi", i), invoice(i))
	}
	agree(t, hub, "acme", scripted(t, s))
	taken(t, hub, "acme", invoice(0), invoice(1), invoice(2), invoice(3))
	as2test.Eventually(t, "all to be archived once", func() bool { return len(s.Files.Names("archive")) == 4 && len(s.Files.Names("in")) == 0 })
	as2test.Eventually(t, "nothing more to be due", func() bool {
		return hub.Count(`SELECT count(*) FROM river_job WHERE kind <> 'upkeep' AND state <> 'completed'`) == 0
	})
}

// F33: the archive is on another file system: a plain rename fails for ever, with a word that says nothing.
func TestF33ArchiveElsewhere(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{NoExtensions: true, Twists: []sftptest.Twist{sftptest.Answers(sftptest.Failure, "Failure", sftptest.Rename)}})
	content := big("R1", 100_000)
	s.Files.Put("in/one.edi", content)
	agree(t, hub, "acme", scripted(t, s).with(func(terms *partners.SFTP) { terms.Quirks = []partners.Quirk{partners.QuirkNoRename} }))
	taken(t, hub, "acme", content)
	as2test.Eventually(t, "the file to be copied and deleted", func() bool { return len(s.Files.Names("in")) == 0 })
	if got, _ := s.Files.Read("archive/one.edi"); got != content {
		t.Errorf("%d octets are archived, of %d", len(got), len(content))
	}
}

// F6, F21: a file that its sender writes anew after it was taken and before it is put away is not put away unread: neither one
// of another size, nor one that differs in its date and content alone.
func TestF21RewrittenBeforeThePostAction(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]string{"larger": big("R2", 5000), "as large": invoice(2)} {
		for _, after := range []partners.After{partners.AfterArchive, partners.AfterDelete} {
			t.Run(name+" "+string(after), func(t *testing.T) {
				t.Parallel()
				hub := startHub(t)
				s := startScripted(t, sftptest.Script{NoExtensions: true})
				var once sync.Once
				looks := 0 // at the file, in the one session there is
				s.Change(func(script *sftptest.Script) {
					script.Twists = []sftptest.Twist{func(r *sftptest.Request, next func() sftptest.Reply) sftptest.Reply {
						if r.Kind == sftptest.Lstat && strings.HasSuffix(r.Path, "in/one.edi") {
							looks++
						}
						// A look is the last thing before a deletion; a move is looked at afterwards.
						if r.Kind == sftptest.Rename || looks == 3 && after == partners.AfterDelete {
							once.Do(func() {
								s.Files.Now(time.Now())
								s.Files.Put("in/one.edi", second)
							})
						}
						return next()
					}}
				})
				s.Files.Put("in/one.edi", invoice(1))
				agree(t, hub, "acme", scripted(t, s).with(func(terms *partners.SFTP) { terms.After = after }))
				taken(t, hub, "acme", invoice(1), second)
				as2test.Eventually(t, "the folder to be cleared", func() bool { return len(s.Files.Names("in")) == 0 })
			})
		}
	}
}
