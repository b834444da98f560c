package firstcopy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every known fault of AS2 receivers and of SFTP pollers has its line, and every test named there exists.
func TestFaultsAreTests(t *testing.T) {
	t.Parallel()
	tests := sources(t, "_test.go")
	for page, groups := range map[string]map[string]int{
		"docs/faults.md": {"T": 20, "H": 13, "M": 15, "E": 11, "C": 6, "S": 18, "N": 15, "Z": 6, "I": 8, "R": 13, "A": 6, "D": 7,
			"K": 8, "F": 8, "X": 7},
		"docs/faults-sftp.md": {"F": 62},
	} {
		text := read(t, page)
		for group, n := range groups {
			for i := 1; i <= n; i++ {
				if line := fmt.Sprintf("\n| %s%d | ", group, i); strings.Count(text, line) != 1 {
					t.Errorf("%s has no line, or several, for %s%d", page, group, i)
				}
			}
		}
		for _, name := range regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(text, -1) {
			if !strings.Contains(tests, "func "+name[1]+"(t *testing.T)") {
				t.Errorf("%s names %s, which does not exist", page, name[1])
			}
		}
	}
}

// sources is the text of all files with a suffix.
func sources(t *testing.T, suffix string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, suffix) {
			all.WriteString(read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
