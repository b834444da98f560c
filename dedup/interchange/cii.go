package interchange

// What is kept of a Cross Industry Invoice.
const (
	ciiID field = 1 + iota
	ciiTypeCode
	ciiIssued
	ciiCopy
	ciiPurpose
	ciiTest
	ciiPredecessor
	ciiSeller                          // the first of several
	ciiBuyer  = ciiSeller + ciiPartyTo // and of as many
)

// The ways in which it identifies a party, best first.
const (
	ciiGlobalID field = iota
	ciiAddress
	ciiTax
	ciiLegal
	ciiPartyID
	ciiName
	ciiPartyTo
)

// CII D16B, as Factur-X, ZUGFeRD 2 and XRechnung use it, and its forerunner
// ZUGFeRD 1.0, which has the same structure under other names.
var (
	ciiDocument = &dialect{standard: CII, version: "100", whole: true, message: (*markup).ciiMessage, identify: (*markup).ciiIdentify,
		root: ciiPaths("rsm:ExchangedDocumentContext", "rsm:ExchangedDocument", "rsm:SupplyChainTradeTransaction/ram:ApplicableHeaderTrade",
			"ram:", "udt:")}
	zugferdDocument = &dialect{standard: CII, version: "1p0", whole: true, message: (*markup).ciiMessage, identify: (*markup).ciiIdentify,
		root: ciiPaths("rsm1:SpecifiedExchangedDocumentContext", "rsm1:HeaderExchangedDocument",
			"rsm1:SpecifiedSupplyChainTradeTransaction/ram1:ApplicableSupplyChainTrade", "ram1:", "udt1:")}
)

func ciiPaths(context, header, trade, ram, udt string) *step {
	settlement := trade + "Settlement/" + ram
	root := paths(
		path{field: ciiTest, to: context + "/" + ram + "TestIndicator/" + udt + "Indicator"},
		path{field: ciiID, to: header + "/" + ram + "ID"},
		path{field: ciiTypeCode, to: header + "/" + ram + "TypeCode"},
		path{field: ciiIssued, to: header + "/" + ram + "IssueDateTime/" + udt + "DateTimeString"},
		path{field: ciiCopy, to: header + "/" + ram + "CopyIndicator/" + udt + "Indicator"},
		path{field: ciiPurpose, to: header + "/" + ram + "PurposeCode"},
		path{field: ciiPredecessor, to: settlement + "InvoiceReferencedDocument/" + ram + "IssuerAssignedID", many: true},
	)
	for _, p := range [...]struct {
		first field
		role  string
	}{{ciiSeller, "SellerTradeParty"}, {ciiBuyer, "BuyerTradeParty"}} {
		root.add(trade+"Agreement/"+ram+p.role).paths(
			path{field: p.first + ciiGlobalID, to: ram + "GlobalID", qualifier: "schemeID"},
			path{field: p.first + ciiAddress, to: ram + "URIUniversalCommunication/" + ram + "URIID", qualifier: "schemeID"},
			path{field: p.first + ciiTax, to: ram + "SpecifiedTaxRegistration/" + ram + "ID", qualifier: "schemeID", many: true},
			path{field: p.first + ciiLegal, to: ram + "SpecifiedLegalOrganization/" + ram + "ID", qualifier: "schemeID"},
			path{field: p.first + ciiPartyID, to: ram + "ID", qualifier: "schemeID"},
			path{field: p.first + ciiName, to: ram + "Name"},
		)
	}
	return root
}

func (m *markup) ciiMessage(msg *Message) {
	r := &m.document
	msg.Number, msg.Date, msg.Function = brief(r.get(ciiID)), brief(r.get(ciiIssued)), brief(r.get(ciiTypeCode))
	msg.Effect = invoiceEffect(msg.Function, r, ciiPredecessor)
	if e, stated := purposes[string(r.get(ciiPurpose))]; stated {
		msg.Effect = e
	}
	if isTrue(r.get(ciiCopy)) {
		msg.Effect = NoEffect
	}
	m.predecessors(msg, r, ciiPredecessor)
}

// purposes has the codes of UNTDID 1225 that CII uses in ram:PurposeCode.
var purposes = map[string]Effect{"9": New, "5": Supersede, "4": Delta, "1": Cancel, "3": Cancel, "7": NoEffect, "31": NoEffect, "35": NoEffect}

// isTrue reads an indicator (XML Schema boolean).
func isTrue(b []byte) bool { return string(b) == "true" || string(b) == "1" }

// ciiIdentify: the number of the invoice, among those of its issuer and a year.
func (m *markup) ciiIdentify() {
	r, ic := &m.document, m.ic
	ic.Version = m.dialect.version
	ic.Date, ic.Test = brief(r.get(ciiIssued)), isTrue(r.get(ciiTest))
	from, to := ciiSeller, ciiBuyer
	if selfBilled(string(r.get(ciiTypeCode))) {
		from, to = to, from
	}
	sender, senderKind := ciiParty(r, from)
	recipient, recipientKind := ciiParty(r, to)
	m.setDocumentIdentity(identity{sender: sender, recipient: recipient, control: r.get(ciiID),
		senderQualifier: year(r.get(ciiIssued))}, senderKind, recipientKind)
}

func ciiParty(r *record, first field) (id, kind []byte) {
	for way := range ciiPartyTo {
		switch way {
		case ciiTax: // there is a tax number (FC) beside the VAT number (VA)
			for b, k := range r.all(first + ciiTax) {
				if string(k) == "VA" {
					return schemed(k, b), k
				}
			}
		case ciiName:
			if b := r.get(first + way); b != nil {
				return b, []byte("name")
			}
		default:
			if b := r.get(first + way); b != nil {
				kind = r.kind(first + way)
				return schemed(kind, b), kind
			}
		}
	}
	for b, k := range r.all(first + ciiTax) {
		return schemed(k, b), k
	}
	return nil, nil
}
