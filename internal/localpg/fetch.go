package localpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// releases are what can be fetched: builds of the embedded-postgres-binaries
// project, pinned by the library.
var releases = map[int]embeddedpostgres.PostgresVersion{
	15: embeddedpostgres.V15,
	16: embeddedpostgres.V16,
	17: embeddedpostgres.V17,
	18: embeddedpostgres.V18,
}

// newestRelease is fetched for new clusters.
const newestRelease = 18

// fetcher downloads PostgreSQL into a folder that later runs find it in.
type fetcher struct {
	cache      string // folder, made when missing
	repository string // URL of a Maven repository; empty for the library's own
	acct       account
}

// newFetcher chooses the user's cache folder. Root's is closed to the account
// the server runs as, so the system's takes its place.
func newFetcher(acct account) (fetcher, error) {
	parent := "/var/cache"
	if !acct.other {
		var err error
		if parent, err = os.UserCacheDir(); err != nil {
			return fetcher{}, err
		}
	}
	return fetcher{cache: filepath.Join(parent, "firstcopy"), acct: acct}, nil
}

// fetch returns the programs of release want (0: the newest), downloading them
// if they are not in the cache. Several processes may do so at once: each
// unpacks aside and the first one's folder is kept.
func (f fetcher) fetch(ctx context.Context, o Options, want int) (binaries, error) {
	if want == 0 {
		want = newestRelease
	}
	version, ok := releases[want]
	if !ok {
		return binaries{}, notInstalled(want, errors.New("none of that release can be fetched"))
	}
	kept := filepath.Join(f.cache, "postgresql-"+string(version))
	if b, err := inspect(ctx, filepath.Join(kept, "bin")); err == nil {
		return b, nil
	}
	o.progress(fmt.Sprintf("fetching PostgreSQL %s into %s", version, kept))
	// The library's download knows no context; an abandoned one ends by
	// itself and clears up, or ends with the process.
	done := make(chan error, 1)
	go func() { done <- f.download(version, kept) }()
	select {
	case err := <-done:
		if err != nil {
			return binaries{}, notInstalled(want, err)
		}
	case <-ctx.Done():
		return binaries{}, fmt.Errorf("fetching PostgreSQL: %w", context.Cause(ctx))
	}
	b, err := inspect(ctx, filepath.Join(kept, "bin"))
	if err != nil {
		return binaries{}, notInstalled(want, err)
	}
	return b, nil
}

// download unpacks a release into a working folder and renames it to kept.
func (f fetcher) download(version embeddedpostgres.PostgresVersion, kept string) (err error) {
	if err := os.MkdirAll(f.cache, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(f.cache, "fetch-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	unpacked := filepath.Join(work, "postgresql")
	if err := f.unpack(version, work, unpacked); err != nil {
		return err
	}
	if err := os.Chmod(unpacked, 0o755); err != nil {
		return err
	}
	if err := os.Rename(unpacked, kept); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// unpack uses the library up to the point where the archive has been unpacked.
// Its Start would go on to run a server, so it is given an encoding that
// initdb refuses. The library removes the run folder first and makes it after
// unpacking: its existence tells a complete archive from a failed download. An
// empty log file in the system's temporary folder is the library's, and stays.
func (f fetcher) unpack(version embeddedpostgres.PostgresVersion, work, into string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	run := filepath.Join(work, "run")
	cfg := embeddedpostgres.DefaultConfig().
		Version(version).
		CachePath(filepath.Join(work, "archive")).
		BinariesPath(into).
		RuntimePath(run).
		DataPath(filepath.Join(work, "data")).
		Encoding("none").
		Port(uint32(port)).
		Logger(io.Discard)
	if f.repository != "" {
		cfg = cfg.BinaryRepositoryURL(strings.TrimSuffix(f.repository, "/"))
	}
	server := embeddedpostgres.NewDatabase(cfg)
	err = server.Start()
	if err == nil {
		return server.Stop()
	}
	if _, statErr := os.Stat(run); statErr != nil {
		return err
	}
	return nil
}
