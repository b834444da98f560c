package firstcopy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every test that docs/promises.md names exists, and every promise of the README has its section there.
func TestPromisesAreTests(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/promises.md")
	tests := testSources(t)
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(page, -1)
	if len(named) < 30 {
		t.Fatalf("docs/promises.md names %d tests", len(named))
	}
	for _, n := range named {
		if !strings.Contains(tests, "func "+n[1]+"(t *testing.T)") {
			t.Errorf("docs/promises.md names %s, which does not exist", n[1])
		}
	}
	promises := regexp.MustCompile(`(?m)^(\d)\. \*\*(.+)\.\*\*`).FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(promises) != 9 {
		t.Errorf("the README makes %d promises", len(promises))
	}
	for _, p := range promises {
		if !strings.Contains(page, "## "+p[1]+". "+p[2]+"\n") {
			t.Errorf("promise %s, %q, has no section in docs/promises.md", p[1], p[2])
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
