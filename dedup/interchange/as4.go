package interchange

import (
	"bytes"
	"crypto/sha256"

	"firstcopy/dedup/interchange/internal/xmltoken"
)

// What is kept of a unit of an AS4 message.
const (
	as4MessageID field = 1 + iota
	as4Timestamp
	as4From
	as4To
	as4Kind // of a signal
)

// as4Envelope is a SOAP 1.1 or 1.2 envelope with an eb:Messaging header (ebMS
// 3.0 Core §5.2). Its units are its messages. What a retry changes is left out
// of the content: message ids, timestamps and security.
var as4Envelope = &dialect{standard: AS4, root: as4Paths(), identify: (*markup).as4Identify}

var as4Unit = &dialect{standard: AS4, root: as4UnitPaths(), message: (*markup).as4Message}

func as4Paths() *step {
	root := &step{}
	for _, soap := range [...]string{"s11:Header/", "s12:Header/"} {
		root.muted(soap + "wsse:Security")
		for _, unit := range [...]string{"eb:UserMessage", "eb:SignalMessage"} {
			root.add(soap + "eb:Messaging/" + unit).document = func(*xmltoken.Reader) *dialect { return as4Unit }
		}
	}
	return root
}

func as4UnitPaths() *step {
	root := paths(
		path{field: as4MessageID, to: "eb:MessageInfo/eb:MessageId"},
		path{field: as4Timestamp, to: "eb:MessageInfo/eb:Timestamp"},
		path{field: as4From, to: "eb:PartyInfo/eb:From/eb:PartyId", qualifier: "type"},
		path{field: as4To, to: "eb:PartyInfo/eb:To/eb:PartyId", qualifier: "type"},
	).muted("eb:MessageInfo")
	for _, kind := range [...]string{"eb:Receipt", "eb:Error", "eb:PullRequest"} {
		root.add(kind).present = as4Kind
	}
	return root
}

// as4Message completes a unit. The parties of the interchange are those of the
// first user message.
func (m *markup) as4Message(msg *Message) {
	r, ic := &m.document, m.ic
	id := r.get(as4MessageID)
	msg.Control, msg.Date = brief(id), brief(r.get(as4Timestamp))
	msg.Function = brief(r.get(as4Kind))
	if m.documents == 0 {
		date, clock, _ := bytes.Cut(r.get(as4Timestamp), []byte("T"))
		ic.Date, ic.Time = brief(date), brief(clock)
	}
	if len(id) == 0 {
		msg.Faults |= FaultMissing // EBMS:0009
		m.nameless = true
	} else {
		m.events.addKey(id, [sha256.Size]byte{}, true)
	}
	if msg.Type == "SignalMessage" {
		msg.Effect = Response
		m.signals++
		return
	}
	if ic.Sender == "" {
		m.setParties(identity{sender: r.get(as4From), senderQualifier: r.kind(as4From), recipient: r.get(as4To),
			recipientQualifier: r.kind(as4To)})
	}
}

// as4Identify: message ids are unique (ebMS 3.0 Core §5.2.2.1), those of all
// units are the reference.
func (m *markup) as4Identify() {
	m.ic.Acknowledges = m.documents > 0 && m.signals == m.documents
	if m.documents == 0 || m.nameless {
		m.flag(noControl)
		m.ic.Standard = Content
		return
	}
	m.setControls(m.events.listed, m.events.uncounted, m.events.keySet())
}
