package difference

import (
	"bytes"

	"firstcopy/dedup/interchange"
)

// A Unit is a segment, or a line.
type Unit struct {
	Text string
	key  string // equal for units that mean the same
}

// MaxUnits bounds how many units of a content are compared.
const MaxUnits = 50_000

// maxText bounds the octets of a unit that are shown.
const maxText = 2000

// Split takes a content apart: into segments if its separators are known, and
// else into lines, of which those of markup end between two tags as well, and
// begin behind their blanks. It reports whether that was all of it.
func Split(octets []byte, s interchange.Separators) (units []Unit, whole bool) {
	if bytes.HasPrefix(octets, []byte("UNA")) && len(octets) > 9 && octets[8] == s.Terminator {
		units = append(units, Unit{Text: interchange.Text(octets[:9]), key: "UNA"}) // what it says is in s
		octets = octets[9:]
	}
	octets = bytes.TrimPrefix(octets, []byte("\xef\xbb\xbf")) // a byte order mark means nothing
	tagged := bytes.HasPrefix(bytes.TrimLeft(octets, " \t\r\n"), []byte("<"))
	for len(octets) > 0 {
		if len(units) == MaxUnits {
			return units, false
		}
		var part []byte
		switch {
		case s.Terminator == 0 && tagged:
			part, octets = cutTag(octets)
			if part = bytes.TrimSpace(part); len(part) > 0 {
				units = append(units, line(part))
			}
			continue
		case s.Terminator == 0:
			part, octets, _ = bytes.Cut(octets, []byte("\n"))
			units = append(units, line(bytes.TrimSuffix(part, []byte("\r"))))
			continue
		}
		part, octets = cutSegment(octets, s)
		if part = oneLine(part, s); len(part) > 0 {
			units = append(units, Unit{Text: shown(part), key: meaning(part, s)})
		}
	}
	return units, true
}

func line(octets []byte) Unit { return Unit{Text: shown(octets), key: string(octets)} }

// cutTag cuts markup off up to a line break or the end of a tag that another
// one follows: documents in XML are often one line.
func cutTag(octets []byte) (first, rest []byte) {
	for i, c := range octets {
		switch {
		case c == '\n':
			return octets[:i], octets[i+1:]
		case c == '>' && i+1 < len(octets) && octets[i+1] == '<':
			return octets[:i+1], octets[i+1:]
		}
	}
	return octets, nil
}

// cutSegment cuts the first segment off. A released terminator ends none.
func cutSegment(octets []byte, s interchange.Separators) (first, rest []byte) {
	for i := 0; i < len(octets); i++ {
		switch c := octets[i]; {
		case c == s.Release && c != 0:
			i++
		case c == s.Terminator:
			return octets[:i], octets[i+1:]
		}
	}
	return octets, nil
}

// oneLine drops the line breaks of a wrapped file, and blanks before the tag.
func oneLine(part []byte, s interchange.Separators) []byte {
	if bytes.ContainsAny(part, "\r\n") {
		kept := make([]byte, 0, len(part))
		for _, c := range part {
			if c != '\r' && c != '\n' || c == s.Element || c == s.Component {
				kept = append(kept, c)
			}
		}
		part = kept
	}
	return bytes.TrimLeft(part, " \t")
}

func shown(part []byte) string {
	if len(part) > maxText {
		return interchange.Text(part[:maxText]) + "…"
	}
	return interchange.Text(part)
}

// Separators as the canonical form writes them, by ascending rank.
const (
	escape     = 0x1B
	element    = 0x1D
	repetition = 0x1E
	component  = 0x1F
)

// meaning writes a segment with separators of its own, without releases and
// without what is empty at the end of something.
func meaning(part []byte, s interchange.Separators) string {
	out := make([]byte, 0, len(part))
	var open []byte // separators that are written when data follow
	for i := 0; i < len(part); i++ {
		c := part[i]
		if as := separator(c, s); as != 0 {
			for len(open) > 0 && open[len(open)-1] > as {
				open = open[:len(open)-1]
			}
			open = append(open, as)
			continue
		}
		if c == s.Release && c != 0 && i+1 < len(part) {
			i++
			c = part[i]
		}
		out = append(out, open...)
		open = open[:0]
		if c >= escape && c <= component {
			out = append(out, escape)
		}
		out = append(out, c)
	}
	return string(out)
}

func separator(c byte, s interchange.Separators) byte {
	switch {
	case c == 0:
		return 0
	case c == s.Element:
		return element
	case c == s.Repetition:
		return repetition
	case c == s.Component:
		return component
	}
	return 0
}
