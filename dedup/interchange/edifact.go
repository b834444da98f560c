package interchange

import "bytes"

// Segment tags that structure an EDIFACT interchange (ISO 9735-1 §7).
const (
	tagUNA tag = 'U'<<16 | 'N'<<8 | 'A'
	tagUNB tag = 'U'<<16 | 'N'<<8 | 'B'
	tagUNG tag = 'U'<<16 | 'N'<<8 | 'G'
	tagUNH tag = 'U'<<16 | 'N'<<8 | 'H'
	tagUNO tag = 'U'<<16 | 'N'<<8 | 'O'
	tagUNT tag = 'U'<<16 | 'N'<<8 | 'T'
	tagUNE tag = 'U'<<16 | 'N'<<8 | 'E'
	tagUNZ tag = 'U'<<16 | 'N'<<8 | 'Z'
	tagBGM tag = 'B'<<16 | 'G'<<8 | 'M'
)

// edifactTags are the beginnings of the tags above.
var edifactTags = newTagSet("UN", "BG")

// S004 of UNG is element 4; the canonical form leaves it empty.
const groupDate = 1 << 4

// An edifact reads one EDIFACT interchange.
type edifact struct {
	*scanner
	ic     *Interchange
	syntax syntax
	header []byte // UNB without its terminator
	ref    []byte // 0020 of UNZ

	groups, messages int // outside of groups: messages
	inGroup          *level
	inMessage        *level
	hasFunction      bool // of the message
	spare            [2]level
}

// A level is an open group or message.
type level struct {
	ref   []byte
	count int // messages of the group, segments of the message
}

func (l *level) open(ref []byte) *level {
	l.ref, l.count = append(l.ref[:0], ref...), 0
	return l
}

func readEDIFACT(s *scanner, ic *Interchange) {
	e := edifact{scanner: s, ic: ic}
	ic.Standard = EDIFACT
	e.serviceCharacters()
	s.canon.begin("edifact-c1", &e.syntax)
	e.readHeader()
	for !ic.Complete {
		passed := s.takeOrdinary(&e.syntax, &edifactTags)
		if e.inMessage != nil {
			e.inMessage.count += passed
		}
		seg, ok := s.next(&e.syntax)
		if !ok {
			break
		}
		if edifactMayBegin(seg.body) && edifactBegins(s.need(lookahead)) {
			s.flag(truncated)
			ic.Standard = Content // see Interchange.Complete; the next one may bear the same reference
			break
		}
		if e.inMessage != nil && len(seg.body) > 0 {
			e.inMessage.count++
		}
		var skip uint32
		if c := first(seg.body); c == 'U' || c == 'B' {
			skip = e.structure(e.syntax.tag(seg.body), seg.body)
		}
		s.take(seg, skip)
	}
	if !ic.Complete {
		s.flag(noTrailer)
		e.endMessage()
		e.endGroup()
	}
	e.identify()
}

func first(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

// readHeader keeps UNB aside: it enters the canonical form last.
func (e *edifact) readHeader() {
	seg, ok := e.next(&e.syntax)
	if !ok {
		return
	}
	if seg.long || len(seg.body) > headLimit {
		e.flag(headerTooLong)
		e.ic.Standard = Content
	}
	e.header = bytes.Clone(seg.body[:min(len(seg.body), headLimit)])
	if seg.long {
		e.take(seg, 0)
		return
	}
	e.advance(seg.width)
}

// structure follows groups and messages. It returns the elements that the
// canonical form leaves empty.
func (e *edifact) structure(t tag, body []byte) (skip uint32) {
	if t == 0 {
		return 0
	}
	var el [6][]byte
	switch t {
	case tagUNG:
		e.syntax.split(body, element, el[:])
		e.openGroup(e.syntax.simple(el[5]))
		return groupDate
	case tagUNH:
		e.syntax.split(body, element, el[:])
		e.openMessage(el[1], el[2])
	case tagUNO:
		e.countMessage()
	case tagBGM:
		e.syntax.split(body, element, el[:])
		e.function(e.syntax.simple(el[3]))
	case tagUNT:
		e.syntax.split(body, element, el[:])
		e.closeMessage(e.syntax.simple(el[1]), e.syntax.simple(el[2]))
	case tagUNE:
		e.syntax.split(body, element, el[:])
		e.closeGroup(e.syntax.simple(el[1]), e.syntax.simple(el[2]))
	case tagUNZ:
		e.syntax.split(body, element, el[:])
		e.closeInterchange(e.syntax.simple(el[1]), e.syntax.simple(el[2]))
	}
	return 0
}

func (e *edifact) openGroup(ref []byte) {
	e.endMessage()
	e.endGroup()
	e.groups++
	e.inGroup = e.spare[0].open(ref)
}

func (e *edifact) openMessage(ref, identifier []byte) {
	e.endMessage()
	e.countMessage()
	e.addType(e.ic, e.syntax.simple(identifier))
	e.inMessage = e.spare[1].open(e.syntax.simple(ref))
	e.inMessage.count = 1
	e.hasFunction = false
}

// countMessage counts a message or a package (UNO) where UNE or UNZ counts it.
func (e *edifact) countMessage() {
	if e.inGroup != nil {
		e.inGroup.count++
	} else {
		e.messages++
	}
}

// function takes up 1225 if it can be a code of its list; real messages hold
// dates there.
func (e *edifact) function(code []byte) {
	if e.inMessage == nil || e.hasFunction || len(code) == 0 || len(code) > 2 || number(code) <= 0 {
		return
	}
	e.hasFunction = true
	e.addFunction(e.ic, code)
}

func (e *edifact) closeMessage(count, ref []byte) {
	if e.inMessage == nil {
		e.flag(strayMessageTrailer)
		return
	}
	if number(count) != e.inMessage.count {
		e.flag(messageCount)
	}
	if !bytes.Equal(ref, e.inMessage.ref) {
		e.flag(messageControl)
	}
	e.inMessage = nil
}

func (e *edifact) closeGroup(count, ref []byte) {
	e.endMessage()
	if e.inGroup == nil {
		e.flag(strayGroupTrailer)
		return
	}
	if number(count) != e.inGroup.count {
		e.flag(groupCount)
	}
	if !bytes.Equal(ref, e.inGroup.ref) {
		e.flag(groupControl)
	}
	e.inGroup = nil
}

// closeInterchange checks 0036, which counts groups if there are any.
func (e *edifact) closeInterchange(count, ref []byte) {
	e.endMessage()
	e.endGroup()
	e.ic.Complete = true
	e.ref = bytes.Clone(ref)
	switch {
	case e.groups > 0 && e.messages > 0:
		e.flag(mixedGroups)
	case number(count) != e.groups+e.messages:
		e.flag(trailerCount)
	}
}

func (e *edifact) endMessage() {
	if e.inMessage != nil {
		e.flag(noMessageTrailer)
		e.inMessage = nil
	}
}

func (e *edifact) endGroup() {
	if e.inGroup != nil {
		e.flag(noGroupTrailer)
		e.inGroup = nil
	}
}
