package strict_test

import (
	"errors"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"firstcopy/configs/strict"
)

type inner struct {
	Name  string `yaml:"name"`
	Count int    `yaml:"count"`
}

type outer struct {
	Text    string            `yaml:"text"`
	Flag    bool              `yaml:"flag"`
	Maybe   *bool             `yaml:"maybe"`
	Pause   time.Duration     `yaml:"pause"`
	Size    strict.Size       `yaml:"size"`
	At      strict.Instant    `yaml:"at"`
	Level   slog.Level        `yaml:"level"`
	Inner   inner             `yaml:"inner"`
	Pointer *inner            `yaml:"pointer"`
	List    []inner           `yaml:"list"`
	Words   []string          `yaml:"words"`
	Dict    map[string]string `yaml:"dict"`
	Chan    chan int          `yaml:"chan"`
	Hidden  string            `yaml:"-"`
	hidden  string
}

func TestDecode(t *testing.T) {
	t.Parallel()
	yes := true
	got := outer{Text: "default", Inner: inner{Name: "default", Count: 7}, Hidden: "h", hidden: "h"}
	doc := strict.Decode([]byte(`# a comment
text: |
  two
  lines
flag: true
maybe: true
pause: 1m30s
size: 64KiB
at: 2026-01-01
level: warn
inner: {count: -8}
pointer:
  name: "0012"
list:
  - {name: 0012, count: 12}
  - name: 1e3
words: [a, 'b', "c\n", 1_000]
dict: {x: y, 1: 2}
`), &got)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if !got.At.Equal(day) || !got.At.End().Equal(day.AddDate(0, 0, 1)) {
		t.Errorf("at: %v to %v", got.At, got.At.End())
	}
	want := outer{
		Text: "two\nlines\n", Flag: true, Maybe: &yes, Pause: 90 * time.Second, Size: 64 * strict.KiB, At: got.At, Level: slog.LevelWarn,
		Inner: inner{Name: "default", Count: -8}, Pointer: &inner{Name: "0012"},
		List: []inner{{"0012", 12}, {"1e3", 0}}, Words: []string{"a", "b", "c\n", "1_000"}, Dict: map[string]string{"x": "y", "1": "2"},
		Hidden: "h", hidden: "h",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func TestValuesThatAreNotGivenKeepDefaults(t *testing.T) {
	t.Parallel()
	for _, yaml := range []string{"", "# nothing\n", "---\n", "text:\ninner:\nlist:\n", "text: ~\ninner: {name: }\n", "null\n"} {
		got := outer{Text: "default", Inner: inner{Name: "default"}}
		if err := strict.Decode([]byte(yaml), &got).Err(); err != nil {
			t.Errorf("%q: %v", yaml, err)
		}
		if got.Text != "default" || got.Inner.Name != "default" || got.List != nil {
			t.Errorf("%q: %+v", yaml, got)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ yaml, want string }{
		{"txet: a", "line 1, column 1: txet: unknown key; known here: text, flag"},
		{"Hidden: a", "Hidden: unknown key"},
		{"inner:\n  nam: a", "line 2, column 3: inner.nam: unknown key; known here: name, count"},
		{"list:\n - name: a\n - nam: b", "line 3, column 4: list[1].nam: unknown key"},
		{`"a.b": 1`, `"a.b": unknown key`},
		{"text: a\ntext: b", "line 2, column 1: mapping key \"text\" already defined"},
		{"text: a\n'text': b", "line 2"},
		{"text: [a]", "text: a list where a single text"},
		{"text: {a: b}", "text: keys with values where a single text"},
		{"text: true", "text: true or false (quote it if text is meant) where"},
		{"flag: 1", "flag: a number where true or false"},
		{"flag: yes", "flag: text where true or false"},
		{"inner: a", "inner: text where keys"},
		{"inner: [a]", "inner: a list where keys"},
		{"inner: {count: 1.5}", `inner.count: "1.5" is not a whole number`},
		{"inner: {count: 0x10}", `inner.count: "0x10" is not a whole number`},
		{"inner: {count: 99999999999999999999}", "is not a whole number"},
		{"list: {a: b}", "list: keys with values where a list"},
		{"list: a", "list: text where a list"},
		{"words: [a, ]\nlist: [{}, ~]", "list[1]: empty list item"},
		{"pause: 10", `pause: "10" is not a duration`},
		{"pause: -1s", "pause: a duration cannot be negative"},
		{"size: 1.5MiB", `size: "1.5MiB" is not a size`},
		{"at: today", `at: "today" is not a date`},
		{"at: 1969-12-31", "the year is out of range"},
		{"level: loud", "level: slog"},
		{"chan: 1", "chan: cannot be set from a file"},
		{"text: &a b", "text: anchors, aliases and tags"},
		{"text: !!str b", "text: anchors, aliases and tags"},
		{"inner: {<<: {name: a}}", "a key must be a plain word"},
		{"? text\n: a", "a key must be a plain word"},
		{"true: a", "a key must be a plain word"},
		{"- a", "line 1, column 1: a list where keys with values are expected"},
		{"text", "text where keys with values are expected"},
		{"text: a\n---\nflag: true", "line 3"},
		{"text: [a", "line 1, column 7: "},
		{"text: a\n\tflag: true", "line 2, column 1: "},
		{"text: \xff", "not UTF-8"},
		{strings.Repeat("[", 65), "nested deeper than 64"},
		{"text: " + strings.Repeat("a", 5000), "line 1, column 1: a line of more than 4096 bytes"},
		{strings.Repeat("#\n", 1<<19) + "#", "more than 1048576"},
	} {
		var got outer
		err := strict.Decode([]byte(test.yaml), &got).Err()
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40q: got %v\nwant an error saying %q", test.yaml, err, test.want)
		}
	}
}

func TestErrorsDoNotQuoteTheSource(t *testing.T) {
	t.Parallel()
	for _, yaml := range []string{"text: secret\n\tflag: true", "text: 'secret", "text: secret: x", "text: {secret"} {
		var got outer
		if err := strict.Decode([]byte(yaml), &got).Err(); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", yaml, err)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	var got outer
	doc := strict.Decode([]byte("list:\n - name: [x]\n - count: 3\nflag: maybe\n"), &got)
	cause := errors.New("cause")
	doc.Report("list[0].name", errors.New("again, not shown"))
	doc.Report("list[0].name.deeper", errors.New("beneath, not shown"))
	doc.Report("list[0]", errors.New("above, not shown"))
	doc.Report("list[1].name", cause)     // placed at the enclosing item
	doc.Report("flags", cause)            // not related to flag
	doc.Report("list[10]", cause)         // not related to list[1]
	doc.Report("inner.name", cause)       // nowhere in the file: at its beginning
	doc.Reportf("list[1].count", "%d", 3) // at its key
	want := []string{
		"line 1, column 1: flags: cause",
		"line 1, column 1: list[10]: cause",
		"line 1, column 1: inner.name: cause",
		"line 2, column 4: list[0].name: a list where a single text or number is expected",
		"line 3, column 4: list[1].name: cause",
		"line 3, column 4: list[1].count: 3",
		"line 4, column 1: flag: text where true or false is expected",
	}
	err := doc.Err()
	lines := strings.Split(err.Error(), "\n")
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
}

func TestReportAboutBrokenSyntaxIsSilent(t *testing.T) {
	t.Parallel()
	var got outer
	doc := strict.Decode([]byte("text: ["), &got)
	doc.Reportf("flag", "missing")
	if err := doc.Err(); err == nil || strings.Contains(err.Error(), "missing") {
		t.Errorf("got %v", err)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]struct {
		size strict.Size
		text string
	}{
		"0": {0, "0B"}, "512": {512, "512B"}, "512B": {512, "512B"}, "64KiB": {64 << 10, "64KiB"}, "64 kib": {64 << 10, "64KiB"},
		"1024KiB": {1 << 20, "1MiB"}, "10MB": {1e7, "10000000B"}, "1GiB": {1 << 30, "1GiB"}, "2TiB": {2 << 40, "2TiB"},
		"1kB": {1000, "1000B"}, "9223372036854775807": {math.MaxInt64, "9223372036854775807B"},
	} {
		got, err := strict.ParseSize(in)
		if err != nil || got != want.size || got.String() != want.text {
			t.Errorf("ParseSize(%q) = %d (%s), %v; want %d (%s)", in, got, got, err, want.size, want.text)
		}
	}
	for _, in := range []string{"", "B", "-1", "1.5MiB", "1 M", "1XiB", "0x10", "1e3", "9223372036854775808", "8388608TiB", "1_000", "+1"} {
		if got, err := strict.ParseSize(in); err == nil {
			t.Errorf("ParseSize(%q) = %d", in, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"text: a\ninner: {name: b}\n", "list: [{name: a}, {count: 1}]", "a: &x [*x]", "? a\n: b", "text: |\n  x\n", "- - - a",
		"words: [", "dict: {a: {b: c}}", "\"\\u0000\": 1", "text: !!binary aGk=", "%YAML 1.2\n---\ntext: a", "text: >-\n a\n\n b",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got outer
		doc := strict.Decode(data, &got)
		if got.hidden != "" || got.Hidden != "" {
			t.Fatal("a field without a name was set")
		}
		doc.Reportf("flag", "last")
		if err := doc.Err(); err == nil {
			t.Fatal("a fault was lost")
		}
	})
}
