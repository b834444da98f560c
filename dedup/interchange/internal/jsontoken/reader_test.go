package jsontoken_test

import (
	"fmt"
	"strings"
	"testing"

	"firstcopy/dedup/interchange/internal/jsontoken"
)

// A slice is a source that gives no more than it is asked for, or everything.
type slice struct {
	octets  string
	stingy  bool
	scratch []byte
}

func (s *slice) Need(n int) []byte {
	if !s.stingy || n > len(s.octets) {
		n = len(s.octets)
	}
	s.scratch = append(s.scratch[:0], s.octets[:n]...) // what was given before is void
	return s.scratch
}

func (s *slice) Advance(n int) { s.octets = s.octets[n:] }

// read returns the tokens of a document in a readable form, what is left behind
// it, and the fault.
func read(j *jsontoken.Reader, document string, stingy bool) (tokens, rest string, _ jsontoken.Fault) {
	src := &slice{octets: document, stingy: stingy}
	var b strings.Builder
	for j.Open(src); ; {
		switch j.Next() {
		case jsontoken.Broken:
			return b.String(), "", j.Fault
		case jsontoken.ObjectStart:
			b.WriteString("{ ")
		case jsontoken.ObjectEnd:
			b.WriteString("} ")
		case jsontoken.ArrayStart:
			b.WriteString("[ ")
		case jsontoken.ArrayEnd:
			b.WriteString("] ")
		case jsontoken.Member:
			fmt.Fprintf(&b, "%q: ", j.Text)
		case jsontoken.String:
			fmt.Fprintf(&b, "%q ", j.Text)
		case jsontoken.Number, jsontoken.True, jsontoken.False, jsontoken.Null:
			fmt.Fprintf(&b, "%s ", j.Text)
		}
		if j.Depth() == 0 {
			j.Close()
			return b.String(), src.octets, jsontoken.NoFault
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	j := jsontoken.New()
	for _, c := range []struct{ document, want string }{
		{`{}`, `{ } `},
		{" [ ] ", `[ ] `},
		{`{"a":1,"b":[true,false,null,"x"],"c":{"a":-1.5e+3}}`, `{ "a": 1 "b": [ true false null "x" ] "c": { "a": -1.5e+3 } } `},
		{`{"a":"\"\\\/\b\f\n\r\t\u0041\ud83d\ude00é"}`, `{ "a": "\"\\/\b\f\n\r\tA😀é" } `},
		{`{"":""}`, `{ "": "" } `},
		{`"x"`, `"x" `},
		{`{"` + strings.Repeat("x", 5000) + `":0}`, `{ "` + strings.Repeat("x", 5000) + `": 0 } `},
	} {
		for _, stingy := range []bool{false, true} {
			if got, _, fault := read(j, c.document, stingy); got != c.want || fault != jsontoken.NoFault {
				t.Errorf("%.80q\nis %.80q, fault %d\nwant %.80q", c.document, got, fault, c.want)
			}
		}
	}
	if _, rest, _ := read(j, `{} {"b"`, false); rest != ` {"b"` {
		t.Errorf("the rest is %q", rest)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	j := jsontoken.New()
	var members strings.Builder
	for i := range 100 {
		fmt.Fprintf(&members, `"m%d":0,`, i)
	}
	for _, c := range []struct {
		document string
		want     jsontoken.Fault
	}{
		{"", jsontoken.Truncated},
		{"{", jsontoken.Truncated},
		{`{"a`, jsontoken.Truncated},
		{`{"a"`, jsontoken.Truncated},
		{`{"a":`, jsontoken.Truncated},
		{`{"a":1`, jsontoken.Truncated},
		{`{"a":1,`, jsontoken.Truncated},
		{`[tr`, jsontoken.Truncated},
		{`["\u00`, jsontoken.Truncated},
		{`{a:1}`, jsontoken.Malformed},
		{`{"a" 1}`, jsontoken.Malformed},
		{`{"a":1,}`, jsontoken.Malformed},
		{`{"a":1 "b":2}`, jsontoken.Malformed},
		{`[1,]`, jsontoken.Malformed},
		{`[}`, jsontoken.Malformed},
		{`[01]`, jsontoken.Malformed},
		{`[1.]`, jsontoken.Malformed},
		{`[-]`, jsontoken.Malformed},
		{`[1e]`, jsontoken.Malformed},
		{`[.5]`, jsontoken.Malformed},
		{`[truth]`, jsontoken.Malformed},
		{`["\x"]`, jsontoken.Malformed},
		{`["\u00zz"]`, jsontoken.Malformed},
		{"[\"\x00\"]", jsontoken.Characters},
		{"[\"\xff\"]", jsontoken.Characters},
		{`["\ud800 not a pair"]`, jsontoken.Characters},
		{`{"a":1,"a":2}`, jsontoken.Duplicate},
		{`{"a":1,"\u0061":2}`, jsontoken.Duplicate},
		{`{` + members.String() + `"m7":0}`, jsontoken.Duplicate},
		{strings.Repeat("[", jsontoken.MaxDepth+1), jsontoken.Bounds},
		{`["` + strings.Repeat("x", jsontoken.MaxValue+1) + `"]`, jsontoken.Bounds},
		{`[` + strings.Repeat("1", jsontoken.MaxValue+1) + `]`, jsontoken.Bounds},
	} {
		for _, stingy := range []bool{false, true} {
			if got, _, fault := read(j, c.document, stingy); fault != c.want {
				t.Errorf("%.80q: fault %d, want %d; read %.80q", c.document, fault, c.want, got)
			}
		}
	}
	if _, _, fault := read(j, `{`+members.String()+`"a":{"m7":0}}`, false); fault != jsontoken.NoFault {
		t.Errorf("the same name in another object: fault %d", fault)
	}
}
