package functional

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"firstcopy/dedup/interchange"
)

// An isa holds what an answer needs of the subject's ISA, without padding.
type isa struct {
	senderQualifier, sender       string // ISA05, ISA06
	recipientQualifier, recipient string // ISA07, ISA08
	date, time                    string // ISA09, ISA10
	version                       string // ISA12
	control                       string // ISA13, nine digits
	acknowledge                   string // ISA14
	usage                         string // ISA15
}

// unpadded gives what editors and mail gateways make of blanks one spelling, and
// leaves out their line breaks.
var unpadded = strings.NewReplacer("\r", "", "\n", "", "\t", " ", "\u00A0", " ")

// parseISA reads ISA by its separators, whatever became of its padding, and
// judges what every answer copies.
func parseISA(x *interchange.Interchange) (isa, error) {
	el := bytes.Split(x.Header, []byte{x.Separators.Element})
	if len(el) < 16 {
		return isa{}, unanswerable("ISA has %d elements", len(el)-1)
	}
	at := func(i int) string { return strings.Trim(unpadded.Replace(string(el[i])), " ") }
	h := isa{senderQualifier: at(5), sender: at(6), recipientQualifier: at(7), recipient: at(8), date: at(9), time: at(10),
		version: at(12), control: at(13), acknowledge: at(14), usage: at(15)}
	if number, err := strconv.ParseUint(h.control, 10, 64); err == nil && number <= 999_999_999 {
		h.control = fmt.Sprintf("%09d", number)
	} else {
		return h, unanswerable("no valid control number (ISA13)")
	}
	switch {
	case !inISA(h.senderQualifier, h.sender):
		return h, unanswerable("no valid sender (ISA05, ISA06)")
	case !inISA(h.recipientQualifier, h.recipient):
		return h, unanswerable("no valid recipient (ISA07, ISA08)")
	case len(h.version) != 5 || !digits(h.version):
		return h, unanswerable("no valid version (ISA12)")
	}
	return h, nil
}

// inISA tells whether an identity can stand in an ISA: its fields are of fixed
// length, counted in octets.
func inISA(qualifier, id string) bool {
	return len(qualifier) == 2 && fits(qualifier, 2) && id != "" && len(id) <= 15 && fits(id, 15)
}

// A sets writes X12 segments. X12 has no release character: the separators are
// chosen so that no copied value holds one.
type sets struct {
	b                                          bytes.Buffer
	element, component, repetition, terminator byte
	count                                      int
}

// separatorsFor chooses separators that occur in none of the values: the usual
// ones, else those of the subject, else others of the extended character set.
func separatorsFor(values []string, subject interchange.Separators) (*sets, error) {
	text := strings.Join(values, "")
	taken := map[byte]bool{0: true, ' ': true}
	choose := func(usual, theirs byte) byte {
		for _, c := range append([]byte{usual, theirs}, `*~:^>|!;{}[]<=%@"&?+,$#_`...) {
			alphanumeric := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
			if !taken[c] && c > ' ' && c < 0x7F && !alphanumeric && strings.IndexByte(text, c) < 0 {
				taken[c] = true
				return c
			}
		}
		return 0
	}
	w := &sets{element: choose('*', subject.Element), terminator: choose('~', subject.Terminator),
		component: choose(':', subject.Component), repetition: choose('^', subject.Repetition)}
	if w.element == 0 || w.terminator == 0 || w.component == 0 || w.repetition == 0 {
		return nil, unanswerable("the values to be copied leave no separators")
	}
	return w, nil
}

func (w *sets) add(tag string, el ...string) {
	w.count++
	for len(el) > 0 && el[len(el)-1] == "" {
		el = el[:len(el)-1]
	}
	w.b.WriteString(tag)
	for _, e := range el {
		w.b.WriteByte(w.element)
		w.b.WriteString(e)
	}
	w.b.WriteByte(w.terminator)
}

// open writes ISA, always of 106 octets: what strips the padding breaks readers
// (X12.5 has fixed lengths for that).
func (w *sets) open(h *isa, o Options) {
	usage, standard := "P", "U"
	if h.usage == "T" {
		usage = "T"
	}
	if h.version >= "00402" {
		standard = string(w.repetition)
	}
	blank := strings.Repeat(" ", 10)
	w.add("ISA", "00", blank, "00", blank, h.recipientQualifier, pad(h.recipient), h.senderQualifier, pad(h.sender),
		o.At.Format("060102"), o.At.Format("1504"), standard, h.version, control(o), "0", usage, string(w.component))
}

func (w *sets) close(groups int, o Options) { w.add("IEA", strconv.Itoa(groups), control(o)) }

func control(o Options) string { return fmt.Sprintf("%09d", o.Numbers[0]) }

func pad(id string) string { return fmt.Sprintf("%-15s", id) }
