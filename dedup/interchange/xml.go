package interchange

import (
	"bytes"
	"slices"
	"sync"

	"firstcopy/dedup/interchange/internal/xmltoken"
)

// A source is the window as the tokenizers want it.
type source struct{ *window }

func (s source) Need(n int) []byte { return s.need(n) }
func (s source) Advance(n int)     { s.advance(n) }

// octets is a source of octets that are all there.
type octets []byte

func (o *octets) Need(int) []byte { return *o }
func (o *octets) Advance(n int)   { *o = (*o)[n:] }

var xmlReaders = sync.Pool{New: func() any { return xmltoken.New(vocabulary) }}

// xmlBegins tells whether b begins an XML document whose root element is known.
// Where b ends before that is known, as it can with a licence in comments,
// readXML has to find out.
func xmlBegins(b []byte) bool {
	if len(b) < 4 || b[0] != '<' {
		return false
	}
	x := xmlReaders.Get().(*xmltoken.Reader)
	defer xmlReaders.Put(x)
	rest := octets(b)
	if x.Open(&rest) == xmltoken.Start {
		return dialectOf(x) != nil
	}
	switch x.Fault {
	case xmltoken.NoRoot:
		return len(b) >= maxJunkReach && (b[1] == '?' || b[1] == '!')
	case xmltoken.Truncated:
		return len(b) >= maxJunkReach
	case xmltoken.Doctype, xmltoken.Encoding: // whatever it is, this is why it is not read
		return true
	}
	return false
}

// A markup reads one XML interchange.
type markup struct {
	*scanner
	ic      *Interchange
	x       *xmltoken.Reader
	dialect *dialect

	// Where the events go: the form of the interchange or of the document that
	// is open, or none while mute is the depth of an element left out.
	forms [2]xmlForm
	form  *xmlForm
	mute  int

	// at has the steps of the open elements, nil where no path leads on.
	at []*step
	// What the paths have found: of the envelope and of the open document.
	envelope, document record
	to                 *record
	capture            *step // whose text is being taken, at depth captured
	captured           int
	open               *dialect // of the open document
	opened             int      // its depth
	name               string   // its root's
	kind               string   // the type of the last document that was closed
	documents, signals int      // how many there were, and signals of AS4 among them
	nameless           bool     // a unit of AS4 has no message id
	gs1                bool     // a document inside is of GS1 XML
	events             eventSet
	tooMuch            bool // an event is beyond the bounds
	beside             bool // an EPCIS body holds something else than events
}

func readXML(s *scanner, ic *Interchange) {
	m := s.openMarkup(ic)
	defer m.close()
	if m.readDocument() {
		m.complete()
		m.trailing()
	}
}

// openMarkup returns the state for one interchange.
func (s *scanner) openMarkup(ic *Interchange) *markup {
	m := s.spare
	if m == nil {
		m = &markup{scanner: s}
		m.forms[0].canon, m.forms[1].canon = &s.whole, &s.part
		s.spare = m
	}
	m.ic, m.x = ic, xmlReaders.Get().(*xmltoken.Reader)
	m.envelope.reset()
	m.document.reset()
	m.to, m.form, m.mute = &m.envelope, &m.forms[0], 0
	m.at, m.capture, m.open = m.at[:0], nil, nil
	m.events.reset()
	m.dialect, m.gs1, m.tooMuch, m.beside, m.nameless = nil, false, false, false, false
	m.documents, m.signals, m.kind = 0, 0, ""
	return m
}

func (m *markup) close() {
	xmlReaders.Put(m.x)
	m.x, m.ic = nil, nil
	m.events.shrink()
}

// readDocument reads an XML document at the current position. If it is not of a
// known kind, or cannot be read to its end, the interchange goes by its content.
func (m *markup) readDocument() bool {
	kind := m.x.Open(source{&m.window})
	if kind == xmltoken.Start {
		m.dialect = dialectOf(m.x)
		if m.x.Declared && (m.dialect == nil || m.dialect.standard != CXML) {
			kind, m.x.Fault = xmltoken.Broken, xmltoken.Doctype
		}
	}
	if kind == xmltoken.Broken || m.dialect == nil {
		m.abandon(kind)
		return false
	}
	m.ic.Standard = m.dialect.standard
	m.begin()
	for ; kind != xmltoken.Broken; kind = m.x.Next() {
		switch kind {
		case xmltoken.Start:
			m.start()
		case xmltoken.Text:
			m.text()
		case xmltoken.End:
			m.end()
			if m.x.Depth() == 1 {
				m.x.Close()
				return true
			}
		}
	}
	m.abandon(kind)
	return false
}

// abandon makes the rest of the payload known by its content alone. Even where
// another XML declaration comes, it is not cut: more often than two documents
// are joined, of which the first is cut off, one was put into another as it was.
func (m *markup) abandon(kind xmltoken.Kind) {
	fault := m.x.Fault
	m.x.Close()
	m.forget()
	if kind == xmltoken.Broken {
		m.flag(xmlFaults[fault])
	}
	m.drain()
}

// forget drops what was found: the interchange goes by its content.
func (m *markup) forget() {
	m.ic.Standard, m.ic.Messages = Content, nil
	for i := range m.forms {
		m.forms[i].sum()
	}
}

var xmlFaults = [...]irregularity{
	xmltoken.Malformed:  malformed,
	xmltoken.Truncated:  noTrailer,
	xmltoken.Restart:    truncated,
	xmltoken.Bounds:     outOfBounds,
	xmltoken.Characters: badCharacters,
	xmltoken.Entity:     unknownEntity,
	xmltoken.Doctype:    documentType,
	xmltoken.Encoding:   badEncoding,
	xmltoken.NoRoot:     noRoot,
}

// trailing passes over comments and processing instructions behind the root
// element, if nothing else follows: before other content they are its prolog.
func (m *markup) trailing() {
	b := m.need(windowSize)
	if !m.eof {
		return
	}
	for rest := b; ; {
		rest = rest[blanks(rest):]
		switch width := aside(rest); {
		case len(rest) == 0:
			m.advance(len(b))
			return
		case width == 0:
			return
		default:
			rest = rest[width:]
		}
	}
}

func (m *markup) begin() {
	m.forms[0].begin("xml-c1", m.x)
	m.mute = 0
	if m.dialect.silent {
		m.mute = 1
	}
}

func (m *markup) start() {
	var st *step
	if n := len(m.at); n == 0 {
		st = m.dialect.root
		if m.dialect.whole {
			m.openDocument(m.dialect)
		}
	} else if parent := m.at[n-1]; parent != nil {
		st = parent.child(m.x)
		m.beside = m.beside || st == nil && parent.closed
	}
	m.at = append(m.at, st)
	if st != nil {
		m.enter(st)
	}
	if m.events.open {
		m.eventStart()
	}
	if m.mute == 0 {
		m.form.start(m.x)
	}
}

// enter does what a step asks for at the start of its element.
func (m *markup) enter(st *step) {
	if st.mute && m.mute == 0 {
		m.mute = m.x.Depth()
	}
	switch {
	case st.event && !m.events.open:
		m.openEvent()
	case st.document != nil && m.open == nil:
		if d := st.document(m.x); d != nil {
			m.openDocument(d)
			st = d.root
			m.at[len(m.at)-1] = st
		}
	}
	for _, a := range st.attrs {
		i := m.attr(a.name)
		if i < 0 {
			continue
		}
		m.to.put(a.field, m.x.Attrs[i].Value, nil, a.many)
		if a.mute {
			m.x.Attrs = slices.Delete(m.x.Attrs, i, i+1)
		}
	}
	if st.present != 0 {
		m.to.put(st.present, []byte(m.x.Local(m.x.Name)), nil, false)
	}
	if st.field != 0 {
		m.capture, m.captured = st, m.x.Depth()
		m.to.beginValue()
		if i := m.attr(st.qualifier); i >= 0 {
			b := m.x.Attrs[i].Value
			m.to.qualifier = append(m.to.qualifier, b[:min(len(b), maxValue)]...)
		}
	}
}

// attr returns the index of an attribute of the current tag, -1 without it.
func (m *markup) attr(name xmltoken.Code) int {
	if name == 0 {
		return -1
	}
	return slices.IndexFunc(m.x.Attrs, func(a xmltoken.Attr) bool { return m.x.Code(a.Name) == name })
}

func (m *markup) text() {
	if m.capture != nil && m.x.Depth() == m.captured {
		m.to.extend(m.x.Text)
	}
	if m.events.open {
		m.events.event.Add(m.x.Text)
	}
	if m.mute == 0 {
		m.form.text(m.x.Text, m.x.Blank)
	}
}

func (m *markup) end() {
	depth := m.x.Depth()
	if m.mute == 0 {
		m.form.end()
	} else if m.mute == depth && !m.dialect.silent {
		m.mute = 0
	}
	if m.capture != nil && depth == m.captured {
		m.to.endValue(m.capture)
		m.capture = nil
	}
	if m.events.open {
		m.eventEnd()
	}
	if m.open != nil && depth == m.opened {
		m.closeDocument()
	}
	m.at = m.at[:len(m.at)-1]
}

// openDocument begins a business document at the current element.
func (m *markup) openDocument(d *dialect) {
	m.open, m.opened, m.name = d, m.x.Depth(), m.x.Local(m.x.Name)
	m.gs1 = m.gs1 || d.standard == GS1
	m.document.reset()
	m.to, m.form, m.mute = &m.document, &m.forms[1], 0
	m.form.begin("xml-c1", m.x)
}

func (m *markup) closeDocument() {
	msg := Message{Group: -1, Type: brief([]byte(m.name)), Declared: -1, Digest: m.form.sum()}
	m.form = &m.forms[0]
	if m.dialect.silent {
		m.mute = 1
		m.events.addDocument(msg.Digest)
	} else {
		m.form.digest(msg.Digest)
	}
	if m.open.message != nil {
		m.open.message(m, &msg)
	}
	m.to, m.open, m.kind = &m.envelope, nil, msg.Type
	m.documents++
	m.addMessage(msg)
}

// complete makes the interchange of what was found.
func (m *markup) complete() {
	m.ic.Complete = true
	m.dialect.identify(m)
	if !m.dialect.silent {
		m.ic.Content = m.forms[0].sum()
	}
}

// aside returns the width of a comment or processing instruction that is
// complete in b, 0 if there is none.
func aside(b []byte) int {
	for _, kind := range [...]struct{ begin, end string }{{"<!--", "-->"}, {"<?", "?>"}} {
		if bytes.HasPrefix(b, []byte(kind.begin)) {
			if n := bytes.Index(b[len(kind.begin):], []byte(kind.end)); n >= 0 {
				return len(kind.begin) + n + len(kind.end)
			}
		}
	}
	return 0
}
