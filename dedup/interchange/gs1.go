package interchange

import (
	"bytes"
	"strings"

	"firstcopy/dedup/interchange/internal/xmltoken"
)

// GS1 XML: "urn:gs1:ecom:order:xsd:3", and "urn:ean.ucc:order:2" before.
const gs1Space = "urn:gs1:"

func isGS1(x *xmltoken.Reader) bool {
	space := x.Space(x.Name)
	return strings.HasPrefix(space, gs1Space) || strings.HasPrefix(space, "urn:ean.ucc:")
}

// What is kept of a GS1 document.
const (
	gs1Created field = 1 + iota
	gs1Status
	gs1Action
	gs1Revision
	gs1ID
	gs1Owner
	gs1Predecessor
)

// gs1Envelope is a message of GS1 XML 3: a Standard Business Document Header, if
// any, and documents of one kind. The header's is then the identity of the
// interchange, as it is where sh:StandardBusinessDocument is around the message.
var gs1Envelope = &dialect{standard: GS1, identify: (*markup).gs1Identify,
	root: sbdhPaths(func(*xmltoken.Reader) *dialect { return gs1Document })}

var gs1Document = &dialect{standard: GS1, root: gs1Paths(), message: (*markup).gs1Message}

func gs1Paths() *step {
	return paths(
		path{field: gs1Created, to: "creationDateTime"},
		path{field: gs1Status, to: "documentStatusCode"},
		path{field: gs1Action, to: "documentActionCode"},
		path{field: gs1Revision, to: "revisionNumber"},
		path{field: gs1Created, to: "@creationDateTime"},
		path{field: gs1Status, to: "@documentStatus"},
		path{field: gs1ID, to: "*Identification/entityIdentification"},
		path{field: gs1Owner, to: "*Identification/contentOwner/gln"},
		path{field: gs1ID, to: "*Identification/uniqueCreatorIdentification"},
		path{field: gs1ID, to: "entityIdentification/uniqueCreatorIdentification"},
		path{field: gs1Owner, to: "entityIdentification/contentOwner/gln"},
	)
}

// gs1Message: documentActionCode says what to do with the document, the status
// whether it is one at all.
func (m *markup) gs1Message(msg *Message) {
	r := &m.document
	msg.Number, msg.Revision, msg.Date = brief(r.get(gs1ID)), brief(r.get(gs1Revision)), brief(r.get(gs1Created))
	action, status := string(r.get(gs1Action)), string(r.get(gs1Status))
	msg.Function, msg.Effect = brief(r.get(gs1Action)), gs1Effects[action]
	if action == "" {
		msg.Function = brief(r.get(gs1Status))
		if status == "ORIGINAL" {
			msg.Effect = New
		}
	}
	if status == "COPY" || status == "ADDITIONAL_TRANSMISSION" {
		msg.Function, msg.Effect = status, NoEffect
	}
}

var gs1Effects = map[string]Effect{
	"ADD": New, "CHANGE_BY_REFRESH": Supersede, "CORRECT": Supersede, "PARTIAL_CHANGE": Delta, "DELETE": Cancel,
}

// gs1Identify: that of the header; without one, the number that the owner of the
// content gave to the document, with its revision.
func (m *markup) gs1Identify() {
	if m.envelope.get(sbdhInstance) != nil {
		m.sbdhIdentify()
		return
	}
	r, ic := &m.document, m.ic
	date, clock, _ := bytes.Cut(r.get(gs1Created), []byte("T"))
	ic.Date, ic.Time = brief(date), brief(clock)
	id := identity{sender: r.get(gs1Owner), control: r.get(gs1ID), senderQualifier: r.get(gs1Revision)}
	if m.documents != 1 { // no number of its own
		id.control = nil
	}
	m.setDocumentIdentity(id, []byte("GLN"), nil)
}
