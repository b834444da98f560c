package crashtest_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mutant copies the tree and makes it wrong by a patch; it returns the copy's root.
func mutant(tb testing.TB, patch string) string {
	tb.Helper()
	root := tb.TempDir()
	err := filepath.WalkDir(moduleRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(moduleRoot, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && relative != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(root, relative), 0o755)
		case !slices.Contains([]string{".go", ".sql", ".mod", ".sum"}, filepath.Ext(path)):
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(root, relative), content, 0o644)
	})
	if err != nil {
		tb.Fatal(err)
	}
	file, err := filepath.Abs(filepath.Join("mutants", patch))
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), "patch", "--strip=1", "--batch", "--forward", "--input="+file)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%s does not fit the tree any more: %v\n%s", patch, err, out)
	}
	return root
}

// The patches must fit the tree as it is, or the proof of the proof is gone without anybody noticing.
func TestMutantsCompile(t *testing.T) {
	t.Parallel()
	patches, err := filepath.Glob("mutants/*.patch")
	if err != nil || len(patches) == 0 {
		t.Fatalf("no patches: %v", err)
	}
	for _, p := range patches {
		t.Run(filepath.Base(p), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "go", "vet", "./gateway")
			cmd.Dir = mutant(t, filepath.Base(p))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
