package interchange

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Junk before a header, such as the lines a network adds: how many octets that
// are not blank are tolerated, and within how many octets in all.
const (
	maxJunk      = 64
	maxJunkReach = 4 << 10
)

// maxHeaders bounds the headers of all interchanges of a payload, in octets;
// usual ones have some hundred each.
const maxHeaders = 4 << 20

// A reader is what is known of one standard: how its interchanges begin, by
// their first octets, and how one of them is read. Further standards are added
// to the table below.
type reader struct {
	// begins judges octets that may be cut off after at least 4 KiB.
	begins func(b []byte) bool
	// read fills in an interchange whose header is at the current position. It
	// leaves the position after the trailer, before the header of the next
	// interchange if that comes first, or at the end of the payload.
	read func(s *scanner, ic *Interchange)
}

var readers = [...]reader{
	{begins: edifactBegins, read: readEDIFACT},
	{begins: x12Begins, read: readX12},
	{begins: tradacomsBegins, read: readTRADACOMS},
	{begins: hl7Begins, read: readHL7},
	{begins: vdaBegins, read: readVDA},
	{begins: xmlBegins, read: readXML},
	{begins: mimeBegins, read: readMIME},
	{begins: jsonBegins, read: readJSON},
}

// A scanner is at work on one payload.
type scanner struct {
	window
	// whole takes the canonical form of an interchange, part that of the message
	// that is open; form is the one that segments go to.
	whole, part canon
	form        *canon
	formName    string
	spare       *markup // to read the next one with

	found  []Interchange
	listed int               // groups, messages and predecessors of all
	heads  int               // octets in the headers of all
	odd    irregularSet      // of the last one found
	intern map[string]string // texts of types and functions, by their octets
}

var scanners = sync.Pool{New: func() any {
	return &scanner{
		window: newWindow(),
		whole:  newCanon(),
		part:   newCanon(),
		intern: make(map[string]string),
	}
}}

// Scan returns the interchanges of a payload in the order of their extents, at
// least one: an empty or unknown payload is one interchange of Standard
// Content. It never fails on what it reads; an error is one of r's, wrapped.
func Scan(r io.Reader) ([]Interchange, error) {
	s := scanners.Get().(*scanner)
	defer scanners.Put(s)
	s.open(r)
	defer s.close()
	s.scan()
	if s.err != nil {
		return nil, fmt.Errorf("interchange: reading the payload: %w", s.err)
	}
	return s.found, nil
}

// close leaves nothing behind but buffers.
func (s *scanner) close() {
	s.raw.stop()
	s.whole.digest.stop()
	s.part.digest.stop()
	s.r, s.found, s.odd, s.listed, s.heads = nil, nil, 0, 0, 0
	clear(s.intern)
}

func (s *scanner) scan() {
	for {
		at, rd := s.seek()
		switch {
		case rd != nil && len(s.found) == MaxInterchanges:
			s.rest(at, tooMany)
			return
		case rd != nil:
			s.begin(at)
			rd.read(s, s.last())
		case at < 0 && len(s.found) > 0:
			s.drain()
			s.finish()
			return
		default:
			s.rest(at, unrecognised)
			return
		}
	}
}

// seek looks for the next header. It returns its reader and its distance. With
// no header it returns the distance of the content that is not one, or -1 if
// nothing but blanks and a little junk is left. Blanks are passed over.
func (s *scanner) seek() (at int, rd *reader) {
	for n := blanks(s.need(lookahead)); n > 0; n = blanks(s.need(lookahead)) {
		s.advance(n)
	}
	b := s.need(lookahead)
	reach := min(len(b), maxJunkReach)
	junk := 0
	// A header in the middle of a word is none. A stray terminator is no word.
	apart := true
	for i := 0; i < reach && junk <= maxJunk; i++ {
		if apart {
			rd = reading(b[i:])
		}
		if rd != nil {
			if i > 0 && len(s.found) == 0 {
				s.odd.add(junkBefore)
			} else if i > 0 {
				s.odd.add(junkAfter)
			}
			return i, rd
		}
		n := blanks(b[i:reach])
		if n == 0 {
			junk++
		}
		apart = n > 0 || b[i] == '\''
		i += max(n-1, 0)
	}
	if junk > maxJunk || reach < len(b) {
		return 0, nil
	}
	if len(b) > 0 {
		s.odd.add(junkAfter)
	}
	return -1, nil
}

// reading returns the reader of the standard whose header b is.
func reading(b []byte) *reader {
	for i := range readers {
		if readers[i].begins(b) {
			return &readers[i]
		}
	}
	return nil
}

// blanks counts octets that mean nothing between interchanges: white space,
// the filling of fixed records, the end-of-file mark of CP/M and MS-DOS, the
// frame of HL7's blocks, and byte order marks, which stand in the middle where
// files were joined.
func blanks(b []byte) int {
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case ' ', '\t', '\r', '\n', 0, 0x1A, 0x0B, blockEnd:
		case 0xEF:
			if i+3 > len(b) || b[i+1] != 0xBB || b[i+2] != 0xBF {
				return i
			}
			i += 2
		default:
			return i
		}
	}
	return len(b)
}

func (s *scanner) last() *Interchange { return &s.found[len(s.found)-1] }

// begin starts an interchange at distance n, ending the one before it.
func (s *scanner) begin(n int) {
	var start int64
	before := s.odd
	s.advance(n)
	if len(s.found) > 0 {
		s.finish()
		start, before = s.offset(), 0
	}
	s.found = append(s.found, Interchange{Start: start})
	s.odd = before
}

// rest makes the remaining payload, from distance n on, one interchange of
// Standard Content, for a reason that counts if it is not all of the payload.
func (s *scanner) rest(n int, why irregularity) {
	if len(s.found) > 0 {
		s.begin(n)
		s.flag(why)
	} else {
		s.odd = 0
		s.found = append(s.found, Interchange{})
	}
	s.last().Standard = Content
	s.explain(s.need(lookahead))
	s.drain()
	s.finish()
}

// beginForm starts the canonical form of an interchange.
func (s *scanner) beginForm(name string, syn *syntax) {
	s.form, s.formName = &s.whole, name
	s.whole.begin(name, syn)
}

// openPart starts the canonical form of a message.
func (s *scanner) openPart() {
	s.form = &s.part
	s.part.begin(s.formName, s.whole.syntax)
}

// closePart ends that of a message, whose references are given as they stand.
func (s *scanner) closePart(header, trailer []byte) [sha256.Size]byte {
	digest := s.part.sum()
	s.form = &s.whole
	s.whole.message(header, trailer, digest)
	return digest
}

// explain tells why content that looks like an interchange is none. Its octets
// are not decoded: a reference that depended on that would be another one where
// a network decodes on the way.
func (s *scanner) explain(b []byte) {
	begins := func(some ...string) bool {
		return slices.ContainsFunc(some, func(p string) bool { return bytes.HasPrefix(b, []byte(p)) })
	}
	switch {
	case begins("\xFF\xFE", "\xFE\xFF", "U\x00N\x00", "\x00U\x00N", "I\x00S\x00A\x00", "\x00I\x00S\x00A", "<\x00", "\x00<"):
		s.flag(utf16Text)
	case begins("\xC9\xE2\xC1", "\xE4\xD5\xC1", "\xE4\xD5\xC2"): // ISA, UNA, UNB
		s.flag(ebcdicText)
	case begins("UNH+", "UNG+", "UIH+", "GS*", "ST*", "MHD="):
		s.flag(noHeader)
	}
}

func (s *scanner) flag(i irregularity) { s.odd.add(i) }

// finish completes the last interchange at the current position.
func (s *scanner) finish() {
	ic := s.last()
	ic.End, ic.Raw = s.offset(), s.cut()
	if ic.Standard == Content {
		ic.Reference = Reference{Standard: Content, Control: "sha256:" + hex.EncodeToString(ic.Raw[:])}
		ic.Content = ic.Raw
	}
	if s.heads += len(ic.Header); s.heads > maxHeaders {
		ic.Header = nil
	}
	slices.Sort(ic.MessageTypes)
	ic.Irregular = s.odd.texts()
	s.odd = 0
}
