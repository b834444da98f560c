// Package firstcopy_test holds what concerns the module as a whole: the
// direction of its imports.
package firstcopy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "firstcopy"

// Groups of packages, by path below the module; "x/..." is x and all below it.
var (
	codecs  = []string{"as2", "as2/smime", "mdn", "mdn/functional", "dedup/interchange", "dedup/interchange/difference", "dedup/interchange/internal/..."}
	domain  = []string{"dedup", "partners"}
	support = []string{"internal/pgtest/...", "internal/as2test/...", "internal/sftptest/...", "internal/as2client/receivertest/...", "internal/crashtest/..."}
	smime   = []string{"as2/smime"}
)

// rule forbids imports by non-test code. Packages named in a rule need not
// exist yet.
type rule struct {
	why       string
	importers []string // the rule is about these; empty: all packages
	except    []string // but not these
	forbidden []string // import paths below the module, or of other modules
	allowed   []string // of those forbidden, still fine
	external  bool     // forbidden names packages of other modules and the standard library
	deep      bool     // imports of imports count, too
}

var rules = []rule{
	{
		why:       "codecs know only bytes: no database, logger or network, not even through others",
		importers: codecs, external: true, deep: true,
		forbidden: []string{"github.com/jackc/pgx/v5/...", "log/slog", "net/http"},
	},
	{
		// The standard library's own packages reach for these, so only
		// what a codec itself imports counts.
		why:       "codecs have no files, clock, deadline or socket of their own",
		importers: codecs, external: true,
		forbidden: []string{"os", "context", "net", "log", "database/sql"},
	},
	{
		why:       "codecs import codecs only",
		importers: codecs, deep: true,
		forbidden: []string{"..."}, allowed: codecs,
	},
	{
		why:       "the domain speaks no HTTP",
		importers: domain, external: true, deep: true,
		forbidden: []string{"net/http", "github.com/go-chi/chi/v5/..."},
	},
	{
		why:       "the gateway is an edge: only what wires it imports it",
		except:    []string{"gateway/...", "cmd/...", "internal/..."},
		forbidden: []string{"gateway/..."},
	},
	{
		why:    "the CMS library stays behind one seam",
		except: smime, external: true,
		forbidden: []string{"go.mozilla.org/pkcs7"},
	},
	{
		why:       "test support is for tests",
		except:    support,
		forbidden: support,
	},
}

// pkg is what `go list -json` says about a package, as far as it matters here.
// Imports and Deps are those of non-test code.
type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func TestImportDirection(t *testing.T) {
	t.Parallel()
	pkgs := list(t)
	if len(rules) == 0 {
		t.Fatal("there are no rules")
	}
	if !slices.ContainsFunc(pkgs, func(p pkg) bool { name, own := below(p.ImportPath); return own && match(codecs, name) }) {
		t.Fatal("go list found none of the codecs: the rules look at nothing")
	}
	for _, v := range violations(pkgs) {
		t.Error(v)
	}
}

func TestRulesCatch(t *testing.T) {
	t.Parallel()
	const pgx, chi, pkcs7 = "github.com/jackc/pgx/v5/pgconn", "github.com/go-chi/chi/v5/middleware", "go.mozilla.org/pkcs7"
	for _, tc := range []struct {
		from, imports string
		deep          bool // the import is another import's
		allowed       bool
	}{
		{from: "mdn", imports: pgx},
		{from: "mdn", imports: pgx, deep: true},
		{from: "as2", imports: "log/slog", deep: true},
		{from: "as2/smime", imports: "net/http", deep: true},
		{from: "dedup/interchange", imports: "os"},
		{from: "dedup/interchange", imports: "os", deep: true, allowed: true},
		{from: "mdn/functional", imports: "context"},
		{from: "as2", imports: "crypto/rand", allowed: true},
		{from: "as2", imports: module + "/mdn", allowed: true},
		{from: "as2", imports: module + "/partners"},
		{from: "as2", imports: module + "/migrations", deep: true},
		{from: "dedup", imports: "net/http"},
		{from: "dedup", imports: "log/slog", allowed: true},
		{from: "dedup", imports: pgx, allowed: true},
		{from: "partners", imports: chi, deep: true},
		{from: "sftpwatch", imports: module + "/gateway"},
		{from: "sftpwatch", imports: module + "/gateway/forward"},
		{from: "gateway/forward", imports: module + "/gateway", allowed: true},
		{from: "cmd/firstcopy", imports: module + "/gateway", allowed: true},
		{from: "internal/as2test", imports: module + "/gateway", allowed: true},
		{from: "mdn", imports: pkcs7},
		{from: "gateway", imports: pkcs7},
		{from: "as2/smime", imports: pkcs7, allowed: true},
		{from: "as2", imports: pkcs7, deep: true, allowed: true},
		{from: "cmd/firstcopy", imports: module + "/internal/pgtest"},
		{from: "gateway", imports: module + "/internal/as2test"},
		{from: "sftpwatch", imports: module + "/internal/sftptest"},
		{from: "internal/localpg", imports: module + "/internal/crashtest"},
		{from: "internal/pgtest/cmd/withpg", imports: module + "/internal/pgtest", allowed: true},
		{from: "cmd/firstcopy", imports: module + "/internal/localpg", allowed: true},
	} {
		p := pkg{ImportPath: module + "/" + tc.from, Deps: []string{tc.imports}}
		if !tc.deep {
			p.Imports = p.Deps
		}
		if found := violations([]pkg{p}); (len(found) == 0) != tc.allowed {
			t.Errorf("%+v: found %q", tc, found)
		}
	}
}

// violations holds every package of the module against every rule.
func violations(pkgs []pkg) []string {
	var found []string
	for _, p := range pkgs {
		name, own := below(p.ImportPath)
		if !own {
			continue
		}
		for _, r := range rules {
			if len(r.importers) > 0 && !match(r.importers, name) || match(r.except, name) {
				continue
			}
			for _, path := range r.breaches(p) {
				found = append(found, fmt.Sprintf("%s imports %s: %s", name, path, r.why))
			}
		}
	}
	return found
}

// breaches returns what p imports against r: one path for each pattern, or a
// module with many packages would fill the screen.
func (r rule) breaches(p pkg) []string {
	paths := p.Imports
	if r.deep {
		paths = p.Deps
	}
	var bad []string
	for _, pattern := range r.forbidden {
		i := slices.IndexFunc(paths, func(path string) bool {
			name, own := below(path)
			if r.external {
				name, own = path, !own
			}
			return own && match([]string{pattern}, name) && !match(r.allowed, name)
		})
		if i >= 0 {
			bad = append(bad, paths[i])
		}
	}
	return bad
}

// below returns an import path as it is below the module ("" for the module's
// root), and whether it is there.
func below(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

func match(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		root, tree := strings.CutSuffix(pattern, "...")
		root = strings.TrimSuffix(root, "/")
		return path == root || tree && (root == "" || strings.HasPrefix(path, root+"/"))
	})
}

// list returns all packages of the module and what they depend on.
func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports,Deps", "./...")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("reading go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}
