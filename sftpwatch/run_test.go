package sftpwatch

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/internal/pgtest"
	"firstcopy/internal/sftptest"
	"firstcopy/partners"
)

// agreed is a directory with one partner, whose server does what its script says.
func agreed(t *testing.T, server *sftptest.Scripted, quirks ...partners.Quirk) (*pgxpool.Pool, *partners.Directory, *partners.Agreement) {
	t.Helper()
	pool := pgtest.New(t)
	terms := scriptedTerms(t, server)
	terms.Interval, terms.After, terms.Empty, terms.MaxFiles = partners.Period(time.Second), partners.AfterKeep, partners.EmptyWait, 10
	terms.Folders.In, terms.Quirks = "in", quirks
	_, err := partners.NewStore(pool).Apply(t.Context(), "test", []partners.Agreement{{Tenant: partners.DefaultTenant, Name: "acme",
		Sink: "dir:" + t.TempDir(), Drift: partners.DriftHold, OnDuplicate: partners.AnswerProcessed, SFTP: terms,
		Windows: partners.Windows{Default: partners.DefaultWindow}, Limits: partners.Limits{Payload: 1 << 20, Concurrent: 8}}}, partners.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	directory := partners.NewDirectory(pool, slog.New(slog.DiscardHandler))
	if err := directory.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return pool, directory, directory.All()[0]
}

// A poll that has lost its lease and has not ended yet keeps its partner: a second one beside it would share what it has seen.
func TestNoPollBesideOneThatEnds(t *testing.T) {
	t.Parallel()
	server := sftptest.StartScripted(t, sftptest.Script{})
	server.Files.Mkdir("in")
	pool, directory, a := agreed(t, server)
	w := New(pool, directory, Config{}, "test", slog.New(slog.DiscardHandler), unheard{})
	defer w.Close()
	late := &holding{lease: lease{partner: a.ID}, stop: func(error) {}, proven: time.Now()}
	r := newRunning(w, t.Context(), nil)
	r.held[a.ID] = late
	leases := func() (n int) {
		if err := r.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.polls.Wait()
		if err := pool.QueryRow(context.Background(), `SELECT fence FROM sftp_poll WHERE partner_id = $1`, a.ID).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := leases(); n != 0 || r.held[a.ID] != late {
		t.Errorf("%d leases beside the poll that ends, which is still held: %v", n, r.held[a.ID] == late)
	}
	delete(r.held, a.ID)
	if n := leases(); n != 1 {
		t.Errorf("%d leases once it has ended", n)
	}
}

// A heartbeat that comes behind the end of a poll does not keep the lease that the poll has given back.
func TestHeartbeatRenewsNothingThatWasGivenBack(t *testing.T) {
	t.Parallel()
	server := sftptest.StartScripted(t, sftptest.Script{})
	pool, directory, a := agreed(t, server)
	w := New(pool, directory, Config{}, "test", slog.New(slog.DiscardHandler), unheard{})
	defer w.Close()
	take := func() []lease {
		leases, err := w.store.take(t.Context(), []int64{a.ID}, 1)
		if err != nil {
			t.Fatal(err)
		}
		return leases
	}
	if err := w.store.know(t.Context(), []int64{a.ID}); err != nil {
		t.Fatal(err)
	}
	for name, giveBack := range map[string]func(context.Context, lease, report) error{"released": w.store.release, "abandoned": w.store.abandon} {
		held := take()
		if standing, err := w.store.renew(t.Context(), held); err != nil || len(held) != 1 || !standing[a.ID] {
			t.Fatalf("%s: a lease that is held is not renewed: %v", name, err)
		}
		if err := giveBack(t.Context(), held[0], report{}); err != nil {
			t.Fatal(err)
		}
		if standing, err := w.store.renew(t.Context(), held); err != nil || standing[a.ID] {
			t.Errorf("%s: renewed, %v", name, err)
		}
		again := take()
		if len(again) != 1 {
			t.Fatalf("%s: nobody can poll", name)
		}
		if err := w.store.abandon(t.Context(), again[0], report{}); err != nil {
			t.Fatal(err)
		}
	}
}

// However many odd names a folder has, the log has few of them.
func TestOddNamesAreCounted(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	p := &polling{running: &running{Watcher: &Watcher{log: slog.New(slog.NewTextHandler(&log, nil))}}, partner: &partners.Agreement{Name: "acme"}}
	p.tellOdd(t.Context(), make([]refusal, 5000))
	if n := strings.Count(log.String(), "\n"); n != oddTold+1 || !strings.Contains(log.String(), "names=4990") {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
	log.Reset()
	p.tellOdd(t.Context(), make([]refusal, oddTold))
	if n := strings.Count(log.String(), "\n"); n != oddTold {
		t.Errorf("%d lines", n)
	}
}

// A file that failed under other terms is tried at once under new ones.
func TestNewTermsPardonFiles(t *testing.T) {
	t.Parallel()
	m, old := newMemory(), &partners.SFTP{}
	now := time.Now()
	seen := m.of(1, old)
	seen.see([]entry{{name: "a.edi", size: 1}}, now)
	seen.failed("a.edi", time.Minute, now)
	if again := m.of(1, &partners.SFTP{}); !(*again)["a.edi"].again.After(now) {
		t.Error("a reload of the same terms pardons")
	}
	changed := &partners.SFTP{}
	changed.Jitter++
	if again := m.of(1, changed); (*again)["a.edi"].failures != 0 || (*again)["a.edi"].again.After(now) {
		t.Error("new terms do not")
	}
}
