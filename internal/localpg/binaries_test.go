package localpg_test

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"firstcopy/internal/localpg"
)

// release is a tar archive, xz-compressed as the published ones are, with shell
// scripts bin/initdb, bin/pg_ctl and bin/postgres; the last prints
// "postgres (PostgreSQL) 18.3", the others fail.
//
//go:embed testdata/release.txz
var release []byte

// repository serves release as every artefact, and counts the requests.
func repository(t *testing.T) (url string, requests *atomic.Int32) {
	t.Helper()
	var jar bytes.Buffer
	z := zip.NewWriter(&jar)
	w, err := z.Create("postgres.txz")
	if err == nil {
		_, err = w.Write(release)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if !strings.HasSuffix(r.URL.Path, ".jar") {
			http.NotFound(w, r) // no checksum is published
			return
		}
		w.Write(jar.Bytes())
	}))
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections() // the library's downloads use it
		server.Close()
	})
	return server.URL, requests
}

func TestFetchedReleaseIsKept(t *testing.T) {
	t.Parallel()
	from, requests := repository(t)
	cache := filepath.Join(t.TempDir(), "cache")
	var said []string
	o := localpg.Options{Progress: func(s string) { said = append(said, s) }}
	dir, err := localpg.FetchFrom(t.Context(), from, cache, 0, o)
	if err != nil {
		t.Fatal(err)
	}
	if !exists(t, filepath.Join(dir, "initdb")) {
		t.Errorf("no initdb in %s", dir)
	}
	if len(said) != 1 || !strings.Contains(said[0], "fetching PostgreSQL 18") {
		t.Errorf("progress told: %q", said)
	}
	asked := requests.Load()
	again, err := localpg.FetchFrom(t.Context(), from, cache, 18, o)
	if err != nil || again != dir {
		t.Errorf("second fetch: %s, %v", again, err)
	}
	if requests.Load() != asked {
		t.Error("what is in the cache was downloaded again")
	}
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("the working folder was left behind: %v", entries)
	}
}

func TestFetchFailureNamesInstallCommand(t *testing.T) {
	t.Parallel()
	nothing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(nothing.Close)
	for name, want := range map[string]int{"not published": 0, "never published": 99} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := t.TempDir()
			_, err := localpg.FetchFrom(t.Context(), nothing.URL, cache, want, localpg.Options{})
			if err == nil || !strings.Contains(err.Error(), "install postgresql") {
				t.Errorf("the error gives no way out: %v", err)
			}
			if left, _ := os.ReadDir(cache); len(left) != 0 {
				t.Errorf("left in the cache: %v", left)
			}
		})
	}
}

func TestBinDirIsTakenAtItsWord(t *testing.T) {
	t.Parallel()
	old := t.TempDir()
	for name, body := range map[string]string{"initdb": "exit 1", "postgres": `echo "postgres (PostgreSQL) 14.2"`} {
		if err := os.WriteFile(filepath.Join(old, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{t.TempDir(): "initdb", old: "PostgreSQL 14"} {
		_, err := localpg.Start(t.Context(), localpg.Options{BinDir: dir})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Start with unsuitable programs: %v, want it to name %q", err, want)
		}
	}
}

func TestParseMajor(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": 15,
		"postgres (PostgreSQL) 18.3\n":                           18,
		"postgres (PostgreSQL) 17beta1\n":                        17,
		"postgres (PostgreSQL) 9.6.24":                           9,
		"postgres (PostgreSQL) 16":                               16,
		"postgres (PostgreSQL) devel":                            0,
		"mysqld 8.0":                                             0,
		"":                                                       0,
	} {
		got, err := localpg.ParseMajor(in)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("ParseMajor(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
}

func TestInstallCommand(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		goos    string
		release int
		want    string
	}{
		{"linux", 0, "apt-get install postgresql"},
		{"linux", 16, "apt-get install postgresql-16"},
		{"darwin", 0, "brew install postgresql@18"},
		{"darwin", 15, "brew install postgresql@15"},
	} {
		if got := localpg.InstallCommand(tc.goos, tc.release); got != tc.want {
			t.Errorf("InstallCommand(%s, %d) = %q, want %q", tc.goos, tc.release, got, tc.want)
		}
	}
}
