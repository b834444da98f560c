package firstcopy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every known fault of AS2 receivers has its line in docs/faults.md, and every test named there exists.
func TestFaultsAreTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	for group, n := range map[string]int{"T": 20, "H": 13, "M": 15, "E": 11, "C": 6, "S": 18, "N": 15, "Z": 6, "I": 8, "R": 13, "A": 6, "D": 7, "K": 8, "F": 8, "X": 7} {
		for i := 1; i <= n; i++ {
			if line := fmt.Sprintf("\n| %s%d | ", group, i); strings.Count(string(page), line) != 1 {
				t.Errorf("docs/faults.md has no line, or several, for %s%d", group, i)
			}
		}
	}
	var tests strings.Builder
	err = filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		tests.Write(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(page), -1) {
		if !strings.Contains(tests.String(), "func "+name[1]+"(t *testing.T)") {
			t.Errorf("docs/faults.md names %s, which does not exist", name[1])
		}
	}
}
