package partners_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"firstcopy/internal/pgtest"
	"firstcopy/partners"

	"github.com/jackc/pgx/v5/pgxpool"
)

// follower is a directory that runs for the length of a test.
type follower struct {
	*partners.Directory
	loads chan struct{} // one for each load
	log   *lockedBuffer
}

func follow(t *testing.T, pool *pgxpool.Pool, every time.Duration) *follower {
	t.Helper()
	f := &follower{loads: make(chan struct{}, 1000), log: &lockedBuffer{}}
	f.Directory = partners.NewDirectory(pool, slog.New(slog.NewJSONHandler(f.log, nil)))
	f.SetInterval(every)
	f.OnLoad(func() { f.loads <- struct{}{} })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	f.until(t, "the first load", func() bool { return true })
	return f
}

// until waits for a load after which what holds.
func (f *follower) until(t *testing.T, name string, what func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case <-f.loads:
			if what() {
				return
			}
		case <-deadline:
			t.Fatalf("%s did not happen; log:\n%s", name, f.log)
		}
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestDirectoryFollowsChanges(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := partners.NewStore(pool)
	f := follow(t, pool, time.Hour) // by notification alone
	if _, ok := f.Lookup("ACME", "HUB"); ok || len(f.All()) != 0 {
		t.Fatal("not empty")
	}
	id := apply(t, store, partners.ApplyOptions{}, agreement(t, "acme", "ACME"), agreement(t, "globex", "GLOBEX"))[0].PartnerID
	f.until(t, "creation", func() bool { _, ok := f.Lookup("ACME", "HUB"); return ok })
	if a, ok := f.ByID(id); !ok || a.Name != "acme" {
		t.Errorf("ByID: %v", a)
	}
	if all := f.All(); len(all) != 2 || all[0].Name != "acme" || all[1].Name != "globex" {
		t.Errorf("All: %v", all)
	}
	for _, wrong := range [][2]string{{"acme", "HUB"}, {"ACME", "hub"}, {"HUB", "ACME"}, {"", ""}} {
		if _, ok := f.Lookup(wrong[0], wrong[1]); ok {
			t.Errorf("Lookup%v succeeds", wrong)
		}
	}
	if _, err := store.SetWindow(t.Context(), "op", "default", "acme", "", partners.Window{Infinite: true}); err != nil {
		t.Fatal(err)
	}
	f.until(t, "the window", func() bool { a, _ := f.ByID(id); return a.Window("x12").Infinite })
	apply(t, store, partners.ApplyOptions{Prune: true}, agreement(t, "globex", "GLOBEX"))
	f.until(t, "removal", func() bool { _, ok := f.Lookup("ACME", "HUB"); return !ok })
}

func TestDirectoryReconnects(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := partners.NewStore(pool)
	f := follow(t, pool, time.Hour)
	edit(t, pool, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND query = 'LISTEN firstcopy_partner'`)
	f.until(t, "the load after reconnecting", func() bool { return true })
	if !strings.Contains(f.log.String(), "interrupted") {
		t.Errorf("the interruption was not logged:\n%s", f.log)
	}
	apply(t, store, partners.ApplyOptions{}, agreement(t, "acme", "ACME"))
	f.until(t, "creation", func() bool { _, ok := f.Lookup("ACME", "HUB"); return ok })
}

func TestDirectoryReloadsWithoutNotification(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	edit(t, pool, `ALTER TABLE partner DISABLE TRIGGER USER; ALTER TABLE partner_window DISABLE TRIGGER USER;
		ALTER TABLE partner_certificate DISABLE TRIGGER USER`)
	f := follow(t, pool, 20*time.Millisecond)
	apply(t, partners.NewStore(pool), partners.ApplyOptions{}, agreement(t, "acme", "ACME"))
	f.until(t, "creation", func() bool { _, ok := f.Lookup("ACME", "HUB"); return ok })
	if strings.Contains(f.log.String(), "interrupted") {
		t.Errorf("a pause counts as an interruption:\n%s", f.log)
	}
}

func TestDirectoryKeepsWhatItKnew(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := partners.NewStore(pool)
	apply(t, store, partners.ApplyOptions{}, agreement(t, "acme", "ACME"), agreement(t, "globex", "GLOBEX"))
	var log bytes.Buffer
	d := partners.NewDirectory(pool, slog.New(slog.NewJSONHandler(&log, nil)))
	if err := d.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	edit(t, pool, `UPDATE partner SET agreement = '{}', revision = revision + 1 WHERE name = 'acme'`)
	if err := d.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"ACME", "GLOBEX"} {
		if a, ok := d.Lookup(id, "HUB"); !ok || a.Limits.Concurrent == 0 {
			t.Errorf("%s: %v", id, a)
		}
	}
	if !strings.Contains(log.String(), "stored agreement is not usable") {
		t.Errorf("log: %s", &log)
	}
	fresh := partners.NewDirectory(pool, slog.New(slog.DiscardHandler))
	if err := fresh.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := fresh.Lookup("ACME", "HUB"); ok || len(fresh.All()) != 1 {
		t.Error("a node that never knew the partner takes the broken row")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Load(gone); err == nil {
		t.Error("Load without a database succeeds")
	}
	if len(d.All()) != 2 {
		t.Error("a failed load lost the snapshot")
	}
}
