package interchange

import (
	"bytes"
	"strings"
	"sync"

	"firstcopy/dedup/interchange/internal/eventhash"
	"firstcopy/dedup/interchange/internal/jsontoken"
)

var jsonReaders = sync.Pool{New: func() any { return jsontoken.New() }}

// A jsonKind is what a JSON document turns out to be.
type jsonKind uint8

const (
	otherJSON jsonKind = iota
	epcisDocument
	epcisEvent // one event that is a document of its own
)

// jsonBegins tells whether b begins an EPCIS document in JSON-LD, which must
// show in the members of its first 8 KiB.
func jsonBegins(b []byte) bool { return kindOfJSON(b) != otherJSON }

func kindOfJSON(b []byte) jsonKind {
	if len(b) < 2 || b[0] != '{' {
		return otherJSON
	}
	j := jsonReaders.Get().(*jsontoken.Reader)
	defer jsonReaders.Put(j)
	rest := octets(b[:min(len(b), lookahead)])
	j.Open(&rest)
	member := ""
	for {
		switch kind := j.Next(); {
		case kind == jsontoken.Broken, j.Depth() == 0:
			return otherJSON
		case j.Depth() > 1:
		case kind == jsontoken.Member:
			if member = string(j.Text); member == "epcisBody" {
				return epcisDocument
			}
		case kind == jsontoken.String && (member == "type" || member == "isA"):
			switch string(j.Text) {
			case "EPCISDocument", "EPCISQueryDocument":
				return epcisDocument
			case "ObjectEvent", "AggregationEvent", "TransactionEvent", "TransformationEvent", "AssociationEvent":
				return epcisEvent
			}
			return otherJSON
		}
	}
}

// An epcisJSON reads one EPCIS document in JSON-LD (EPCIS 2.0 §10.1).
type epcisJSON struct {
	*markup
	j        *jsontoken.Reader
	prefixes map[string]string // of compact URIs
	names    map[string]*jsonName
	kind     jsontoken.Kind // of the current token
	fault    irregularity
	broken   bool
}

func readJSON(s *scanner, ic *Interchange) {
	m := s.openMarkup(ic)
	defer m.close()
	e := epcisJSON{markup: m, j: jsonReaders.Get().(*jsontoken.Reader), prefixes: map[string]string{}, names: map[string]*jsonName{}}
	defer jsonReaders.Put(e.j)
	kind := kindOfJSON(s.need(lookahead))
	ic.Standard = EPCIS
	e.j.Open(source{&s.window})
	e.next()
	var created []byte
	if kind == epcisEvent {
		e.event()
	} else {
		created = e.document()
	}
	e.j.Close()
	if e.broken {
		s.flag(e.fault)
		ic.Standard, ic.Messages = Content, nil
		s.drain()
		return
	}
	ic.Complete = true
	m.identifyEvents(created)
}

var jsonFaults = [...]irregularity{
	jsontoken.Malformed:  malformed,
	jsontoken.Truncated:  noTrailer,
	jsontoken.Bounds:     outOfBounds,
	jsontoken.Characters: badCharacters,
	jsontoken.Duplicate:  duplicateMember,
}

// next moves to the next token; a document that is broken has no more.
func (e *epcisJSON) next() jsontoken.Kind {
	if e.broken {
		return jsontoken.Broken
	}
	if e.kind = e.j.Next(); e.kind == jsontoken.Broken {
		e.broken, e.fault = true, jsonFaults[e.j.Fault]
	}
	return e.kind
}

// A jsonName is what is known of the name of a member.
type jsonName struct {
	text         string
	space, local string             // of an extension
	property     eventhash.Property // of the standard
	element      *jsonName          // that a list has in XML
}

// maxNames bounds how many names are remembered, for the sake of speed.
const maxNames = 256

func (e *epcisJSON) name(b []byte) *jsonName {
	if name := e.names[string(b)]; name != nil {
		return name
	}
	text := string(b)
	name := &jsonName{text: text, property: eventhash.PropertyOf(text)}
	if prefix, local, ok := strings.Cut(text, ":"); ok && e.prefixes[prefix] != "" {
		name.space, name.local = e.prefixes[prefix], local
	}
	if element := epcisLists[text]; element != "" {
		name.element = &jsonName{text: element, property: eventhash.PropertyOf(element)}
	}
	if len(e.names) < maxNames {
		e.names[text] = name
	}
	return name
}

// members calls f for each member of the object that has begun, its value being
// the current token. f reads to the end of the value.
func (e *epcisJSON) members(f func(name *jsonName)) {
	for e.next() == jsontoken.Member {
		name := e.name(e.j.Text)
		e.next()
		f(name)
	}
}

// elements calls f for each element of the array that has begun.
func (e *epcisJSON) elements(f func()) {
	for kind := e.next(); kind != jsontoken.ArrayEnd && !e.broken; kind = e.next() {
		f()
	}
}

// skip passes over the current value.
func (e *epcisJSON) skip() {
	switch e.kind {
	case jsontoken.ObjectStart:
		e.members(func(*jsonName) { e.skip() })
	case jsontoken.ArrayStart:
		e.elements(e.skip)
	}
}

// document reads the members on the way to the events, wherever they stand.
func (e *epcisJSON) document() (created []byte) {
	e.members(func(member *jsonName) {
		switch name := member.text; {
		case name == "@context":
			e.context()
		case name == "schemaVersion" && e.kind == jsontoken.String:
			e.ic.Version = Text(e.j.Text[:min(len(e.j.Text), maxValue)])
		case name == "creationDate" && e.kind == jsontoken.String:
			created = bytes.Clone(e.j.Text[:min(len(e.j.Text), maxValue)])
		case name == "epcisHeader" && e.kind == jsontoken.ObjectStart:
			e.members(e.header)
		case (name == "epcisBody" || name == "queryResults" || name == "resultsBody") && e.kind == jsontoken.ObjectStart:
			e.members(e.body)
		default:
			e.skip()
		}
	})
	return created
}

// header looks for master data, which is hashed as an event would be.
func (e *epcisJSON) header(member *jsonName) {
	if member.text != "epcisMasterData" || e.kind != jsontoken.ObjectStart {
		e.skip()
		return
	}
	set := &e.events
	set.event.Reset("EPCISMasterData")
	set.event.Bare = true
	e.object("")
	if set.event.TooMuch() {
		e.tooMuch = true
		return
	}
	sum := set.event.Sum()
	set.addDocument(sum)
	e.addMessage(Message{Group: -1, Type: "EPCISMasterData", Declared: -1, Digest: sum})
}

func (e *epcisJSON) body(member *jsonName) {
	switch name := member.text; {
	case name == "eventList" && e.kind == jsontoken.ArrayStart:
		e.elements(e.event)
	case name == "event":
		e.event()
	case (name == "queryResults" || name == "resultsBody") && e.kind == jsontoken.ObjectStart:
		e.members(e.body)
	case name == "queryName", name == "subscriptionID":
		e.skip()
	default:
		e.beside = true
		e.skip()
	}
}

// context takes up the prefixes of a JSON-LD context: a list, in any depth, of
// objects; contexts elsewhere are the standard's, known anyway.
func (e *epcisJSON) context() {
	switch e.kind {
	case jsontoken.ArrayStart:
		e.elements(e.context)
	case jsontoken.ObjectStart:
		e.members(func(member *jsonName) {
			if e.kind == jsontoken.String && len(e.prefixes) < maxPrefixes && len(e.j.Text) <= maxValue {
				e.prefixes[member.text] = string(e.j.Text)
			}
			e.skip()
		})
		clear(e.names) // they may mean something else now
	}
}

// maxPrefixes bounds how many prefixes a context may declare; the others are
// none.
const maxPrefixes = 256

// event reads an event.
func (e *epcisJSON) event() {
	if e.kind != jsontoken.ObjectStart {
		e.skip()
		return
	}
	e.events.event.Reset("")
	e.events.event.Bare = true
	e.object("")
	if !e.broken {
		e.closeEvent()
	}
}

// Lists whose elements have a name in XML, which JSON leaves out.
var epcisLists = map[string]string{
	"epcList": "epc", "inputEPCList": "epc", "outputEPCList": "epc", "childEPCs": "epc",
	"quantityList": "quantityElement", "childQuantityList": "quantityElement", "inputQuantityList": "quantityElement",
	"outputQuantityList": "quantityElement",
	"bizTransactionList": "bizTransaction", "sourceList": "source", "destinationList": "destination",
	"sensorElementList": "sensorElement", "correctiveEventIDs": "correctiveEventID",
}

// object reads the members of an object into the property that is open, whose
// name is given.
func (e *epcisJSON) object(of string) {
	for e.next() == jsontoken.Member {
		name := e.name(e.j.Text)
		e.next()
		e.member(of, name)
	}
}

func (e *epcisJSON) member(of string, name *jsonName) {
	event := &e.events.event
	switch {
	case name.text == "@context":
		e.context()
	case name.text == "rdfs:comment": // for people
		e.skip()
	case event.Depth() == 1 && (name.text == "type" || name.text == "isA") && e.kind == jsontoken.String:
		event.SetType(e.j.Text)
	case name.text == of && e.kind == jsontoken.String: // a bizTransaction is the value of itself
		e.set()
	case e.kind != jsontoken.ArrayStart:
		e.property(name)
	case name.element != nil:
		event.OpenProperty(name.property, name.text)
		e.elements(func() { e.property(name.element) })
		event.Close()
	default:
		e.elements(func() { e.property(name) })
	}
}

// property reads the current value as a property.
func (e *epcisJSON) property(name *jsonName) {
	event := &e.events.event
	if e.kind == jsontoken.ArrayStart { // a list in a list
		e.elements(func() { e.property(name) })
		return
	}
	if name.space != "" {
		event.Open(name.space, name.local)
	} else {
		event.OpenProperty(name.property, name.text)
	}
	if e.kind == jsontoken.ObjectStart {
		e.object(name.text)
	} else if e.kind != jsontoken.Null {
		e.set()
	}
	event.Close()
}

// set makes the current value that of the open property, compact URIs expanded.
func (e *epcisJSON) set() {
	text := e.j.Text
	if i := bytes.IndexByte(text, ':'); i > 0 && e.kind == jsontoken.String {
		if uri := e.prefixes[string(text[:i])]; uri != "" {
			text = append([]byte(uri), text[i+1:]...)
		}
	}
	e.events.event.Set(text)
}
