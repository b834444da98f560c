package gateway_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"firstcopy/gateway"
	"firstcopy/internal/as2test"
	"firstcopy/internal/sftptest"
	"firstcopy/partners"
	"firstcopy/sftpwatch"
)

// quick makes a hub that looks for polls often.
func quick(c *gateway.Config) { c.SFTP = sftpwatch.Config{Look: 20 * time.Millisecond} }

// drops starts a real server with the folders of an agreement.
func drops(tb testing.TB, o sftptest.Options) *sftptest.OpenSSH {
	tb.Helper()
	server := sftptest.StartOpenSSH(tb, o)
	server.Mkdir("in", "archive", "error", "acks")
	return server
}

// dropsAt is an agreement with a partner whose files are fetched from a real server.
func dropsAt(tb testing.TB, hub *as2test.Hub, name string, server *sftptest.OpenSSH, change func(*partners.Agreement)) {
	tb.Helper()
	agreeSFTP(tb, hub, name, func(a *partners.Agreement) {
		a.SFTP = terms(tb, server.Address, server.User, server.KeyFile, server.HostKeys...)
		a.SFTP.Folders = partners.Folders{In: server.Path("in"), Archive: server.Path("archive"), Error: server.Path("error"), Acknowledgement: server.Path("acks")}
		if change != nil {
			change(a)
		}
	})
}

func agreeSFTP(tb testing.TB, hub *as2test.Hub, name string, change func(*partners.Agreement)) {
	tb.Helper()
	inbox := filepath.Join(hub.Inbox, name)
	if err := os.MkdirAll(inbox, 0o755); err != nil {
		tb.Fatal(err)
	}
	a := partners.Agreement{Tenant: partners.DefaultTenant, Name: name, Sink: "dir:" + inbox, Drift: partners.DriftHold,
		OnDuplicate: partners.AnswerProcessed, Windows: partners.Windows{Default: partners.DefaultWindow},
		Limits: partners.Limits{Payload: 64 << 20, Concurrent: 8}}
	change(&a)
	hub.Apply(a)
}

func terms(tb testing.TB, address, user, keyFile string, pins ...ssh.PublicKey) *partners.SFTP {
	tb.Helper()
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		tb.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatal(err)
	}
	s := &partners.SFTP{Hop: partners.Hop{Host: host, Port: port, User: user, Auth: partners.Auth{Keys: []partners.AuthKey{{File: keyFile}}}},
		Interval: partners.Period(100 * time.Millisecond), Ready: partners.Ready{Quiet: partners.Period(time.Millisecond), Grace: partners.DefaultGrace},
		After: partners.AfterArchive, Empty: partners.EmptyWait, MaxFiles: 10000, MaxEntries: 200000, Timeouts: partners.DefaultTimeouts}
	for _, k := range pins {
		s.HostKeys = append(s.HostKeys, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k))))
	}
	return s
}

func order(reference string) string {
	return fmt.Sprintf("UNB+UNOC:3+4012345000009:14+5412345000013:14+261201:1015+%[1]s'UNH+1+ORDERS:D:96A:UN:EAN008'BGM+220+PO-%[1]s+9'"+
		"DTM+137:20261201:102'UNS+S'UNT+5+1'UNZ+1+%[1]s'", reference)
}

// eventually waits for what a poll does.
func eventually(tb testing.TB, what string, met func() bool) {
	tb.Helper()
	deadline := time.After(30 * time.Second)
	for !met() {
		select {
		case <-deadline:
			tb.Fatalf("waited in vain: %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func forwarded(tb testing.TB, hub *as2test.Hub, name string) (n int) {
	tb.Helper()
	entries, err := os.ReadDir(filepath.Join(hub.Inbox, name))
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
			n++
		}
	}
	return n
}

// A file is taken once, forwarded, and archived; the same interchange again is archived and not forwarded.
func TestSFTPFirstCopyAndDuplicate(t *testing.T) {
	t.Parallel()
	server := drops(t, sftptest.Options{})
	hub := as2test.Start(t, as2test.Options{Config: quick})
	dropsAt(t, hub, "acme", server, nil)
	server.Put("in/orders.edi", order("1001"))
	eventually(t, "the file is archived", func() bool { return len(server.Names("archive")) == 1 })
	eventually(t, "the order is forwarded", func() bool { return forwarded(t, hub, "acme") == 1 })
	server.Put("in/again.edi", order("1001"))
	server.Put("in/orders.edi", order("1001"))
	eventually(t, "the repeats are archived", func() bool { return len(server.Names("archive")) == 3 })
	server.Put("in/other.edi", order("1002"))
	eventually(t, "another order is forwarded", func() bool { return forwarded(t, hub, "acme") == 2 })
	eventually(t, "nothing is left over", func() bool {
		var rows, jobs int
		if err := hub.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM sftp_file), (SELECT count(*) FROM river_job
			WHERE kind = 'sftp_settle' AND state NOT IN ('completed', 'cancelled', 'discarded'))`).Scan(&rows, &jobs); err != nil {
			t.Fatal(err)
		}
		return rows == 0 && jobs == 0
	})
}

// A file that is cut waits, is shown, and is taken when the rest has come; after its grace period it goes to the error folder.
func TestSFTPIncomplete(t *testing.T) {
	t.Parallel()
	server := drops(t, sftptest.Options{})
	hub := as2test.Start(t, as2test.Options{Config: quick})
	dropsAt(t, hub, "acme", server, nil)
	whole := order("2001")
	server.Append("in/half.edi", whole[:60])
	incomplete := func(n int) func() bool {
		return func() bool {
			all, err := sftpwatch.Statuses(t.Context(), hub.Pool)
			if err != nil {
				t.Fatal(err)
			}
			return len(all) == 1 && all[0].Incomplete == n && (n == 0 || all[0].Waiting == n && !all[0].Oldest.IsZero())
		}
	}
	eventually(t, "the half file is shown", incomplete(1))
	server.Append("in/half.edi", whole[60:])
	eventually(t, "the whole file is forwarded", func() bool { return forwarded(t, hub, "acme") == 1 })
	eventually(t, "nothing is incomplete", incomplete(0))

	dropsAt(t, hub, "acme", server, func(a *partners.Agreement) { a.SFTP.Ready.Grace = partners.Period(time.Second) })
	server.Append("in/never.edi", whole[:100])
	eventually(t, "the refused file lies in the error folder", func() bool { return len(server.Names("error")) == 1 })
	if got := len(hub.Logs.Lines("file refused")); got != 1 {
		t.Errorf("refused %d times", got)
	}
	server.Put("in/never.edi", order("2002"))
	eventually(t, "a later full copy is taken", func() bool { return forwarded(t, hub, "acme") == 2 })
}

// Where nothing may be moved, a file is forwarded once all the same, an alarm is raised, and nothing spins.
func TestSFTPDeniedForEver(t *testing.T) {
	t.Parallel()
	server := drops(t, sftptest.Options{SFTP: "-P remove,rename,posix-rename"})
	hub := as2test.Start(t, as2test.Options{Config: quick})
	dropsAt(t, hub, "acme", server, func(a *partners.Agreement) { a.SFTP.After = partners.AfterDelete })
	server.Put("in/orders.edi", order("3001"))
	eventually(t, "the file is shown as due", func() bool {
		files, err := sftpwatch.Files(t.Context(), hub.Pool, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(files) == 1 && files[0].State == "taken" && files[0].Attempts == 1
	})
	polls := func() (n int64) {
		if err := hub.Pool.QueryRow(t.Context(), `SELECT fence FROM sftp_poll`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := polls()
	eventually(t, "five more polls", func() bool { return polls() >= before+5 })
	if n := forwarded(t, hub, "acme"); n > 1 {
		t.Errorf("forwarded %d times", n)
	}
	if n := len(hub.Logs.Lines("file taken")); n != 1 {
		t.Errorf("taken %d times", n)
	}
}

// Names are octets: they are taken and moved as they are.
func TestSFTPNames(t *testing.T) {
	t.Parallel()
	server := drops(t, sftptest.Options{})
	hub := as2test.Start(t, as2test.Options{Config: quick})
	dropsAt(t, hub, "acme", server, nil)
	names := []string{"L\xe4tin.edi", "new\nline.edi", strings.Repeat("n", 251) + ".edi", "-rf", "a;b'c\"d$(e).edi", "\xff\xfe"}
	for i, name := range names {
		server.Put("in/"+name, order(strconv.Itoa(4000+i)))
	}
	eventually(t, "all are archived", func() bool { return len(server.Names("archive")) == len(names) })
	for _, name := range names {
		if _, ok := server.Read("archive/" + name); !ok {
			t.Errorf("%q is not archived under its name", name)
		}
	}
	eventually(t, "all are forwarded", func() bool { return forwarded(t, hub, "acme") == len(names) })
}

// A file that is kept is taken once, however often it is listed; written anew under its name, it is taken again. A done file
// says at once that a file is whole, and goes with it.
func TestSFTPAfterwards(t *testing.T) {
	t.Parallel()
	t.Run("keep", func(t *testing.T) {
		t.Parallel()
		server := drops(t, sftptest.Options{})
		hub := as2test.Start(t, as2test.Options{Config: quick})
		dropsAt(t, hub, "acme", server, func(a *partners.Agreement) { a.SFTP.After = partners.AfterKeep })
		server.Put("in/a.edi", order("5001"))
		taken := func(n int) func() bool {
			return func() bool { return len(hub.Logs.Lines("file taken")) == n }
		}
		eventually(t, "the file is taken", taken(1))
		server.Put("in/b.edi", order("5002"))
		eventually(t, "the other file is taken", taken(2))
		server.Put("in/a.edi", order("5001")+"\n")
		eventually(t, "the file written anew is taken", taken(3))
		eventually(t, "two orders are forwarded", func() bool { return forwarded(t, hub, "acme") == 2 })
		if names := server.Names("in"); len(names) != 2 {
			t.Errorf("the folder has %q", names)
		}
	})
	t.Run("delete, by done file", func(t *testing.T) {
		t.Parallel()
		server := drops(t, sftptest.Options{})
		hub := as2test.Start(t, as2test.Options{Config: quick})
		dropsAt(t, hub, "acme", server, func(a *partners.Agreement) {
			a.SFTP.After, a.SFTP.Ready = partners.AfterDelete, partners.Ready{Quiet: partners.Period(time.Hour), Done: "{stem}.done", Grace: partners.DefaultGrace}
		})
		server.Put("in/a.edi", order("6001"))
		server.Put("in/b.edi", order("6002"))
		server.Put("in/a.done", "")
		eventually(t, "a.edi and its done file are deleted", func() bool { return strings.Join(server.Names("in"), " ") == "b.edi" })
		eventually(t, "its order is forwarded", func() bool { return forwarded(t, hub, "acme") == 1 })
	})
}

// A file that is expected and does not come raises one alarm a day, over all nodes.
func TestSFTPExpectedFile(t *testing.T) {
	t.Parallel()
	server := drops(t, sftptest.Options{})
	first := as2test.Start(t, as2test.Options{Config: quick})
	dropsAt(t, first, "acme", server, func(a *partners.Agreement) { a.SFTP.Expect = partners.Expect{By: "00:00"} })
	// An agreement made after the hour expects nothing that day.
	if _, err := first.Pool.Exec(t.Context(), `UPDATE partner SET updated_at = now() - interval '2 days'`); err != nil {
		t.Fatal(err)
	}
	if err := first.Node.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the alarm is raised", func() bool { return len(first.Logs.Lines("expected file has not come")) == 1 })
	var fence int64
	if err := first.Pool.QueryRow(t.Context(), `SELECT fence FROM sftp_poll`).Scan(&fence); err != nil {
		t.Fatal(err)
	}
	eventually(t, "five more polls", func() bool {
		var now int64
		if err := first.Pool.QueryRow(t.Context(), `SELECT fence FROM sftp_poll`).Scan(&now); err != nil {
			t.Fatal(err)
		}
		return now >= fence+5
	})
	if n := len(first.Logs.Lines("expected file has not come")); n != 1 {
		t.Errorf("%d alarms", n)
	}
}

// A file is acknowledged by a file, exactly one whatever comes again; taken away by the partner, it is put anew for the next
// copy, octet for octet.
func TestSFTPAcknowledgement(t *testing.T) {
	t.Parallel()
	server := drops(t, sftptest.Options{})
	hub := as2test.Start(t, as2test.Options{Config: quick})
	dropsAt(t, hub, "acme", server, func(a *partners.Agreement) { a.Acknowledge = partners.Acknowledge{EDIFACT: "contrl"} })
	server.Put("in/orders.edi", order("7001"))
	sent := func(n int) func() bool {
		return func() bool { return len(hub.Logs.Lines("acknowledgement sent")) == n }
	}
	eventually(t, "the acknowledgement is put", sent(1))
	names := server.Names("acks")
	if len(names) != 1 || !strings.HasPrefix(names[0], "contrl_") {
		t.Fatalf("there are %q", names)
	}
	first, _ := server.Read("acks/" + names[0])
	if !strings.Contains(first, "UCI+7001+") {
		t.Errorf("it says %q", first)
	}
	server.Put("in/again.edi", order("7001"))
	eventually(t, "the copy is acknowledged", sent(2))
	if again := server.Names("acks"); len(again) != 1 {
		t.Errorf("there are %q", again)
	}
	if err := os.Remove(server.Path("acks/" + names[0])); err != nil {
		t.Fatal(err)
	}
	server.Put("in/once-more.edi", order("7001"))
	eventually(t, "the next copy is acknowledged", sent(3))
	if got, _ := server.Read("acks/" + names[0]); got != first {
		t.Errorf("it says %q now, and said %q", got, first)
	}
}
