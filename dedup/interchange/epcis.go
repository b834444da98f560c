package interchange

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"firstcopy/dedup/interchange/internal/eventhash"
	"firstcopy/dedup/interchange/internal/xmltoken"
)

// An EPCIS document has no identity of its own, and may be captured in parts:
// what counts are its events. An event's key is its eventID, or where it has
// none its hash id (CBV 2.0 §8.9). An error declaration repeats the event with
// its eventID (EPCIS 2.0 §7.4.1.4) and must not be taken for a copy of it, so
// its key has "+errorDeclaration+" and the time of the declaration behind.
//
// The content of a document is the set of the hashes of its events, declarations
// and master data, whatever else stands around them: in XML and in JSON, in any
// order, it is the same.

// maxHashes bounds how many hashes are held to be sorted: 2 MiB of them. The
// events of a longer document have an order every so many.
const maxHashes = 1 << 16

// A hashSet digests a set.
type hashSet struct {
	list [][sha256.Size]byte
	sums []byte // of what was too much for list
}

func (h *hashSet) reset() { h.list, h.sums = h.list[:0], h.sums[:0] }

func (h *hashSet) add(sum [sha256.Size]byte) {
	if len(h.list) == maxHashes {
		sum := h.settle()
		h.reset()
		h.sums = append(h.sums, sum[:]...)
	}
	h.list = append(h.list, sum)
}

// take makes the set the same as another.
func (h *hashSet) take(other *hashSet) {
	h.list, h.sums = append(h.list[:0], other.list...), append(h.sums[:0], other.sums...)
}

func (h *hashSet) empty() bool { return len(h.list) == 0 && len(h.sums) == 0 }

// settle returns the digest of the set so far.
func (h *hashSet) settle() (sum [sha256.Size]byte) {
	slices.SortFunc(h.list, func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
	digest := sha256.New()
	digest.Write(h.sums)
	for _, sum := range slices.Compact(h.list) {
		digest.Write(sum[:])
	}
	digest.Sum(sum[:0])
	return sum
}

// An eventSet is what is known of the events of a document.
type eventSet struct {
	open  bool
	event eventhash.Event

	hashes    hashSet
	keys      hashSet  // instead of the hashes, if some have keys of their own
	claimed   bool     // some have
	listed    []string // the keys, if they are few
	uncounted bool     // they are not
	key       []byte
}

func (s *eventSet) reset() {
	s.open = false
	s.hashes.reset()
	s.keys.reset()
	s.claimed, s.listed, s.uncounted = false, nil, false
}

// shrink gives the memory of a large document back.
func (s *eventSet) shrink() {
	if s.event.Large() || cap(s.hashes.list) > maxHashes/16 {
		*s = eventSet{}
	}
}

// take adds the event that is complete, and makes a message of it if one is
// wanted.
func (s *eventSet) take(wanted bool) (msg Message) {
	e := &s.event
	sum := e.Sum()
	key := append(s.key[:0], e.Get("eventID")...)
	claimed := len(key) > 0
	if !claimed {
		key = eventhash.AppendID(key, sum)
	}
	of := len(key)
	declared := e.Has("errorDeclaration")
	if declared {
		sum = sha256.Sum256(append(sum[:], e.Declaration()...))
		key = eventhash.AppendTime(append(key, "+errorDeclaration+"...), e.Get("errorDeclaration", "declarationTime"))
	}
	s.key = key
	s.addKey(key, sum, claimed || declared)
	content := sha256.Sum256(e.Content())
	s.hashes.add(content)
	if !wanted {
		return msg
	}
	msg = Message{Group: -1, Type: brief(e.Type()), Number: brief(key), Date: brief(e.Get("eventTime")), Declared: -1, Digest: content}
	if declared {
		msg.Function, msg.Effect = "error-declaration", Cancel
		if of <= maxDocumentIdentity {
			msg.Predecessors = []string{Text(key[:of])}
		}
	}
	return msg
}

// addKey adds the key of an event, or of master data, which is either its own
// or only another way to write the sum that is about to be added.
func (s *eventSet) addKey(key []byte, sum [sha256.Size]byte, own bool) {
	if own && !s.claimed {
		s.claimed = true
		s.keys.take(&s.hashes)
	}
	switch {
	case own:
		s.keys.add(sha256.Sum256(key))
	case s.claimed:
		s.keys.add(sum)
	}
	if s.uncounted = s.uncounted || len(s.listed) == maxControls/16 || len(key) > maxDocumentIdentity; !s.uncounted {
		s.listed = append(s.listed, Text(key))
	}
}

// keySet digests the keys.
func (s *eventSet) keySet() *hashSet {
	if s.claimed {
		return &s.keys
	}
	return &s.hashes
}

// addDocument adds master data.
func (s *eventSet) addDocument(sum [sha256.Size]byte) {
	s.addKey([]byte("sha256:"+hex.EncodeToString(sum[:])), sum, false)
	s.hashes.add(sum)
}

// The hooks of XML.

func (m *markup) openEvent() {
	m.events.event.Reset(m.x.Local(m.x.Name))
	m.events.open, m.opened = true, m.x.Depth()
}

// eventStart continues the event. The elements in which EPCIS 1 wraps what it
// had forgotten are passed over.
func (m *markup) eventStart() {
	e, x := &m.events.event, m.x
	if x.Depth() == m.opened {
		return
	}
	if wrapper(x) {
		return
	}
	e.Open(x.Space(x.Name), x.Local(x.Name))
	for i := range x.Attrs {
		a := &x.Attrs[i]
		e.Attr(x.Space(a.Name), x.Local(a.Name), a.Value)
	}
}

// wrapper tells the elements that only make room (EPCIS 1.2 §9.1).
func wrapper(x *xmltoken.Reader) bool {
	if x.Space(x.Name) != "" {
		return false
	}
	local := x.Local(x.Name)
	return local == "extension" || local == "baseExtension"
}

func (m *markup) eventEnd() {
	switch {
	case m.x.Depth() == m.opened:
		m.closeEvent()
	case !wrapper(m.x):
		m.events.event.Close()
	}
}

func (m *markup) closeEvent() {
	set := &m.events
	set.open = false
	if set.event.TooMuch() {
		m.tooMuch = true
		return
	}
	m.addType(m.ic, set.event.Type())
	wanted := m.room()
	if msg := set.take(wanted); wanted {
		m.ic.Messages = append(m.ic.Messages, msg)
	}
}

// What is kept of an EPCIS document.
const (
	epcisVersion field = 1 + iota
	epcisCreated
	epcisSender
	epcisRecipient
)

var epcisXML = &dialect{standard: EPCIS, silent: true, root: epcisPaths(), identify: (*markup).epcisIdentify}

func epcisPaths() *step {
	const header = "EPCISHeader/sh:StandardBusinessDocumentHeader/"
	root := paths(
		path{field: epcisVersion, to: "@schemaVersion"},
		path{field: epcisCreated, to: "@creationDate"},
		path{field: epcisSender, to: header + "sh:Sender/sh:Identifier", qualifier: "Authority"},
		path{field: epcisRecipient, to: header + "sh:Receiver/sh:Identifier", qualifier: "Authority"},
	)
	for _, list := range [...]string{"EPCISBody/EventList", "EPCISBody/QueryResults/resultsBody/EventList",
		"EPCISBody/q1:QueryResults/resultsBody/EventList",
		"EPCISBody/q2:QueryResults/resultsBody/EventList"} {
		events := root.add(list)
		for _, where := range [...]string{"", "extension/", "extension/extension/"} {
			events.add(where + "*").event = true
		}
	}
	root.add("EPCISBody").closed = true
	for _, data := range [...]string{"EPCISHeader/extension/EPCISMasterData", "EPCISHeader/EPCISMasterData"} {
		root.add(data).document = func(*xmltoken.Reader) *dialect { return anyDocument }
	}
	return root
}

func (m *markup) epcisIdentify() {
	r, ic := &m.envelope, m.ic
	ic.Version = brief(r.get(epcisVersion))
	m.setParties(identity{sender: r.get(epcisSender), senderQualifier: r.kind(epcisSender), recipient: r.get(epcisRecipient),
		recipientQualifier: r.kind(epcisRecipient)})
	m.identifyEvents(r.get(epcisCreated))
}

// identifyEvents makes the reference and the content of the events.
func (m *markup) identifyEvents(created []byte) {
	ic := m.ic
	date, clock, _ := bytes.Cut(created, []byte("T"))
	ic.Date, ic.Time = brief(date), brief(clock)
	s := &m.events
	switch {
	case m.tooMuch:
		m.flag(outOfBounds)
		ic.Standard = Content
		return
	case m.beside: // it would not count
		m.flag(besideEvents)
		ic.Standard = Content
		return
	case s.hashes.empty():
		m.flag(noDocument)
		ic.Standard = Content
		return
	}
	ic.Content = s.hashes.settle()
	m.setControls(s.listed, s.uncounted, s.keySet())
}
