package difference_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
	"firstcopy/dedup/interchange/difference"
)

var edifact = interchange.Separators{Component: ':', Element: '+', Release: '?', Terminator: '\''}

func split(tb testing.TB, content string, s interchange.Separators) []difference.Unit {
	tb.Helper()
	units, whole := difference.Split([]byte(content), s)
	if !whole {
		tb.Fatalf("only %d units of it", len(units))
	}
	return units
}

// script writes edits like "=BGM -MOA+77:1 +MOA+77:2".
func script(edits []difference.Edit) string {
	var b strings.Builder
	for _, e := range edits {
		fmt.Fprintf(&b, "%s%s\n", e.Op, e.Text)
	}
	return b.String()
}

func TestBetween(t *testing.T) {
	t.Parallel()
	caret := interchange.Separators{Component: '^', Element: '*', Release: '!', Terminator: '~'}
	for _, c := range []struct {
		name          string
		before, after string
		b             interchange.Separators
		want          string
	}{
		{"equal", "BGM+380+1'MOA+77:1'", "BGM+380+1'MOA+77:1'", edifact, " BGM+380+1\n MOA+77:1\n"},
		{"changed", "BGM+380+1'MOA+77:1'UNT+2+1'", "BGM+380+1'MOA+77:2'UNT+2+1'", edifact, " BGM+380+1\n-MOA+77:1\n+MOA+77:2\n UNT+2+1\n"},
		{"added at the end", "BGM+1'", "BGM+1'FTX+AAI'", edifact, " BGM+1\n+FTX+AAI\n"},
		{"removed at the beginning", "BGM+1'FTX+AAI'", "FTX+AAI'", edifact, "-BGM+1\n FTX+AAI\n"},
		{"everything", "A'B'", "C'", edifact, "-A\n-B\n+C\n"},
		{"nothing before", "", "C'", edifact, "+C\n"},
		{"a released terminator", "FTX+it?'s'A'", "FTX+it?'s'B'", edifact, " FTX+it?'s\n-A\n+B\n"},
		{"line breaks", "BGM+3\r\n80'\r\nA'", "BGM+380'A'\n", edifact, " BGM+380\n A\n"},
		{"empty at the end", "BGM+380+1++'A:::'", "BGM+380+1'A'", edifact, " BGM+380+1\n A\n"},
		{"empty inside", "BGM++1'", "BGM+1'", edifact, "-BGM++1\n+BGM+1\n"},
		{"other separators", "UNA:+.? 'BGM+1:2+it?'s'", "UNA^*.! ~BGM*1^2*it's~", caret, " UNA^*.! ~\n BGM*1^2*it's\n"},
		{"a needless release", "A+b?c'", "A+bc'", edifact, " A+bc\n"},
		{"unprintable", "A+\x00'", "A+\x01'", edifact, "-A+\\x00\n+A+\\x01\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := script(difference.Between(split(t, c.before, edifact), split(t, c.after, c.b))); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	none := interchange.Separators{}
	got := script(difference.Between(split(t, "<a>\r\n<b>1</b>\n</a>\n", none), split(t, "<a>\n<b>2</b>\n</a>", none)))
	if want := " <a>\n-<b>1</b>\n+<b>2</b>\n </a>\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A document in XML that is one line is shown by its tags, and how it is indented does not count.
func TestMarkup(t *testing.T) {
	t.Parallel()
	none := interchange.Separators{}
	before := "\xef\xbb\xbf<?xml version='1.0'?><Invoice><ID>7</ID><Amount>10 > 9</Amount></Invoice>"
	after := "<?xml version='1.0'?>\n<Invoice>\n  <ID>7</ID>\n  <Amount>11 > 9</Amount>\n</Invoice>\n"
	want := " <?xml version='1.0'?>\n <Invoice>\n <ID>7</ID>\n-<Amount>10 > 9</Amount>\n+<Amount>11 > 9</Amount>\n </Invoice>\n"
	if got := script(difference.Between(split(t, before, none), split(t, after, none))); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestHunks(t *testing.T) {
	t.Parallel()
	var a, b []string
	for i := range 40 {
		a = append(a, fmt.Sprint("S+", i))
		b = append(b, a[i])
	}
	b[10], b[13], b[30] = "X", "Y", "Z"
	edits := difference.Between(split(t, strings.Join(a, "'"), edifact), split(t, strings.Join(b, "'"), edifact))
	hunks := difference.Hunks(edits, 2)
	if len(hunks) != 2 || hunks[0][0].Text != "S+8" || hunks[0][len(hunks[0])-1].Text != "S+15" || len(hunks[1]) != 6 {
		t.Errorf("%d hunks: %+v", len(hunks), hunks)
	}
	if len(difference.Hunks(difference.Between(split(t, "A'", edifact), split(t, "A'", edifact)), 3)) != 0 {
		t.Error("equal contents have a hunk")
	}
}

// The script turns the one into the other, and is as short as the longest common subsequence allows.
func TestScriptsAreRightAndShort(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		a, b := word(random), word(random)
		edits := difference.Between(split(t, strings.Join(a, "'"), edifact), split(t, strings.Join(b, "'"), edifact))
		var before, after []string
		changes := 0
		for _, e := range edits {
			if e.Op != difference.Insert {
				before = append(before, e.Text)
			}
			if e.Op != difference.Delete {
				after = append(after, e.Text)
			}
			if e.Op != difference.Keep {
				changes++
			}
		}
		if strings.Join(before, "") != strings.Join(a, "") || strings.Join(after, "") != strings.Join(b, "") {
			t.Fatalf("%v to %v:\n%s", a, b, script(edits))
		}
		if want := len(a) + len(b) - 2*common(a, b); changes != want {
			t.Fatalf("%v to %v: %d changes, want %d\n%s", a, b, changes, want, script(edits))
		}
	}
}

func word(random *rand.Rand) []string {
	w := make([]string, random.IntN(12))
	for i := range w {
		w[i] = string("ABC"[random.IntN(3)])
	}
	return w
}

// common is the length of the longest common subsequence.
func common(a, b []string) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			above := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j], row[j+1])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

// Contents without anything in common are given up on, not compared for minutes.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	var a, b strings.Builder
	for i := range difference.MaxUnits + 10 {
		fmt.Fprintf(&a, "A+%d'", i)
		fmt.Fprintf(&b, "B+%d'", i)
	}
	before, whole := difference.Split([]byte(a.String()), edifact)
	after, _ := difference.Split([]byte(b.String()), edifact)
	if whole || len(before) != difference.MaxUnits {
		t.Fatalf("%d units, whole %v", len(before), whole)
	}
	if edits := difference.Between(before, after); len(edits) != 2*difference.MaxUnits {
		t.Errorf("%d edits", len(edits))
	}
}

func FuzzBetween(f *testing.F) {
	f.Add("UNA:+.? 'BGM+380+1'MOA+77:1'", "UNA:+.? 'BGM+380+1'MOA+77:2'", byte('\''), byte('?'))
	f.Add("ISA*00~ST*850~", "ISA*00~ST*860~", byte('~'), byte(0))
	f.Add("<a>\n</a>", "<a/>", byte(0), byte(0))
	f.Fuzz(func(t *testing.T, a, b string, terminator, release byte) {
		s := interchange.Separators{Component: ':', Element: '+', Release: release, Terminator: terminator}
		before, _ := difference.Split([]byte(a), s)
		after, _ := difference.Split([]byte(b), s)
		kept, gone, added := 0, 0, 0
		for _, e := range difference.Between(before, after) {
			switch e.Op {
			case difference.Keep:
				kept++
			case difference.Delete:
				gone++
			case difference.Insert:
				added++
			}
		}
		if kept+gone != len(before) || kept+added != len(after) {
			t.Errorf("%d units to %d: kept %d, deleted %d, inserted %d", len(before), len(after), kept, gone, added)
		}
		if a == b && gone+added > 0 {
			t.Error("a content differs from itself")
		}
	})
}
