package interchange

import (
	"bytes"
	"slices"
)

const ublSpace = "urn:oasis:names:specification:ubl:schema:xsd:"

// What is kept of a UBL document, and of a party in each of its roles.
const (
	ublID field = 1 + iota
	ublUUID
	ublVersion
	ublIssueDate
	ublIssueTime
	ublTypeCode
	ublCopy
	ublRevision
	ublPredecessor
	ublRoles // the first of many
)

// The ways in which UBL identifies a party, best first.
const (
	partyEndpoint field = iota
	partyTax
	partyLegal
	partyID
	partyName
	partyWays
	partyTaxScheme = partyWays // says what partyTax is
	partyFields    = partyWays + 1
)

// ublParties are the roles that parties have at the top of UBL documents, those
// that issue documents of a kind and those that receive them.
var ublParties = [...]struct{ role, party string }{
	{"cac:AccountingSupplierParty", "cac:Party/"},
	{"cac:AccountingCustomerParty", "cac:Party/"},
	{"cac:SellerSupplierParty", "cac:Party/"},
	{"cac:BuyerCustomerParty", "cac:Party/"},
	{"cac:DespatchSupplierParty", "cac:Party/"},
	{"cac:DeliveryCustomerParty", "cac:Party/"},
	{"cac:SenderParty", ""},
	{"cac:ReceiverParty", ""},
	{"cac:ProviderParty", ""},
	{"cac:ConsignorParty", ""},
	{"cac:CarrierParty", ""},
	{"cac:ConsigneeParty", ""},
}

// Indices into ublParties.
const (
	ublSupplier = iota
	ublCustomer
	ublSeller
	ublBuyer
	ublDespatcher
	ublDelivered
	ublSender
	ublReceiver
	ublProvider
	ublConsignor
	ublCarrier
	ublConsignee
)

// ublIssuers lists who issues documents of a root, and to whom; of several
// parties the first that is named. The others are tried in ublUsual order.
var ublIssuers = map[string]struct{ from, to []int }{
	"Order":                {[]int{ublBuyer}, []int{ublSeller}},
	"OrderChange":          {[]int{ublBuyer}, []int{ublSeller}},
	"OrderCancellation":    {[]int{ublBuyer}, []int{ublSeller}},
	"OrderResponse":        {[]int{ublSeller}, []int{ublBuyer}},
	"OrderResponseSimple":  {[]int{ublSeller}, []int{ublBuyer}},
	"Quotation":            {[]int{ublSeller}, []int{ublBuyer}},
	"RequestForQuotation":  {[]int{ublBuyer}, []int{ublSeller}},
	"DespatchAdvice":       {[]int{ublDespatcher}, []int{ublDelivered}},
	"ReceiptAdvice":        {[]int{ublDelivered}, []int{ublDespatcher}},
	"SelfBilledInvoice":    {[]int{ublCustomer}, []int{ublSupplier}},
	"SelfBilledCreditNote": {[]int{ublCustomer}, []int{ublSupplier}},
	"Catalogue":            {[]int{ublProvider, ublSeller}, []int{ublReceiver}},
	"Waybill":              {[]int{ublCarrier, ublConsignor}, []int{ublConsignee}},
	"BillOfLading":         {[]int{ublCarrier, ublConsignor}, []int{ublConsignee}},
}

var ublUsual = struct{ from, to []int }{
	[]int{ublSupplier, ublSender, ublSeller, ublDespatcher, ublProvider, ublBuyer, ublConsignor, ublCarrier},
	[]int{ublCustomer, ublReceiver, ublBuyer, ublDelivered, ublSeller, ublConsignee},
}

var ublDocument = &dialect{standard: UBL, whole: true, root: ublPaths(), message: (*markup).ublMessage, identify: (*markup).ublIdentify}

func ublPaths() *step {
	root := paths(
		path{field: ublID, to: "cbc:ID"},
		path{field: ublUUID, to: "cbc:UUID"},
		path{field: ublVersion, to: "cbc:UBLVersionID"},
		path{field: ublIssueDate, to: "cbc:IssueDate"},
		path{field: ublIssueTime, to: "cbc:IssueTime"},
		path{field: ublTypeCode, to: "cbc:InvoiceTypeCode"},
		path{field: ublTypeCode, to: "cbc:CreditNoteTypeCode"},
		path{field: ublTypeCode, to: "cbc:OrderTypeCode"},
		path{field: ublTypeCode, to: "cbc:DocumentStatusCode"},
		path{field: ublTypeCode, to: "cbc:ActionCode"},
		path{field: ublCopy, to: "cbc:CopyIndicator"},
		path{field: ublRevision, to: "cbc:VersionID"},
		path{field: ublRevision, to: "cbc:SequenceNumberID"},
		path{field: ublPredecessor, to: "cac:BillingReference/cac:InvoiceDocumentReference/cbc:ID", many: true},
		path{field: ublPredecessor, to: "cac:BillingReference/cac:SelfBilledInvoiceDocumentReference/cbc:ID", many: true},
		path{field: ublPredecessor, to: "cac:BillingReference/cac:CreditNoteDocumentReference/cbc:ID", many: true},
	)
	for i, p := range ublParties {
		first := ublRoles + field(i)*partyFields
		root.add(p.role).paths(
			path{field: first + partyEndpoint, to: p.party + "cbc:EndpointID", qualifier: "schemeID"},
			path{field: first + partyTax, to: p.party + "cac:PartyTaxScheme/cbc:CompanyID", qualifier: "schemeID"},
			path{field: first + partyTaxScheme, to: p.party + "cac:PartyTaxScheme/cac:TaxScheme/cbc:ID"},
			path{field: first + partyLegal, to: p.party + "cac:PartyLegalEntity/cbc:CompanyID", qualifier: "schemeID"},
			path{field: first + partyID, to: p.party + "cac:PartyIdentification/cbc:ID", qualifier: "schemeID"},
			path{field: first + partyName, to: p.party + "cac:PartyName/cbc:Name"},
			path{field: first + partyName, to: p.party + "cac:PartyLegalEntity/cbc:RegistrationName"},
		)
	}
	// Who must be told what it is about: the order that a change or a
	// cancellation names.
	root.paths(path{field: ublOrder, to: "cac:OrderReference/cbc:ID", many: true})
	return root
}

const ublOrder = ublRoles + field(len(ublParties))*partyFields

// ublMessage: an invoice is never changed, but corrected by another document
// that names it; orders have documents to change and to cancel them.
func (m *markup) ublMessage(msg *Message) {
	r := &m.document
	msg.Version = brief(r.get(ublVersion))
	msg.Number, msg.Date = brief(r.get(ublID)), brief(r.get(ublIssueDate))
	msg.Revision = brief(r.get(ublRevision))
	msg.Function = brief(r.get(ublTypeCode))
	predecessor := ublPredecessor
	switch msg.Type {
	case "OrderChange":
		msg.Effect, predecessor = Delta, ublOrder
	case "OrderCancellation":
		msg.Effect, predecessor = Cancel, ublOrder
	case "ApplicationResponse", "OrderResponse", "OrderResponseSimple":
		msg.Effect = Response
	case "Catalogue":
		msg.Effect = catalogueEffect[msg.Function]
	case "CreditNote", "SelfBilledCreditNote":
		msg.Effect = creditEffect(r, predecessor)
	default:
		msg.Effect = invoiceEffect(msg.Function, r, predecessor)
	}
	if isTrue(r.get(ublCopy)) {
		msg.Effect = NoEffect
	}
	m.predecessors(msg, r, predecessor)
}

// catalogueEffect is by cbc:ActionCode (UBL 2.1 Catalogue).
var catalogueEffect = map[string]Effect{"Add": New, "Replace": Supersede, "Update": Delta, "Delete": Cancel}

// creditEffect: a credit note takes back some or all of the invoices it names.
func creditEffect(r *record, predecessor field) Effect {
	if r.get(predecessor) != nil {
		return Delta
	}
	return New
}

// invoiceEffect is by UNTDID 1001: 384 is a corrected invoice, in place of the
// one it names; 381, 396, 261 and others are credit notes.
func invoiceEffect(code string, r *record, predecessor field) Effect {
	switch code {
	case "384":
		return Supersede
	case "81", "83", "261", "308", "381", "396", "420", "458", "532":
		return creditEffect(r, predecessor)
	case "":
		return NoStatement
	}
	return New
}

// ublIdentify: the identity of a UBL document is its UUID, else its number
// among those that its issuer gave to documents of its kind in a year.
func (m *markup) ublIdentify() {
	r := &m.document
	ic := m.ic
	ic.Version = brief(r.get(ublVersion))
	ic.Date, ic.Time = brief(r.get(ublIssueDate)), brief(r.get(ublIssueTime))
	parties, listed := ublIssuers[m.name]
	from, to := slices.Concat(parties.from, ublUsual.from), slices.Concat(parties.to, ublUsual.to)
	if !listed && selfBilled(string(r.get(ublTypeCode))) {
		from, to = []int{ublCustomer}, []int{ublSupplier}
	}
	sender, senderKind := ublParty(r, from)
	recipient, recipientKind := ublParty(r, to)
	id := identity{sender: sender, recipient: recipient, control: r.get(ublID)}
	if uuid := r.get(ublUUID); usableUUID(uuid) {
		id.control = bytes.ToLower(uuid)
		ic.AsWritten.Control = Text(uuid)
	} else {
		id.senderQualifier = year(r.get(ublIssueDate))
	}
	m.setDocumentIdentity(id, senderKind, recipientKind)
}

// selfBilled tells invoices that the customer numbers (UNTDID 1001).
func selfBilled(code string) bool { return code == "389" || code == "527" || code == "261" }

// ublParty returns the identifier of the first party of a list that has one, as
// scheme and number, and its scheme.
func ublParty(r *record, roles []int) (id, kind []byte) {
	for _, role := range roles {
		first := ublRoles + field(role)*partyFields
		for way := range partyWays {
			b := r.get(first + way)
			if b == nil {
				continue
			}
			kind = r.kind(first + way)
			switch {
			case way == partyName:
				return b, []byte("name")
			case way == partyTax && len(kind) == 0:
				kind = r.get(first + partyTaxScheme)
			}
			return schemed(kind, b), kind
		}
	}
	return nil, nil
}

// schemed writes an identifier as networks do, behind its scheme.
func schemed(kind, id []byte) []byte {
	if len(kind) == 0 {
		return id
	}
	return bytes.Join([][]byte{kind, id}, []byte(":"))
}

// usableUUID tells whether a UUID distinguishes anything: templates carry one of
// nothing but zeros, or the words for it.
func usableUUID(b []byte) bool {
	if len(b) < 8 || len(b) > maxDocumentIdentity {
		return false
	}
	for _, c := range b {
		if c != '0' && c != '-' {
			return true
		}
	}
	return false
}

// year returns the year of an ISO 8601 date, nil if it is none: numbers often
// start anew with it.
func year(date []byte) []byte {
	if len(date) < 4 || !digits(date[:4]) {
		return nil
	}
	return date[:4]
}
