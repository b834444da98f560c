package interchange_test

// Documents of each standard, as short as they can be.

const ublNamespaces = ` xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"` +
	` xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"`

// ubl is a UBL document: the root's name, and what is in it.
func ubl(root, inside string) string {
	return `<` + root + ` xmlns="urn:oasis:names:specification:ubl:schema:xsd:` + root + `-2"` + ublNamespaces + `>` + inside + `</` + root + `>`
}

// ublRole is a party with an electronic address.
func ublRole(role, scheme, id string) string {
	return `<cac:` + role + `><cac:Party><cbc:EndpointID schemeID="` + scheme + `">` + id + `</cbc:EndpointID></cac:Party></cac:` + role + `>`
}

var ublParties = ublRole("AccountingSupplierParty", "0088", "4012345000009") + ublRole("AccountingCustomerParty", "0088", "4098765000002")

var ublMinimal = ubl("Invoice", `<cbc:UBLVersionID>2.1</cbc:UBLVersionID><cbc:ID>R2603-1</cbc:ID><cbc:IssueDate>2026-03-01</cbc:IssueDate>`+
	`<cbc:InvoiceTypeCode>380</cbc:InvoiceTypeCode>`+ublParties)

func cii(document string) string {
	return `<rsm:CrossIndustryInvoice xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"` +
		` xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"` +
		` xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100">` + document + `</rsm:CrossIndustryInvoice>`
}

func ciiDocument(code, more, settlement string) string {
	return cii(`<rsm:ExchangedDocumentContext><ram:TestIndicator><udt:Indicator>true</udt:Indicator></ram:TestIndicator></rsm:ExchangedDocumentContext>` +
		`<rsm:ExchangedDocument><ram:ID>R1</ram:ID><ram:TypeCode>` + code + `</ram:TypeCode><ram:IssueDateTime>` +
		`<udt:DateTimeString format="102">20260301</udt:DateTimeString></ram:IssueDateTime>` + more + `</rsm:ExchangedDocument>` +
		`<rsm:SupplyChainTradeTransaction><ram:ApplicableHeaderTradeAgreement><ram:SellerTradeParty><ram:Name>Soups Ltd</ram:Name>` +
		`<ram:SpecifiedTaxRegistration><ram:ID schemeID="FC">12/345</ram:ID></ram:SpecifiedTaxRegistration>` +
		`<ram:SpecifiedTaxRegistration><ram:ID schemeID="VA">DE111</ram:ID></ram:SpecifiedTaxRegistration></ram:SellerTradeParty>` +
		`<ram:BuyerTradeParty><ram:GlobalID schemeID="0088">4098765000002</ram:GlobalID></ram:BuyerTradeParty></ram:ApplicableHeaderTradeAgreement>` +
		`<ram:ApplicableHeaderTradeSettlement>` + settlement + `</ram:ApplicableHeaderTradeSettlement></rsm:SupplyChainTradeTransaction>`)
}

const zugferd1 = `<rsm:CrossIndustryDocument xmlns:rsm="urn:ferd:CrossIndustryDocument:invoice:1p0"` +
	` xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:12"` +
	` xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:15"><rsm:HeaderExchangedDocument><ram:ID>R1</ram:ID>` +
	`<ram:TypeCode>380</ram:TypeCode><ram:IssueDateTime><udt:DateTimeString format="102">20260301</udt:DateTimeString></ram:IssueDateTime>` +
	`</rsm:HeaderExchangedDocument><rsm:SpecifiedSupplyChainTradeTransaction><ram:ApplicableSupplyChainTradeAgreement><ram:SellerTradeParty>` +
	`<ram:GlobalID schemeID="0088">4012345000009</ram:GlobalID></ram:SellerTradeParty><ram:BuyerTradeParty><ram:Name>Shop</ram:Name>` +
	`</ram:BuyerTradeParty></ram:ApplicableSupplyChainTradeAgreement></rsm:SpecifiedSupplyChainTradeTransaction></rsm:CrossIndustryDocument>`

const sbdhHeader = `<sh:StandardBusinessDocumentHeader><sh:HeaderVersion>1.0</sh:HeaderVersion>` +
	`<sh:Sender><sh:Identifier Authority="iso6523-actorid-upis">0088:4012345000009</sh:Identifier></sh:Sender>` +
	`<sh:Receiver><sh:Identifier Authority="iso6523-actorid-upis">0088:4098765000002</sh:Identifier></sh:Receiver>` +
	`<sh:DocumentIdentification><sh:Standard>UBL</sh:Standard><sh:InstanceIdentifier>8b2f</sh:InstanceIdentifier><sh:Type>Invoice</sh:Type>` +
	`<sh:CreationDateAndTime>2026-03-01T09:30:00Z</sh:CreationDateAndTime></sh:DocumentIdentification></sh:StandardBusinessDocumentHeader>`

func sbdh(document string) string {
	return `<sh:StandardBusinessDocument xmlns:sh="http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader">` +
		sbdhHeader + document + `</sh:StandardBusinessDocument>`
}

// gs1 is a message with orders, each given as what is in it.
func gs1(header string, orders ...string) string {
	message := `<order:orderMessage xmlns:order="urn:gs1:ecom:order:xsd:3"` +
		` xmlns:sh="http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader">` + header
	for _, inside := range orders {
		message += `<order>` + inside + `</order>`
	}
	return message + `</order:orderMessage>`
}

func gs1Order(action, status string) string {
	return `<creationDateTime>2026-03-01T09:30:00Z</creationDateTime><documentStatusCode>` + status + `</documentStatusCode>` +
		`<documentActionCode>` + action + `</documentActionCode><revisionNumber>2</revisionNumber><orderIdentification>` +
		`<entityIdentification>B77</entityIdentification><contentOwner><gln>4098765000002</gln></contentOwner></orderIdentification>`
}

func cxml(payload, timestamp, body string) string {
	return `<?xml version="1.0"?><!DOCTYPE cXML SYSTEM "http://xml.cxml.org/schemas/cXML/1.2.050/cXML.dtd">` +
		`<cXML version="1.2.050" payloadID="` + payload + `" timestamp="` + timestamp + `"><Header>` +
		`<From><Credential domain="DUNS"><Identity>111</Identity></Credential></From>` +
		`<To><Credential domain="NetworkID"><Identity>AN02</Identity></Credential></To></Header>` + body + `</cXML>`
}

func cxmlOrder(kind, reference string) string {
	return `<Request deploymentMode="test"><OrderRequest><OrderRequestHeader orderID="B77" orderVersion="2" type="` + kind +
		`" orderDate="2026-03-01T09:00:00Z">` + reference + `</OrderRequestHeader></OrderRequest></Request>`
}

// as4 is a SOAP envelope with units.
func as4(soap, units string) string {
	return `<S:Envelope xmlns:S="` + soap + `" xmlns:eb="http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/"` +
		` xmlns:wsse="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd">` +
		`<S:Header><eb:Messaging>` + units + `</eb:Messaging><wsse:Security>token</wsse:Security></S:Header><S:Body/></S:Envelope>`
}

const soap11, soap12 = "http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope"

func as4User(id string) string {
	return `<eb:UserMessage><eb:MessageInfo><eb:Timestamp>2026-03-01T09:30:00Z</eb:Timestamp><eb:MessageId>` + id + `</eb:MessageId></eb:MessageInfo>` +
		`<eb:PartyInfo><eb:From><eb:PartyId type="t">` + "\n  A" + `</eb:PartyId></eb:From><eb:To><eb:PartyId type="t">B</eb:PartyId></eb:To></eb:PartyInfo>` +
		`</eb:UserMessage>`
}

func as4Signal(id, kind string) string {
	return `<eb:SignalMessage><eb:MessageInfo><eb:Timestamp>2026-03-01T09:31:00Z</eb:Timestamp><eb:MessageId>` + id + `</eb:MessageId>` +
		`</eb:MessageInfo>` + kind + `</eb:SignalMessage>`
}

func multipart(start string, parts ...string) string {
	message := "MIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n boundary=\"=_b\"; type=\"application/soap+xml\"" + start + "\r\n\r\npreamble\r\n"
	for _, part := range parts {
		message += "--=_b\r\n" + part + "\r\n"
	}
	return message + "--=_b--\r\n"
}
