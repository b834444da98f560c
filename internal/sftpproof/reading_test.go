package sftpproof_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"firstcopy/internal/as2test"
	"firstcopy/internal/sftptest"
	"firstcopy/partners"
)

// big is an invoice of about so many octets, no two parts of it alike.
func big(reference string, octets int) string {
	var lines strings.Builder
	n := 0
	for ; lines.Len() < octets; n++ {
		fmt.Fprintf(&lines, "FTX+AAI+++line %d of those that nobody reads'\r\n", n)
	}
	text := strings.Replace(as2test.Invoice(reference, "100.00"), "LIN+1", lines.String()+"LIN+1", 1)
	return strings.Replace(text, "UNT+8+", fmt.Sprintf("UNT+%d+", 8+n), 1)
}

// F1: the file is still being written, slowly, between polls; and while it is read.
func TestF01HalfAFileIsNotTaken(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startReal(t, sftptest.Options{})
	agree(t, hub, "acme", openssh(s))
	whole := big("R1", 20_000)
	for rest := whole; rest != ""; {
		part := rest[:min(5_000, len(rest))]
		rest = rest[len(part):]
		s.Append("in/slow.edi", part)
		if rest != "" {
			polls(t, hub, "acme", 4)
		}
	}
	taken(t, hub, "acme", whole)
}

func TestF01GrowingWhileItIsRead(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{})
	whole, more := as2test.Orders("A1"), as2test.Orders("A2")
	var grown atomic.Bool
	s.Change(func(script *sftptest.Script) {
		script.Twists = []sftptest.Twist{func(r *sftptest.Request, next func() sftptest.Reply) sftptest.Reply {
			reply := next()
			if r.Kind == sftptest.Read && !grown.Swap(true) {
				s.Files.Append("in/orders.edi", more)
			}
			return reply
		}}
	})
	s.Files.Put("in/orders.edi", whole)
	agree(t, hub, "acme", scripted(t, s))
	// The two interchanges of the file as it is in the end, each by itself.
	taken(t, hub, "acme", as2test.Orders("A1"), as2test.Orders("A2"))
	if n := hub.Count(`SELECT count(*) FROM delivery`); n != 1 {
		t.Errorf("%d deliveries: half a file was taken, too", n)
	}
}

// F2: fewer octets than asked for are no end of the file.
func TestF02ShortReads(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 1000, 16384, 32767} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			hub := startHub(t)
			s := startScripted(t, sftptest.Script{Twists: []sftptest.Twist{sftptest.ShortReads(n)}})
			content := big("R1", min(n*40, 3_000_000))
			s.Files.Put("in/one.edi", content)
			agree(t, hub, "acme", scripted(t, s))
			taken(t, hub, "acme", content)
		})
	}
}

// F2: a status that says success in place of octets is no end of the file either.
func TestF02SuccessWithoutOctets(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	second := func(r *sftptest.Request, next func() sftptest.Reply) sftptest.Reply {
		if r.Kind == sftptest.Read && r.Offset > 0 {
			return sftptest.Reply{Kind: sftptest.Status, ID: r.ID, Code: sftptest.OK}
		}
		return next()
	}
	s := startScripted(t, sftptest.Script{Twists: []sftptest.Twist{second}})
	s.Files.Put("in/one.edi", big("R1", 100_000))
	agree(t, hub, "acme", scripted(t, s))
	w := newWitness(t, hub)
	polls(t, hub, "acme", 2)
	w.works()
	if n := hub.Count(`SELECT count(*) FROM delivery JOIN partner USING (partner_id) WHERE name = 'acme'`); n != 0 {
		t.Errorf("%d deliveries of a file that cannot be read", n)
	}
	s.Change(func(script *sftptest.Script) { script.Twists = nil })
	taken(t, hub, "acme", big("R1", 100_000))
}

// F3: malformed replies of every kind to every request cost nobody but the partner itself, and nobody for longer than
// they last.
func TestF03MalformedReplies(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	w := newWitness(t, hub)
	twists := map[string]sftptest.Twist{
		"more octets than asked for": sftptest.LongReads(10),
		"a packet of 4 GiB":          sftptest.Oversized(0xffffffff, sftptest.Read),
		"a packet of 200 MiB":        sftptest.Oversized(200<<20, sftptest.Readdir),
		"an empty packet":            sftptest.Forged([]byte{0, 0, 0, 0}, sftptest.Readdir),
		"a packet of one octet":      sftptest.Forged([]byte{0, 0, 0, 1, 101}, sftptest.Open),
		"no request's id":            sftptest.WrongID(sftptest.Readdir),
		"a length beyond the packet": sftptest.Forged([]byte{0, 0, 0, 9, 103, 0, 0, 0, 9, 0xff, 0xff, 0xff, 0xff}, sftptest.Read),
		"names beyond the packet":    sftptest.Forged([]byte{0, 0, 0, 9, 104, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff}, sftptest.Readdir),
	}
	for kind, name := range map[sftptest.Kind]string{sftptest.Init: "version", sftptest.Opendir: "opendir", sftptest.Readdir: "readdir",
		sftptest.Open: "open", sftptest.Read: "read", sftptest.Lstat: "lstat", sftptest.Close: "close", sftptest.Rename: "rename"} {
		for _, n := range []int{1, 3, 6} {
			twists[fmt.Sprintf("%s without its last %d octets", name, n)] = sftptest.Truncated(n, kind)
		}
		twists["a handle in answer to "+name] = instead(kind, sftptest.Reply{Kind: sftptest.Handle, Handle: "h"})
		twists["data in answer to "+name] = instead(kind, sftptest.Reply{Kind: sftptest.Data, Data: []byte("d")})
		twists["names in answer to "+name] = instead(kind, sftptest.Reply{Kind: sftptest.Name})
		twists["attributes in answer to "+name] = instead(kind, sftptest.Reply{Kind: sftptest.Attrs})
		twists["success in answer to "+name] = instead(kind, sftptest.Reply{Kind: sftptest.Status})
		twists["the end in answer to "+name] = instead(kind, sftptest.Reply{Kind: sftptest.Status, Code: sftptest.EOF})
		twists["a type that does not exist in answer to "+name] = instead(kind, sftptest.Reply{Kind: 77})
	}
	var trials []trial
	for name, twist := range twists {
		s := startScripted(t, sftptest.Script{NoExtensions: true, Twists: []sftptest.Twist{twist}})
		trials = append(trials, trial{fmt.Sprintf("p%d", len(trials)), name, big(fmt.Sprintf("R%05d", len(trials)), 40_000), s})
		trials[len(trials)-1].begin(t, hub)
	}
	as2test.Eventually(t, "all to have been polled", func() bool {
		return hub.Count(`SELECT count(*) FROM sftp_poll WHERE last_poll_at IS NULL`) == 0
	})
	w.works()
	end(t, hub, trials)
	w.works()
}

// instead answers something that is no answer to the question.
func instead(kind sftptest.Kind, reply sftptest.Reply) sftptest.Twist {
	return func(r *sftptest.Request, next func() sftptest.Reply) sftptest.Reply {
		if r.Kind != kind {
			return next()
		}
		other := reply
		other.ID = r.ID
		return other
	}
}

// F6: an upload that was broken off, and closed in good order, is stable, and half. It waits, goes to the error folder, and
// the whole file is taken when it comes.
func TestF06AbortedUpload(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startReal(t, sftptest.Options{})
	agree(t, hub, "acme", openssh(s).with(func(terms *partners.SFTP) { terms.Ready.Grace = partners.Period(time.Second) }))
	whole := big("R1", 30_000)
	s.Put("in/one.edi", whole[:20_000])
	as2test.Eventually(t, "the half file to be put aside", func() bool { return len(s.Names("error")) == 1 })
	if n := hub.Count(`SELECT count(*) FROM document`); n != 0 {
		t.Fatalf("%d documents of half a file", n)
	}
	s.Put("in/one.edi", whole)
	taken(t, hub, "acme", whole)
	as2test.Eventually(t, "the whole file to be archived", func() bool { return len(s.Names("archive")) == 1 })
}

// F6: without an error folder a half file lies where it is; it goes there once one is agreed on.
func TestF06ErrorFolderAgreedLater(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{})
	at := scripted(t, s)
	terms := func(folder string) server {
		return at.with(func(terms *partners.SFTP) {
			terms.Ready.Grace, terms.Folders.Error = partners.Period(500*time.Millisecond), folder
		})
	}
	s.Files.Put("in/half.edi", invoice(1)[:100])
	agree(t, hub, "acme", terms(""))
	as2test.Eventually(t, "the half file to be refused", func() bool { return hub.Count(`SELECT count(*) FROM sftp_file WHERE state = 'refused'`) == 1 })
	polls(t, hub, "acme", 3)
	if _, there := s.Files.Read("in/half.edi"); !there {
		t.Fatal("it is gone, and nobody had said where to")
	}
	agree(t, hub, "acme", terms("error"))
	as2test.Eventually(t, "the half file to be put aside", func() bool { _, there := s.Files.Read("error/half.edi"); return there })
	as2test.Eventually(t, "its row to go", func() bool { return hub.Count(`SELECT count(*) FROM sftp_file`) == 0 })
}

// F6: what is complete at first sight but has lost its end, or its middle.
func TestF06IncompleteEnvelopes(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{})
	agree(t, hub, "acme", scripted(t, s))
	x12, two := as2test.PurchaseOrder(7, 5), as2test.Orders("A1", "A2")
	for i, half := range []string{
		invoice(1)[:len(invoice(1))-5],                                    // within UNZ
		strings.TrimSuffix(invoice(2), "UNZ+1+R000002'\r\n"),              // before it
		strings.Replace(invoice(3), "UNT+8+1'\r\n", "", 1),                // a hole
		x12[:strings.Index(x12, "IEA")],                                   // without IEA
		two[:len(two)-30],                                                 // the second of two
		strings.Replace(invoice(4), "RE-R000004", "RE-\x00\x00", 1)[:150], // and zeros
	} {
		s.Files.Put(fmt.Sprintf("in/half%d.edi", i), half)
	}
	s.Files.Put("in/whole.edi", invoice(9))
	taken(t, hub, "acme", invoice(9))
	polls(t, hub, "acme", 3)
	if n := hub.Count(`SELECT count(*) FROM document`); n != 1 {
		t.Errorf("%d documents, want the one of the whole file", n)
	}
	if got := s.Files.Names("in"); len(got) != 6 {
		t.Errorf("in holds %q", got)
	}
}

// F21: new content under an old name is a new file; the same file again is none.
func TestF21OldNames(t *testing.T) {
	t.Parallel()
	for _, after := range []partners.After{partners.AfterArchive, partners.AfterDelete, partners.AfterKeep} {
		t.Run(string(after), func(t *testing.T) {
			t.Parallel()
			hub := startHub(t)
			s := startReal(t, sftptest.Options{})
			agree(t, hub, "acme", openssh(s).with(func(terms *partners.SFTP) { terms.After = after }))
			s.Put("in/daily.edi", invoice(1))
			taken(t, hub, "acme", invoice(1))
			s.Put("in/daily.edi", invoice(2))
			taken(t, hub, "acme", invoice(1), invoice(2))
			s.Put("in/daily.edi", invoice(1))
			s.Put("in/other.edi", invoice(2))
			as2test.Eventually(t, "the repeats to be recorded", func() bool {
				return hub.Count(`SELECT count(*) FROM ledger_event WHERE kind IN ('repeat', 'duplicate', 'late_duplicate')`) >= 2
			})
			taken(t, hub, "acme", invoice(1), invoice(2))
		})
	}
}

// F22: a rewrite within the same second, of the same size, in a folder that is kept: the date does not tell.
func TestF22RewriteWithinASecond(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{})
	s.Files.Now(time.Now())
	agree(t, hub, "acme", scripted(t, s).with(func(terms *partners.SFTP) { terms.After = partners.AfterKeep }))
	s.Files.Put("in/one.edi", invoice(1))
	as2test.Eventually(t, "the file to be seen twice", func() bool { return s.Counts().Requests[sftptest.Opendir] >= 2 })
	s.Files.Put("in/one.edi", invoice(2)) // with the date of the first
	taken(t, hub, "acme", invoice(2))
	polls(t, hub, "acme", 3)
	taken(t, hub, "acme", invoice(2))
}

// F25: a server that gives a file out once, and to whom any look at it after it was opened is the second time.
func TestF25ReadOnce(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	s := startScripted(t, sftptest.Script{Twists: []sftptest.Twist{sftptest.ReadOnce()}})
	agree(t, hub, "acme", scripted(t, s).with(func(terms *partners.SFTP) {
		terms.Quirks, terms.After = []partners.Quirk{partners.QuirkNoStatAfterOpen}, partners.AfterDelete
	}))
	var want []string
	for i := range 20 {
		want = append(want, big(fmt.Sprintf("R%d", i), 100_000))
		s.Files.Put(fmt.Sprintf("in/%d.edi", i), want[i])
	}
	taken(t, hub, "acme", want...)
	if n := s.Counts().Requests[sftptest.Open]; n != len(want) {
		t.Errorf("%d files were opened %d times", len(want), n)
	}
}

// F51: no packet is larger than any server takes.
func TestF51Packets(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	var most atomic.Uint32
	s := startScripted(t, sftptest.Script{Twists: []sftptest.Twist{func(r *sftptest.Request, next func() sftptest.Reply) sftptest.Reply {
		if r.Kind == sftptest.Read && r.Length > most.Load() {
			most.Store(r.Length)
		}
		return next()
	}}})
	s.Files.Put("in/one.edi", big("R1", 2_000_000))
	agree(t, hub, "acme", scripted(t, s))
	taken(t, hub, "acme", big("R1", 2_000_000))
	if n := most.Load(); n == 0 || n > 32<<10 {
		t.Errorf("%d octets are asked for at once", n)
	}
}
