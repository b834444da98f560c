package localpg_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"firstcopy/internal/localpg"
)

func TestTemporaryServerLeavesNothing(t *testing.T) {
	t.Parallel()
	s := start(t, localpg.Options{})
	conn := connect(t, s.URL("postgres"))
	if got := ask(t, conn, "SHOW password_encryption"); got != "scram-sha-256" {
		t.Errorf("password_encryption = %s", got)
	}
	if got := ask(t, conn, "SHOW unix_socket_directories"); got != "" {
		t.Errorf("the server listens on a Unix socket in %q", got)
	}
	u, err := url.Parse(s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(u.User.Username(), "a guess")
	if !refuses(t, u.String()) {
		t.Error("a wrong password was let in")
	}
	stop(t, s)
	if !refuses(t, s.URL("postgres")) {
		t.Error("the server still answers after Stop")
	}
	if exists(t, s.Home()) {
		t.Errorf("%s is still there after Stop", s.Home())
	}
	stop(t, s) // a second one does nothing
	if err := s.Restart(t.Context()); err == nil {
		t.Error("a stopped server was restarted without its data")
	}
}

func TestCrashKeepsCommitsOnly(t *testing.T) {
	t.Parallel()
	s := start(t, localpg.Options{})
	before := s.URL("postgres")
	conn := connect(t, before)
	execute(t, conn, "CREATE TABLE seen (what text)")
	execute(t, conn, "INSERT INTO seen VALUES ('committed')")
	execute(t, conn, "BEGIN")
	execute(t, conn, "INSERT INTO seen VALUES ('open')")

	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("the connection survived the crash")
	}
	if !refuses(t, before) {
		t.Error("the server answers after the crash")
	}
	if err := s.Crash(); err != nil {
		t.Errorf("crashing a crashed server: %v", err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.URL("postgres") != before {
		t.Errorf("the server moved from %s to %s", before, s.URL("postgres"))
	}
	conn = connect(t, before)
	if got := ask(t, conn, "SELECT string_agg(what, ',') FROM seen"); got != "committed" {
		t.Errorf("found %q after recovery, want the committed row alone", got)
	}
	log, err := os.ReadFile(filepath.Join(s.Home(), "postgres.log"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), "automatic recovery in progress") {
		t.Error("the log tells of no recovery: the shutdown was an orderly one")
	}
}

func TestRestartOfRunningServer(t *testing.T) {
	t.Parallel()
	s := start(t, localpg.Options{})
	conn := connect(t, s.URL("postgres"))
	started := ask(t, conn, "SELECT pg_postmaster_start_time()::text")
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn = connect(t, s.URL("postgres"))
	if again := ask(t, conn, "SELECT pg_postmaster_start_time()::text"); again == started {
		t.Error("the server was not restarted")
	}
}

func TestRestartNeedsItsPort(t *testing.T) {
	t.Parallel()
	s := start(t, localpg.Options{})
	u, err := url.Parse(s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}
	squatter, err := net.Listen("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); !errors.Is(err, localpg.ErrPortTaken) {
		t.Errorf("Restart on a taken port: %v", err)
	}
	if err := squatter.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Errorf("Restart on the port given back: %v", err)
	}
}

func TestReuseOfDataFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "by Start")
	s := start(t, localpg.Options{Dir: dir})
	dburl, err := s.EnsureDatabase(t.Context(), `odd "name"`)
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, dburl)
	execute(t, conn, "CREATE TABLE kept AS SELECT 'still here' AS what")

	if _, err := localpg.Start(t.Context(), localpg.Options{Dir: dir}); err == nil {
		t.Fatal("two servers run on the same data")
	} else if !strings.Contains(err.Error(), "postmaster.pid") {
		t.Errorf("the error does not quote the server's log: %v", err)
	}
	stop(t, s)

	s = start(t, localpg.Options{Dir: dir})
	if dburl, err = s.EnsureDatabase(t.Context(), `odd "name"`); err != nil {
		t.Fatal(err)
	}
	conn = connect(t, dburl)
	if got := ask(t, conn, "SELECT what FROM kept"); got != "still here" {
		t.Errorf("kept = %q", got)
	}
}

func TestUnfinishedClusterIsMadeAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data.new", "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := start(t, localpg.Options{Dir: dir})
	if refuses(t, s.URL("postgres")) {
		t.Error("no server beside the leftovers of an interrupted initdb")
	}
}

func TestForeignFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := localpg.Start(t.Context(), localpg.Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "thesis.txt") {
		t.Errorf("Start on a folder with other things: %v", err)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		options localpg.Options
		want    map[string]string
	}{
		"throwaway": {localpg.Options{}, map[string]string{"fsync": "off", "synchronous_commit": "on", "TimeZone": "UTC"}},
		"durable":   {localpg.Options{Fsync: true}, map[string]string{"fsync": "on", "full_page_writes": "on"}},
		"own": {
			localpg.Options{Settings: map[string]string{"max_connections": "23", "application_name": "two words"}},
			map[string]string{"max_connections": "23", "application_name": "two words"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, start(t, tc.options).URL("postgres"))
			for setting, want := range tc.want {
				if got := ask(t, conn, "SHOW "+setting); got != want {
					t.Errorf("%s = %q, want %q", setting, got, want)
				}
			}
		})
	}
}

func TestBadSettingIsExplained(t *testing.T) {
	t.Parallel()
	_, err := localpg.Start(t.Context(), localpg.Options{Settings: map[string]string{"no_such_setting": "1"}})
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("Start with a bad setting: %v", err)
	}
}

func TestStopWithoutTimeIsHard(t *testing.T) {
	t.Parallel()
	s := start(t, localpg.Options{})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(over); err == nil {
		t.Error("Stop claims an orderly shutdown in no time at all")
	}
	if !refuses(t, s.URL("postgres")) {
		t.Error("the server still answers")
	}
	if exists(t, s.Home()) {
		t.Error("the temporary data are still there")
	}
}

func TestStartGivesUpWithContext(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := localpg.Start(over, localpg.Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Start under a cancelled context: %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	s := start(t, localpg.Options{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := s.Crash(); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if err := s.Restart(t.Context()); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() { _ = s.URL("postgres") })
	}
	wg.Wait()
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if refuses(t, s.URL("postgres")) {
		t.Error("the server does not answer")
	}
}
