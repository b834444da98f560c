package interchange_test

import (
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// A message is an EDIFACT or X12 interchange before it is written down:
// segments of elements of components. Element 0 of a segment is its tag.
type message [][][]string

// A script is a way of writing one down.
type script struct {
	component, element, release, terminator string // release is "" in X12
	between                                 string // after every terminator
	wrap                                    int    // line length, 0 for none
	empties                                 int    // trailing empty elements and components
}

func (m message) clone() message {
	c := make(message, len(m))
	for i := range m {
		c[i] = make([][]string, len(m[i]))
		for j := range m[i] {
			c[i][j] = slices.Clone(m[i][j])
		}
	}
	return c
}

func (s script) write(m message) string {
	var b strings.Builder
	for _, segment := range m {
		for i, el := range segment {
			if i > 0 {
				b.WriteString(s.element)
			}
			for j, c := range el {
				if j > 0 {
					b.WriteString(s.component)
				}
				b.WriteString(s.released(c))
			}
			if i > 0 {
				b.WriteString(strings.Repeat(s.component, s.empties))
			}
		}
		b.WriteString(strings.Repeat(s.element, s.empties) + s.terminator + s.between)
	}
	if s.wrap == 0 {
		return b.String()
	}
	return wrap(b.String(), s.wrap)
}

func (s script) released(c string) string {
	var b strings.Builder
	for i := range len(c) {
		if s.release != "" && strings.Contains(s.component+s.element+s.release+s.terminator, c[i:i+1]) {
			b.WriteString(s.release)
		}
		b.WriteByte(c[i])
	}
	return b.String()
}

var (
	// datum holds what must be released, escaped or left alone; dates and blanks
	// at either end are data too.
	datum = rapid.StringOfN(rapid.SampledFrom([]rune("aZ09 .+:?'*^|~\u00e4\x1b\x1d\x1f-")), 1, 12, -1)
	// plainDatum is what X12 can carry in any script.
	plainDatum = rapid.StringOfN(rapid.SampledFrom([]rune("aZ09 .\u00e4-")), 1, 12, -1)
	segmentTag = rapid.SampledFrom([]string{"LIN", "FTX", "NAD", "BGM", "S01", "REF", "N1", "END"})
)

func segments(data *rapid.Generator[string]) *rapid.Generator[message] {
	element := rapid.SliceOfN(rapid.OneOf(rapid.Just(""), data), 1, 4)
	return rapid.Custom(func(t *rapid.T) message {
		var m message
		for range rapid.IntRange(1, 8).Draw(t, "segments") {
			segment := [][]string{{segmentTag.Draw(t, "tag")}}
			m = append(m, append(segment, rapid.SliceOfN(element, 1, 6).Draw(t, "elements")...))
		}
		return m
	})
}

// edifactModel has S004 in element 4 of the first segment.
var edifactModel = rapid.Custom(func(t *rapid.T) message {
	name := rapid.StringMatching(`[A-Z][A-Z+:' ?]{0,5}[A-Z]`)
	body := segments(datum).Draw(t, "body")
	ref := name.Draw(t, "reference")
	m := message{
		{{"UNB"}, {"UNOC", "3"}, {name.Draw(t, "sender"), "14"}, {name.Draw(t, "recipient")}, {"260301", "0930"}, {ref}, {""}, {"ORDERS"}},
		{{"UNG"}, {"ORDERS"}, {"A"}, {"B"}, {"260301", "0930"}, {"G1"}, {"UN"}, {"D", "96A"}},
		{{"UNH"}, {"1"}, {"ORDERS", "D", "96A", "UN"}},
	}
	m = append(m, body...)
	return append(m, message{{{"UNT"}, {strconv.Itoa(len(body) + 2)}, {"1"}}, {{"UNE"}, {"1"}, {"G1"}}, {{"UNZ"}, {"1"}, {ref}}}...)
})

var edifactScript = rapid.Custom(func(t *rapid.T) script {
	chars := rapid.Permutation(strings.Split("+:?'*@#^|~$", "")).Draw(t, "service characters")
	return script{
		component: chars[0], element: chars[1], release: chars[2], terminator: chars[3],
		between: rapid.SampledFrom([]string{"", "\r\n", "\n  \t"}).Draw(t, "between"),
		wrap:    rapid.SampledFrom([]int{0, 0, 35, 50, 80}).Draw(t, "wrap"),
		empties: rapid.IntRange(0, 2).Draw(t, "empties"),
	}
})

func (s script) edifact(m message) string {
	return "UNA" + s.component + s.element + "." + s.release + " " + s.terminator + s.between + s.write(m)
}

// x12Model is without ISA, which has a form of its own.
var x12Model = rapid.Custom(func(t *rapid.T) message {
	body := segments(plainDatum).Draw(t, "body")
	m := message{
		{{"GS"}, {"PO"}, {"A"}, {"B"}, {"20260301"}, {"0930"}, {"5"}, {"X"}, {"005010"}},
		{{"ST"}, {"850"}, {"0001"}},
	}
	m = append(m, body...)
	return append(m, message{{{"SE"}, {strconv.Itoa(len(body) + 2)}, {"0001"}}, {{"GE"}, {"1"}, {"5"}}, {{"IEA"}, {"1"}, {"000000077"}}}...)
})

var x12Script = rapid.Custom(func(t *rapid.T) script {
	chars := rapid.Permutation(strings.Split("+:?'*@#^|~$\x1c\x1d\x1f", "")).Draw(t, "separators")
	s := script{
		component: chars[0], element: chars[1], terminator: chars[2],
		between: rapid.SampledFrom([]string{"", "\r\n", "\n  "}).Draw(t, "between"),
		wrap:    rapid.SampledFrom([]int{0, 0, 50, 80}).Draw(t, "wrap"),
		empties: rapid.IntRange(0, 2).Draw(t, "empties"),
	}
	if s.wrap == 0 && rapid.Bool().Draw(t, "lines") {
		s.terminator, s.between = "\n", ""
	}
	return s
})

func (s script) x12(m message, date, time string) string {
	header := strings.NewReplacer("*", s.element, ":", s.component, "~", s.terminator, "260301", date, "0930", time).Replace(isa)
	whole := header + s.between
	plain := s
	plain.wrap = 0
	whole += plain.write(m)
	if s.wrap == 0 {
		return whole
	}
	return wrap(whole, s.wrap)
}
