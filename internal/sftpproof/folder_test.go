package sftpproof_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"firstcopy/internal/as2test"
	"firstcopy/internal/sftptest"
	"firstcopy/partners"
)

// F15, F40: one file that cannot be taken costs no other of the same listing, and is taken when it can be.
func TestF15TroubleWithinABatch(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{Twists: []sftptest.Twist{sftptest.At("20.edi", sftptest.Denies(sftptest.Open)),
		sftptest.At("30.edi", sftptest.Answers(sftptest.Failure, "Failure", sftptest.Read)),
		sftptest.At("40.edi", sftptest.HangsUp(sftptest.Read))}})
	var all, good []string
	for i := range 60 {
		all = append(all, invoice(i))
		if i != 20 && i != 30 && i != 40 {
			good = append(good, invoice(i))
		}
		s.Files.Put(fmt.Sprintf("in/%d.edi", i), invoice(i))
	}
	agree(t, hub, "acme", scripted(t, s))
	taken(t, hub, "acme", good...)
	s.Change(func(script *sftptest.Script) { script.Twists = nil })
	taken(t, hub, "acme", all...)
	// F56: whatever went wrong, no handle is left open.
	s.Await("all handles to be closed", func(c sftptest.Counts) bool { return c.Handles == 0 })
}

// F16: files that never can be taken, first in every order, do not use up what a poll may take.
func TestF16Starvation(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	var twists []sftptest.Twist
	s := startScripted(t, sftptest.Script{})
	s.Files.Now(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	for i := range 10 {
		name := fmt.Sprintf("%02d.edi", i)
		s.Files.Put("in/"+name, invoice(i))
		twists = append(twists, sftptest.At(name, sftptest.Denies(sftptest.Open)))
	}
	s.Files.Now(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	var good []string
	for i := range 12 {
		good = append(good, invoice(100+i))
		s.Files.Put(fmt.Sprintf("in/later%02d.edi", i), good[i])
	}
	s.Change(func(script *sftptest.Script) { script.Twists = twists })
	agree(t, hub, "acme", scripted(t, s).with(func(terms *partners.SFTP) { terms.MaxFiles = 4 }))
	taken(t, hub, "acme", good...)
}

// F17, F18, F19: the server's clock decides nothing: older files that come later, dates that go backwards, that are the
// same for all, that lie in the future, or before there were computers.
func TestF17Dates(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{})
	agree(t, hub, "acme", scripted(t, s))
	var want []string
	for i, date := range []time.Time{time.Now(), time.Now().Add(-24 * time.Hour), time.Unix(0, 0), time.Now().Add(time.Hour),
		time.Now().Add(-time.Hour), time.Unix(1<<32-1, 0), time.Unix(1<<31, 0), time.Now().Truncate(time.Minute)} {
		s.Files.Now(date)
		want = append(want, invoice(i))
		s.Files.Put(fmt.Sprintf("in/%d.edi", i), invoice(i))
		taken(t, hub, "acme", slices.Clone(want)...)
	}
}

// F18: a date that moves at every look never was quiet; but the file is not lost either once it stops.
func TestF18RestlessDates(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	at := uint32(1_700_000_000)
	restless := sftptest.Attribute(func(name string, a *sftptest.Attributes) {
		if strings.HasSuffix(name, ".edi") {
			at--
			a.Modified = at
		}
	}, sftptest.Readdir)
	s := startScripted(t, sftptest.Script{Twists: []sftptest.Twist{restless}})
	s.Files.Put("in/one.edi", invoice(1))
	agree(t, hub, "acme", scripted(t, s))
	polls(t, hub, "acme", 4)
	s.Change(func(script *sftptest.Script) { script.Twists = nil })
	taken(t, hub, "acme", invoice(1))
}

// F20: a period of zero is the default, not "at once" and not "never"; a negative one is refused.
func TestF20ZeroPeriods(t *testing.T) {
	t.Parallel()
	parse := func(quiet string) ([]partners.Agreement, error) {
		text := fmt.Sprintf(`partners:
  - name: acme
    sftp:
      host: sftp.example.com
      user: hub
      host_keys: ["%s"]
      auth: {password_file: /run/secrets/acme}
      folders: {in: in, archive: archive}
      ready: {quiet: %[2]s, grace: %[2]s}
      interval: %[2]s
      timeouts: {connect: %[2]s, request: %[2]s, list: %[2]s, file: %[2]s}
    sink: dir:/var/spool/acme
`, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(sftptest.NewKey(t, ssh.KeyAlgoED25519, "host").PublicKey()))), quiet)
		found, _, err := partners.ParseFile(t.TempDir(), []byte(text))
		return found, err
	}
	found, err := parse("0s")
	if err != nil {
		t.Fatal(err)
	}
	got := found[0].SFTP
	if got.Ready.Quiet != partners.DefaultQuiet || got.Ready.Grace != partners.DefaultGrace || got.Interval != partners.DefaultInterval ||
		got.Timeouts != partners.DefaultTimeouts {
		t.Errorf("zero means %+v, every %s, %+v", got.Ready, got.Interval, got.Timeouts)
	}
	if _, err := parse("-1s"); err == nil {
		t.Error("a negative period was taken")
	}
}

// F24: a file that somebody else takes away between listing and opening is no fault.
func TestF24VanishedFiles(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{})
	s.Change(func(script *sftptest.Script) {
		script.Twists = []sftptest.Twist{func(r *sftptest.Request, next func() sftptest.Reply) sftptest.Reply {
			if strings.HasSuffix(r.Path, "gone.edi") {
				s.Files.Remove("in/gone.edi")
			}
			return next()
		}, sftptest.Lists("never.edi")}
	})
	s.Files.Put("in/gone.edi", invoice(1))
	for i := range 5 {
		s.Files.Put(fmt.Sprintf("in/%d.edi", i), invoice(10+i))
	}
	agree(t, hub, "acme", scripted(t, s))
	taken(t, hub, "acme", invoice(10), invoice(11), invoice(12), invoice(13), invoice(14))
	polls(t, hub, "acme", 3)
	if n := hub.Count(`SELECT max(failures) FROM sftp_poll`); n != 0 {
		t.Errorf("%d polls in a row have failed", n)
	}
}

// F26, F27: servers that bear one open file a session.
func TestF26Handles(t *testing.T) {
	t.Parallel()
	for name, twist := range map[string]sftptest.Twist{"four handles": sftptest.MaxHandles(4), "one handle": sftptest.MaxHandles(1),
		"one transfer": sftptest.OneTransfer()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := startHub(t)
			s := startScripted(t, sftptest.Script{Twists: []sftptest.Twist{twist}})
			var want []string
			for i := range 40 {
				want = append(want, big(fmt.Sprintf("R%d", i), 50_000))
				s.Files.Put(fmt.Sprintf("in/%d.edi", i), want[i])
			}
			agree(t, hub, "acme", scripted(t, s).with(func(terms *partners.SFTP) {
				if name != "four handles" { // a server that says so gets fewer by itself
					terms.Quirks = []partners.Quirk{partners.QuirkOneHandle}
				}
			}))
			taken(t, hub, "acme", want...)
			as2test.Eventually(t, "all to be archived", func() bool { return len(s.Files.Names("archive")) == len(want) })
		})
	}
}

// F28: a file that its writer holds open is refused, until it is not.
func TestF28DeniedWhileItIsWritten(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{Twists: []sftptest.Twist{
		sftptest.Times(3, sftptest.Denies(sftptest.Open), sftptest.Open)}})
	s.Files.Put("in/one.edi", invoice(1))
	agree(t, hub, "acme", scripted(t, s))
	taken(t, hub, "acme", invoice(1))
}

// F35: attributes that are missing in listings, or everywhere; and a folder that says it is a file.
func TestF35MissingAttributes(t *testing.T) {
	t.Parallel()
	bare := func(mask uint32, kinds ...sftptest.Kind) sftptest.Twist {
		return sftptest.Attribute(func(_ string, a *sftptest.Attributes) { a.Has &= mask }, kinds...)
	}
	for name, twist := range map[string]sftptest.Twist{
		"none in listings":        bare(0, sftptest.Readdir),
		"no size in listings":     bare(^uint32(sftptest.HasSize), sftptest.Readdir),
		"no permissions anywhere": bare(^uint32(sftptest.HasPermissions), sftptest.Readdir, sftptest.Stat, sftptest.Lstat, sftptest.Fstat),
		"no times anywhere":       bare(^uint32(sftptest.HasTimes), sftptest.Readdir, sftptest.Stat, sftptest.Lstat, sftptest.Fstat),
		"permissions without the type": sftptest.Attribute(func(_ string, a *sftptest.Attributes) { a.Permissions &= 0o777 },
			sftptest.Readdir, sftptest.Stat),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := startHub(t)
			s := startScripted(t, sftptest.Script{Twists: []sftptest.Twist{twist}})
			s.Files.Mkdir("in/folder.edi")
			s.Files.Put("in/one.edi", invoice(1))
			s.Files.Put("in/two.edi", invoice(2))
			agree(t, hub, "acme", scripted(t, s))
			taken(t, hub, "acme", invoice(1), invoice(2))
			as2test.Eventually(t, "both to be archived", func() bool { return len(s.Files.Names("archive")) == 2 })
		})
	}
}

// F36: names are octets: taken and moved as they are.
func TestF36OddNames(t *testing.T) {
	t.Parallel()
	names := []string{"gr\xfc\xdfe.edi", "two\nlines.edi", "tab\there.edi", " blank .edi", "'; DROP TABLE delivery; --.edi", "$(reboot).edi",
		strings.Repeat("n", 251) + ".edi", "\xff\xfe.edi", "-rf.edi", "*.edi", "back\\slash.edi", "日本語.edi", "\x1b[2J.edi", "%2e%2e%2f.edi"}
	t.Run("scripted", func(t *testing.T) {
		t.Parallel()
		hub := startHub(t)
		s := startScripted(t, sftptest.Script{})
		var want []string
		for i, name := range names {
			want = append(want, invoice(i))
			s.Files.Put("in/"+name, invoice(i))
		}
		agree(t, hub, "acme", scripted(t, s))
		taken(t, hub, "acme", want...)
		as2test.Eventually(t, "all to be archived", func() bool { return len(s.Files.Names("archive")) == len(names) })
		if len(s.Files.Names("in")) != 0 {
			t.Errorf("in holds %q", s.Files.Names("in"))
		}
	})
	t.Run("OpenSSH", func(t *testing.T) {
		t.Parallel()
		hub := startHub(t)
		s := startReal(t, sftptest.Options{})
		var want []string
		for i, name := range names {
			want = append(want, invoice(i))
			s.Put("in/"+name, invoice(i))
		}
		agree(t, hub, "acme", openssh(s).with(func(terms *partners.SFTP) { terms.After = partners.AfterDelete }))
		taken(t, hub, "acme", want...)
		as2test.Eventually(t, "all to be deleted", func() bool { return len(s.Names("in")) == 0 })
	})
}

// F37: names that lead elsewhere are refused, and cost the others nothing.
func TestF37NamesThatLeadElsewhere(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{Twists: []sftptest.Twist{
		sftptest.Lists("../secret.edi", "sub/../../secret.edi", "/secret.edi", "..", "", "nul\x00.edi", "a/b.edi", "../../../../etc/passwd", "x/..")}})
	s.Files.Put("secret.edi", invoice(666))
	s.Files.Put("in/a/b.edi", invoice(667))
	s.Files.Put("in/one.edi", invoice(1))
	agree(t, hub, "acme", scripted(t, s))
	taken(t, hub, "acme", invoice(1))
	polls(t, hub, "acme", 4)
	taken(t, hub, "acme", invoice(1))
	if _, there := s.Files.Read("secret.edi"); !there {
		t.Error("a file outside the folder was moved")
	}
}

// F38: links are passed over: broken ones, loops, and those that lead out.
func TestF38Links(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{})
	s.Files.Put("secret.edi", invoice(666))
	s.Files.Link("in/out.edi", "../secret.edi")
	s.Files.Link("in/broken.edi", "nowhere")
	s.Files.Link("in/loop.edi", "loop.edi")
	s.Files.Link("in/up", "..")
	s.Files.Put("in/one.edi", invoice(1))
	agree(t, hub, "acme", scripted(t, s))
	taken(t, hub, "acme", invoice(1))
	polls(t, hub, "acme", 4)
	taken(t, hub, "acme", invoice(1))
}

// F39: files without content, by each policy.
func TestF39EmptyFiles(t *testing.T) {
	t.Parallel()
	for _, policy := range []partners.Empty{partners.EmptyWait, partners.EmptyIgnore, partners.EmptyDelete} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			hub := startHub(t)
			s := startReal(t, sftptest.Options{})
			agree(t, hub, "acme", openssh(s).with(func(terms *partners.SFTP) {
				terms.Empty, terms.Ready.Grace = policy, partners.Period(500*time.Millisecond)
			}))
			s.Put("in/empty.edi", "")
			s.Put("in/one.edi", invoice(1))
			taken(t, hub, "acme", invoice(1))
			as2test.Eventually(t, "the policy to be followed", func() bool {
				in, failed := len(s.Names("in")), len(s.Names("error"))
				switch policy {
				case partners.EmptyWait:
					return in == 0 && failed == 1
				case partners.EmptyDelete:
					return in == 0 && failed == 0
				}
				return in == 1 && failed == 0
			})
			polls(t, hub, "acme", 2)
			taken(t, hub, "acme", invoice(1))
		})
	}
}

// A listing that never ends is given up, and one that is too long is not read; both alone.
func TestF04EndlessListing(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	w := newWitness(t, hub)
	s := startScripted(t, sftptest.Script{Twists: []sftptest.Twist{sftptest.ListsForEver()}})
	s.Files.Put("in/one.edi", invoice(1))
	agree(t, hub, "acme", scripted(t, s).with(func(terms *partners.SFTP) { terms.MaxEntries = 50_000 }))
	as2test.Eventually(t, "the failure to be seen", func() bool { return hub.Count(`SELECT coalesce(max(failures), 0) FROM sftp_poll`) >= 1 })
	w.works()
	s.Change(func(script *sftptest.Script) { script.Twists = nil })
	taken(t, hub, "acme", invoice(1))
}

// Temporary names, hidden files and folders are left where they are; patterns choose among the others; done files say when.
func TestSelection(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startReal(t, sftptest.Options{})
	left := []string{".hidden.edi", "one.edi.tmp", "two.edi.part", "three.edi.filepart", "four.TMP", "five.edi~", "report.pdf",
		"old-six.edi", "waiting.edi"}
	for i, name := range left {
		s.Put("in/"+name, invoice(100+i))
	}
	s.Mkdir("in/sub.edi")
	s.Put("in/one.edi", invoice(1))
	s.Put("in/one.edi.done", "")
	s.Put("in/Two.EDI", invoice(2))
	s.Put("in/Two.EDI.done", "")
	agree(t, hub, "acme", openssh(s).with(func(terms *partners.SFTP) {
		terms.Select = partners.Select{Include: []string{"*.edi"}, Exclude: []string{"old-*"}}
		terms.Ready.Done = "{name}.done"
	}))
	taken(t, hub, "acme", invoice(1), invoice(2))
	polls(t, hub, "acme", 3)
	for _, name := range left {
		if _, there := s.Read("in/" + name); !there {
			t.Errorf("%s is gone", name)
		}
	}
	s.Put("in/waiting.edi.done", "")
	taken(t, hub, "acme", invoice(1), invoice(2), invoice(108))
}
