package interchange

import (
	"bytes"

	"firstcopy/dedup/interchange/internal/xmltoken"
)

// What is kept of a cXML document.
const (
	cxmlPayload field = 1 + iota
	cxmlVersion
	cxmlTimestamp
	cxmlFrom
	cxmlFromDomain
	cxmlTo
	cxmlToDomain
)

// What is kept of what it is about.
const (
	cxmlDeployment field = 1 + iota
	cxmlKind             // the name of the request
	cxmlID
	cxmlRevision
	cxmlFunction
	cxmlDate
	cxmlPredecessor
)

// cxmlEnvelope is cXML 1.2: a header with credentials, and a request, a message
// or a response.
var cxmlEnvelope = &dialect{standard: CXML, root: cxmlPaths(), identify: (*markup).cxmlIdentify}

// cxmlHeaders are the requests that are about a document, by the element with
// its number. The response to a message is a document of its own.
var cxmlHeaders = [...]struct{ kind, header, id, function, date string }{
	{"OrderRequest", "OrderRequestHeader", "orderID", "type", "orderDate"},
	{"InvoiceDetailRequest", "InvoiceDetailRequestHeader", "invoiceID", "operation", "invoiceDate"},
	{"ShipNoticeRequest", "ShipNoticeHeader", "shipmentID", "operation", "noticeDate"},
	{"ConfirmationRequest", "ConfirmationHeader", "confirmID", "operation", "noticeDate"},
	{"ReceiptRequest", "ReceiptRequestHeader", "receiptID", "operation", "receiptDate"},
	{"PaymentRemittanceRequest", "PaymentRemittanceRequestHeader", "paymentRemittanceID", "type", "paymentDate"},
	{"QuoteRequest", "QuoteRequestHeader", "requestID", "type", "requestDate"},
}

func cxmlPaths() *step {
	root := paths(
		path{field: cxmlPayload, to: "@payloadID"},
		path{field: cxmlVersion, to: "@version"},
		path{field: cxmlTimestamp, to: "@timestamp"},
		path{field: cxmlFrom, to: "Header/From/Credential/Identity"},
		path{field: cxmlFromDomain, to: "Header/From/Credential/@domain"},
		path{field: cxmlTo, to: "Header/To/Credential/Identity"},
		path{field: cxmlToDomain, to: "Header/To/Credential/@domain"},
	)
	root.muteAttr("timestamp")
	for _, kind := range [...]string{"Request", "Message", "Response"} {
		body := root.add(kind)
		body.document = func(*xmltoken.Reader) *dialect { return cxmlBody }
	}
	return root
}

// cxmlBody is what the envelope is about.
var cxmlBody = &dialect{standard: CXML, root: cxmlBodyPaths(), message: (*markup).cxmlMessage}

func cxmlBodyPaths() *step {
	root := paths(path{field: cxmlDeployment, to: "@deploymentMode"})
	root.add("*").present = cxmlKind
	for _, h := range cxmlHeaders {
		root.add(h.kind).present = cxmlKind
		root.add(h.kind+"/"+h.header).paths(
			path{field: cxmlID, to: "@" + h.id},
			path{field: cxmlFunction, to: "@" + h.function},
			path{field: cxmlDate, to: "@" + h.date},
			path{field: cxmlRevision, to: "@orderVersion"},
			path{field: cxmlPredecessor, to: "DocumentReference/@payloadID", many: true},
		)
	}
	return root
}

func (m *markup) cxmlMessage(msg *Message) {
	r := &m.document
	if kind := r.get(cxmlKind); msg.Type != "Response" && kind != nil {
		msg.Type = Text(kind)
	}
	msg.Number, msg.Revision, msg.Date = brief(r.get(cxmlID)), brief(r.get(cxmlRevision)), brief(r.get(cxmlDate))
	msg.Function = brief(r.get(cxmlFunction))
	msg.Effect = cxmlEffects[msg.Function]
	if msg.Type == "Response" || msg.Type == "ConfirmationRequest" {
		msg.Effect = Response
	}
	m.predecessors(msg, r, cxmlPredecessor)
}

// cxmlEffects: an update is the whole document once more, in a higher version.
var cxmlEffects = map[string]Effect{"new": New, "update": Supersede, "delete": Cancel}

// cxmlIdentify: the payload id is unique "in space and time" and that of a retry
// too, so it needs no scope; sender and recipient are told nevertheless.
func (m *markup) cxmlIdentify() {
	r, ic := &m.envelope, m.ic
	ic.Version = brief(r.get(cxmlVersion))
	date, clock, _ := bytes.Cut(r.get(cxmlTimestamp), []byte("T"))
	ic.Date, ic.Time = brief(date), brief(clock)
	ic.Test = string(m.document.get(cxmlDeployment)) == "test"
	ic.Acknowledges = m.documents == 1 && m.kind == "Response"
	id := identity{sender: r.get(cxmlFrom), senderQualifier: r.get(cxmlFromDomain), recipient: r.get(cxmlTo),
		recipientQualifier: r.get(cxmlToDomain), control: r.get(cxmlPayload)}
	m.setIdentified(id, !ic.Acknowledges) // a Response has no header
}
