package sftpwatch

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"firstcopy/partners"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"*.edi", "a.edi", true}, {"*.edi", "A.EDI", true}, {"*.edi", ".edi", true}, {"*.edi", "a.edi.tmp", false},
		{"a?c", "abc", true}, {"a?c", "ac", false}, {"*a*b*", "xxaxxbxx", true}, {"*a*b*", "xxbxxaxx", false},
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"**", "a\nb", true}, {"\xe4*", "\xe4\xff", true}, {"?", "\xff", true},
		{"[a]", "a", false}, {"[a]", "[a]", true}, {"orders-*-*.x12", "orders-1-2.x12", true},
	} {
		if got := matches(test.pattern, test.name); got != test.want {
			t.Errorf("matches(%q, %q) = %v", test.pattern, test.name, got)
		}
	}
}

// Against the plain recursive meaning, and in bounded time.
func FuzzMatches(f *testing.F) {
	f.Add("*.edi", "orders.edi")
	f.Add("a*?b", "aab")
	f.Add(strings.Repeat("*a", 20), strings.Repeat("a", 60))
	f.Fuzz(func(t *testing.T, pattern, name string) {
		got := matches(pattern, name)
		if len(pattern) <= 8 && len(name) <= 8 && got != slow(pattern, name) {
			t.Errorf("matches(%q, %q) = %v", pattern, name, got)
		}
	})
}

func slow(pattern, name string) bool {
	if pattern == "" {
		return name == ""
	}
	if pattern[0] == '*' {
		return slow(pattern[1:], name) || name != "" && slow(pattern, name[1:])
	}
	return name != "" && (pattern[0] == '?' || lower(pattern[0]) == lower(name[0])) && slow(pattern[1:], name[1:])
}

func TestDoneName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ pattern, name, want string }{
		{"{name}.done", "a.edi", "a.edi.done"}, {"{stem}.ok", "a.edi", "a.ok"}, {"{stem}.ok", "a", "a.ok"}, {"{stem}.ok", "a.b.edi", "a.b.ok"},
		{"done-{stem}", ".edi", "done-.edi"}, {"{name}.done", "{stem}", "{stem}.done"},
	} {
		if got := doneName(test.pattern, test.name); got != test.want {
			t.Errorf("doneName(%q, %q) = %q", test.pattern, test.name, got)
		}
	}
}

// A file's done file is never taken for a file itself.
func FuzzDoneName(f *testing.F) {
	f.Add("{name}.done", "a.edi")
	f.Add("x{stem}.{ok", "a.b.c")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if n := strings.Count(pattern, "{name}") + strings.Count(pattern, "{stem}"); n != 1 || strings.ContainsAny(pattern, "*?") {
			return
		}
		if !matches(doneGlob(pattern), doneName(pattern, name)) {
			t.Errorf("%q of %q is not found by %q", doneName(pattern, name), name, doneGlob(pattern))
		}
	})
}

// No name becomes a path that leaves its folder, and what is shown is one to one.
func FuzzName(f *testing.F) {
	for _, name := range []string{"a.edi", "..", "../x", "a/b", "a\x00b", "L\xe4tin", "a\nb", strings.Repeat("x", 1025)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkName(name) != nil {
			return
		}
		if path := within("in", name); strings.Count(path, "/") != 1 || strings.HasSuffix(path, "/..") || strings.ContainsRune(path, 0) {
			t.Errorf("%q leaves its folder as %q", name, path)
		}
		if strings.ContainsAny(shown(name), "\n\r\t\x1b") {
			t.Errorf("%q is shown as %q", name, shown(name))
		}
	})
}

// info is an entry of a listing.
type info struct {
	name  string
	size  int64
	mtime int64
	mode  fs.FileMode
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Unix(i.mtime, 0) }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

func TestPick(t *testing.T) {
	t.Parallel()
	terms := &partners.SFTP{Select: partners.Select{Include: []string{"*.edi", "*.done"}, Exclude: []string{"test*"}},
		Ready: partners.Ready{Done: "{name}.done"}}
	files, refused := pick([]os.FileInfo{
		info{"late.edi", 10, 300, 0o644}, info{"b.edi", 10, 200, 0o644}, info{"a.edi", 10, 200, 0o644}, info{"a.edi.done", 0, 200, 0o644},
		info{"sub.edi", 0, 1, fs.ModeDir | 0o755}, info{"link.edi", 5, 1, fs.ModeSymlink}, info{"..", 1, 1, 0o644}, info{"x/y.edi", 1, 1, 0o644},
		info{"upload.edi.filepart", 3, 1, 0o644}, info{".hidden.edi", 3, 1, 0o644}, info{"TEST1.edi", 3, 1, 0o644}, info{"other.txt", 3, 1, 0o644},
	}, terms)
	var names []string
	for _, f := range files {
		names = append(names, f.name+"|"+f.done)
	}
	if got := strings.Join(names, " "); got != "a.edi|a.edi.done b.edi| late.edi|" {
		t.Errorf("picked %s", got)
	}
	if len(refused) != 2 {
		t.Errorf("refused %v", refused)
	}
}

// Rest is measured by our clock: two polls and the quiet time, anew after every change.
func TestSightings(t *testing.T) {
	t.Parallel()
	terms := &partners.SFTP{Ready: partners.Ready{Quiet: partners.Period(10 * time.Second)}}
	var s sightings
	now := time.Now()
	f := entry{name: "a", size: 1, mtime: 100}
	see := func(after time.Duration, f entry) bool {
		now = now.Add(after)
		s.see([]entry{f}, now)
		return s.ready(f, terms, now)
	}
	if see(0, f) || see(5*time.Second, f) || !see(5*time.Second, f) {
		t.Error("ready at the wrong poll")
	}
	f.size = 2
	if see(time.Minute, f) || see(9*time.Second, f) || !see(time.Second, f) {
		t.Error("a grown file is ready at the wrong poll")
	}
	f.mtime = 99 // backwards
	if see(time.Minute, f) {
		t.Error("a file with another time is ready at once")
	}
	s.see(nil, now)
	if see(time.Minute, f) {
		t.Error("a file that was gone is ready at once")
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	e := &partners.Expect{By: "08:30", Days: []string{"mon", "tue"}, Zone: "Europe/Berlin"}
	monday := time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC) // 07:00 there
	midnight, by, expected := deadline(e, monday)
	if !expected || !by.Equal(time.Date(2026, 11, 30, 7, 30, 0, 0, time.UTC)) || !midnight.Equal(time.Date(2026, 11, 29, 23, 0, 0, 0, time.UTC)) {
		t.Errorf("%v %v %v", midnight, by, expected)
	}
	if _, _, expected := deadline(e, monday.AddDate(0, 0, 2)); expected {
		t.Error("expected on a Wednesday")
	}
	if _, _, expected := deadline(&partners.Expect{}, monday); expected {
		t.Error("expected without an agreement")
	}
}

// The wait for a password is answered, and nothing else is guessed at.
func TestAnswers(t *testing.T) {
	t.Parallel()
	answer := answers("secret")
	for _, test := range []struct {
		questions []string
		echo      bool
		want      string
	}{
		{[]string{"Password: "}, false, "secret"}, {[]string{"(hub@host) Password:"}, false, "secret"}, {nil, false, ""},
		{[]string{"One-time password: "}, false, "!"}, {[]string{"Verification code: "}, false, "!"}, {[]string{"Password: "}, true, "!"},
		{[]string{"Password: ", "Token: "}, false, "!"}, {[]string{"New password: "}, false, "!"},
	} {
		got, err := answer("", "", test.questions, []bool{test.echo, test.echo})
		text := strings.Join(got, " ")
		if err != nil {
			text = "!"
		}
		if text != test.want {
			t.Errorf("%q is answered %q, %v", test.questions, text, err)
		}
	}
}
