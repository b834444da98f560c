package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// binaries is a folder with the server's programs.
type binaries struct {
	dir   string
	major int
}

func (b binaries) path(program string) string { return filepath.Join(b.dir, program) }

// usualFolders are where packages put the server's programs: Debian, Red Hat,
// Alpine, Homebrew on both kinds of Mac, Postgres.app, MacPorts, FreeBSD and
// the default of a build from source.
var usualFolders = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/usr/libexec/postgresql*",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
	"/opt/local/lib/postgresql*/bin",
	"/usr/local/bin",
	"/usr/local/pgsql/bin",
}

// locate finds programs of release want, or of any release new enough when
// want is 0. Those on the search path come first, then the newest.
func locate(ctx context.Context, o Options, acct account, want int) (binaries, error) {
	if o.BinDir != "" {
		dir, err := filepath.Abs(o.BinDir)
		if err != nil {
			return binaries{}, err
		}
		b, err := inspect(ctx, dir)
		if err != nil {
			return binaries{}, err
		}
		return b, b.fits(want)
	}
	for _, b := range installed(ctx) {
		if b.fits(want) == nil {
			return b, nil
		}
	}
	if ctx.Err() != nil { // none could be asked for its release
		return binaries{}, context.Cause(ctx)
	}
	if o.NoFetch {
		return binaries{}, notInstalled(want, errors.New("fetching it is switched off"))
	}
	f, err := newFetcher(acct)
	if err != nil {
		return binaries{}, notInstalled(want, err)
	}
	return f.fetch(ctx, o, want)
}

// fits says whether a cluster of release want can be run; PostgreSQL reads
// only the data of its own release.
func (b binaries) fits(want int) error {
	switch {
	case b.major < oldestMajor:
		return fmt.Errorf("%s holds PostgreSQL %d; %d or later is needed", b.dir, b.major, oldestMajor)
	case want != 0 && b.major != want:
		return fmt.Errorf("%s holds PostgreSQL %d; the cluster is of release %d", b.dir, b.major, want)
	}
	return nil
}

// installed lists the programs found on this machine, best first.
func installed(ctx context.Context) []binaries {
	var found []binaries
	for _, pattern := range usualFolders {
		dirs, _ := filepath.Glob(pattern) // the patterns are well formed
		for _, dir := range dirs {
			if b, err := inspect(ctx, dir); err == nil {
				found = append(found, b)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b binaries) int { return b.major - a.major })
	for _, program := range []string{"postgres", "initdb", "pg_ctl"} {
		path, err := exec.LookPath(program)
		if err != nil {
			continue
		}
		if b, err := inspect(ctx, filepath.Dir(path)); err == nil {
			return append([]binaries{b}, found...)
		}
	}
	return found
}

// inspect asks the programs in dir for their release.
func inspect(ctx context.Context, dir string) (binaries, error) {
	b := binaries{dir: dir}
	if _, err := os.Stat(b.path("initdb")); err != nil {
		return binaries{}, fmt.Errorf("looking for initdb: %w", err)
	}
	out, err := exec.CommandContext(ctx, b.path("postgres"), "--version").Output()
	if err != nil {
		return binaries{}, fmt.Errorf("asking %s for its version: %w", b.path("postgres"), err)
	}
	if b.major, err = parseMajor(string(out)); err != nil {
		return binaries{}, fmt.Errorf("%s: %w", b.path("postgres"), err)
	}
	return b, nil
}

// parseMajor reads "postgres (PostgreSQL) 16.9 (Debian …)", also "17beta1".
func parseMajor(version string) (int, error) {
	_, number, _ := strings.Cut(version, "(PostgreSQL) ")
	end := strings.IndexFunc(number, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(number)
	}
	major, err := strconv.Atoi(number[:end])
	if err != nil {
		return 0, fmt.Errorf("%q tells no PostgreSQL version", strings.TrimSpace(version))
	}
	return major, nil
}

// notInstalled tells the operator how to get PostgreSQL.
func notInstalled(want int, cause error) error {
	release := strconv.Itoa(oldestMajor) + " or later"
	if want != 0 {
		release = strconv.Itoa(want)
	}
	return fmt.Errorf("no PostgreSQL %s found (%w); install it with: %s", release, cause, installCommand(runtime.GOOS, want))
}

func installCommand(goos string, want int) string {
	brew, apt := "brew install postgresql@18", "apt-get install postgresql"
	if want != 0 {
		brew = fmt.Sprintf("brew install postgresql@%d", want)
		apt = fmt.Sprintf("apt-get install postgresql-%d", want)
	}
	if goos == "darwin" {
		return brew
	}
	return apt
}
