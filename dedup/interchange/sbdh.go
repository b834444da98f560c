package interchange

import (
	"bytes"
	"strings"

	"firstcopy/dedup/interchange/internal/xmltoken"
)

// What is kept of a Standard Business Document Header.
const (
	sbdhVersion field = 1 + iota
	sbdhSender
	sbdhRecipient
	sbdhInstance
	sbdhCreated
	sbdhType
)

// sbdhEnvelope is the Standard Business Document of UN/CEFACT (SBDH 1.3), as
// Peppol's envelope (2.0.1) and GS1 use it: a header, and what it is about.
var sbdhEnvelope = &dialect{standard: SBDH, root: sbdhPaths(documentWithin), identify: (*markup).sbdhIdentify}

// sbdhPaths has the paths of a root whose children are the header and business
// documents.
func sbdhPaths(document func(*xmltoken.Reader) *dialect) *step {
	const header = "sh:StandardBusinessDocumentHeader/"
	root := paths(
		path{field: sbdhVersion, to: header + "sh:HeaderVersion"},
		path{field: sbdhSender, to: header + "sh:Sender/sh:Identifier", qualifier: "Authority"},
		path{field: sbdhRecipient, to: header + "sh:Receiver/sh:Identifier", qualifier: "Authority"},
		path{field: sbdhInstance, to: header + "sh:DocumentIdentification/sh:InstanceIdentifier"},
		path{field: sbdhCreated, to: header + "sh:DocumentIdentification/sh:CreationDateAndTime"},
		path{field: sbdhType, to: header + "sh:DocumentIdentification/sh:Type"},
	).muted(header + "sh:DocumentIdentification/sh:CreationDateAndTime")
	inside := root.add("*")
	inside.document = document
	inside.add("*").document = func(*xmltoken.Reader) *dialect { return gs1Document }
	return root
}

// documentWithin returns the dialect of a business document in an envelope,
// known or not: that of an unknown one has its type and digest alone. A message
// of GS1 XML is one more envelope (nil).
func documentWithin(x *xmltoken.Reader) *dialect {
	if d := documentOf(x); d != nil {
		return d
	}
	if isGS1(x) {
		if strings.HasSuffix(x.Local(x.Name), "Message") {
			return nil
		}
		return gs1Document
	}
	return anyDocument
}

var anyDocument = &dialect{root: &step{}}

// sbdhIdentify: the instance identifier counts in the scope of its sender; not
// everybody makes it a UUID. The document inside has its own number.
func (m *markup) sbdhIdentify() {
	r, ic := &m.envelope, m.ic
	ic.Version = brief(r.get(sbdhVersion))
	date, clock, _ := bytes.Cut(r.get(sbdhCreated), []byte("T"))
	ic.Date, ic.Time = brief(date), brief(clock)
	senderKind, recipientKind := r.kind(sbdhSender), r.kind(sbdhRecipient)
	m.setDocumentIdentity(identity{sender: r.get(sbdhSender), senderQualifier: senderKind, recipient: r.get(sbdhRecipient),
		recipientQualifier: recipientKind, control: r.get(sbdhInstance)}, senderKind, recipientKind)
	if m.documents == 0 {
		m.flag(noDocument)
		if t := r.get(sbdhType); t != nil {
			m.addType(ic, t)
		}
	}
	if m.gs1 && ic.Standard == SBDH {
		ic.Standard = GS1
	}
}
