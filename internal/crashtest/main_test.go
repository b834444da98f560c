package crashtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"firstcopy/internal/pgtest"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "firstcopy-crashtest-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	builds.dir = dir
	os.Exit(pgtest.Main(m, func() error { return os.RemoveAll(dir) }))
}

// builds are the binaries made so far, by build tag.
var builds struct {
	sync.Mutex
	dir  string
	done map[string]string
}

// moduleRoot is the folder of go.mod, seen from this package's.
const moduleRoot = "../.."

// program builds the program of this tree, once for each build tag.
func program(tb testing.TB, tag string) string {
	tb.Helper()
	builds.Lock()
	defer builds.Unlock()
	if path, ok := builds.done[tag]; ok {
		return path
	}
	path := filepath.Join(builds.dir, "firstcopy-"+tag)
	build(tb, moduleRoot, tag, path)
	if builds.done == nil {
		builds.done = map[string]string{}
	}
	builds.done[tag] = path
	return path
}

// build builds the program of the tree at root.
func build(tb testing.TB, root, tag, path string) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "go", "build", "-tags", tag, "-o", path, "./cmd/firstcopy")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("building the program: %v\n%s", err, out)
	}
}
