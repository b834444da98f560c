package firstcopy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every known fault of AS2 receivers, of EDI readers and of SFTP pollers has its line in docs/faults.md, docs/edi-faults.md or
// docs/faults-sftp.md, and every test named there exists.
func TestFaultsAreTests(t *testing.T) {
	t.Parallel()
	tests := testSources(t)
	for page, groups := range map[string]map[string][]int{
		"docs/faults.md": {"T": upTo(20), "H": upTo(13), "M": upTo(15), "E": upTo(11), "C": upTo(6), "S": upTo(18), "N": upTo(15), "Z": upTo(6),
			"I": upTo(8), "R": upTo(13), "A": upTo(6), "D": upTo(7), "K": upTo(8), "F": upTo(8), "X": upTo(7)},
		// What acknowledgements (23, 38, 42, 43, 55, 56) and XML and JSON (71 to 78) get wrong, and what is a matter of design
		// (79, 80), is not about envelopes.
		"docs/faults-sftp.md": {"F": upTo(62)},
		"docs/edi-faults.md":  {"F": slices.DeleteFunc(upTo(70), func(n int) bool { return slices.Contains([]int{23, 38, 42, 43, 55, 56}, n) })},
	} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for group, numbers := range groups {
			for _, n := range numbers {
				if strings.Count(string(text), fmt.Sprintf("\n| %s%d | ", group, n)) != 1 {
					t.Errorf("%s has no line, or several, for %s%d", page, group, n)
				}
			}
		}
		for _, name := range regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(tests, "func "+name[1]+"(t *testing.T)") {
				t.Errorf("%s names %s, which does not exist", page, name[1])
			}
		}
	}
}

func upTo(n int) []int {
	var numbers []int
	for i := range n {
		numbers = append(numbers, i+1)
	}
	return numbers
}

// testSources is the text of all tests.
func testSources(t *testing.T) string {
	t.Helper()
	var tests strings.Builder
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
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
	return tests.String()
}
