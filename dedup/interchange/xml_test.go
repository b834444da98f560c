package interchange_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

// TestXMLIdentity: what each standard's documents are known by.
func TestXMLIdentity(t *testing.T) {
	t.Parallel()
	const uuid = `<cbc:UUID>1B4E28BA-2FA1-11D2-883F-0016D3CCA427</cbc:UUID>`
	const nobody = `<cac:AccountingSupplierParty><cac:Party/></cac:AccountingSupplierParty>`
	tax := func(role, id string) string {
		return `<cac:` + role + `><cac:Party><cac:PartyTaxScheme><cbc:CompanyID>` + id + `</cbc:CompanyID><cac:TaxScheme><cbc:ID>VAT</cbc:ID>` +
			`</cac:TaxScheme></cac:PartyTaxScheme></cac:Party></cac:` + role + `>`
	}
	numbered := `<cbc:ID>1</cbc:ID><cbc:IssueDate>2026-03-01</cbc:IssueDate>`
	type ref = interchange.Reference
	const a, b = "0088:4012345000009", "0088:4098765000002"
	for name, c := range map[string]struct {
		payload string
		want    ref
	}{
		"number": {ublMinimal, ref{Standard: interchange.UBL, Sender: a, SenderQualifier: "2026", Recipient: b, Control: "R2603-1",
			MessageTypes: []string{"Invoice"}}},
		"uuid": {ubl("Invoice", uuid+numbered+ublParties), ref{Standard: interchange.UBL, Sender: a, Recipient: b,
			Control: "1b4e28ba-2fa1-11d2-883f-0016d3cca427", MessageTypes: []string{"Invoice"}}},
		"nil uuid": {ubl("Invoice", `<cbc:UUID>00000000-0000-0000-0000-000000000000</cbc:UUID>`+numbered+ublParties),
			ref{Standard: interchange.UBL, Sender: a, SenderQualifier: "2026", Recipient: b, Control: "1", MessageTypes: []string{"Invoice"}}},
		"self-billed": {ubl("Invoice", numbered+`<cbc:InvoiceTypeCode>389</cbc:InvoiceTypeCode>`+ublParties),
			ref{Standard: interchange.UBL, Sender: b, SenderQualifier: "2026", Recipient: a, Control: "1", MessageTypes: []string{"Invoice"}}},
		"tax number": {ubl("CreditNote", numbered+tax("AccountingSupplierParty", "DE1")+tax("AccountingCustomerParty", "DE2")),
			ref{Standard: interchange.UBL, Sender: "VAT:DE1", SenderQualifier: "2026", Recipient: "VAT:DE2", Control: "1", MessageTypes: []string{"CreditNote"}}},
		"order": {ubl("Order", numbered+ublRole("BuyerCustomerParty", "0088", "1")+ublRole("SellerSupplierParty", "0088", "2")),
			ref{Standard: interchange.UBL, Sender: "0088:1", SenderQualifier: "2026", Recipient: "0088:2", Control: "1", MessageTypes: []string{"Order"}}},
		"order response": {ubl("OrderResponse", numbered+ublRole("SellerSupplierParty", "0088", "2")+ublRole("BuyerCustomerParty", "0088", "1")),
			ref{Standard: interchange.UBL, Sender: "0088:2", SenderQualifier: "2026", Recipient: "0088:1", Control: "1", MessageTypes: []string{"OrderResponse"}}},
		"cii": {ciiDocument("380", "", ""), ref{Standard: interchange.CII, Sender: "VA:DE111", SenderQualifier: "2026", Recipient: b, Control: "R1",
			MessageTypes: []string{"CrossIndustryInvoice"}, Test: true}},
		"zugferd 1": {zugferd1, ref{Standard: interchange.CII, Sender: a, SenderQualifier: "2026", Recipient: "Shop", Control: "R1",
			MessageTypes: []string{"CrossIndustryDocument"}}},
		"sbdh": {sbdh(ublMinimal), ref{Standard: interchange.SBDH, Sender: a, SenderQualifier: "iso6523-actorid-upis", Recipient: b,
			RecipientQualifier: "iso6523-actorid-upis", Control: "8b2f", MessageTypes: []string{"Invoice"}}},
		"gs1": {gs1("", gs1Order("ADD", "ORIGINAL")), ref{Standard: interchange.GS1, Sender: "4098765000002", SenderQualifier: "2", Control: "B77",
			MessageTypes: []string{"order"}}},
		"gs1 with header": {gs1(sbdhHeader, gs1Order("ADD", "ORIGINAL"), "x"), ref{Standard: interchange.GS1, Sender: a,
			SenderQualifier: "iso6523-actorid-upis", Recipient: b, RecipientQualifier: "iso6523-actorid-upis", Control: "8b2f", MessageTypes: []string{"order"}}},
		"gs1 in an envelope": {sbdh(gs1("", gs1Order("ADD", "ORIGINAL"))), ref{Standard: interchange.GS1, Sender: a,
			SenderQualifier: "iso6523-actorid-upis", Recipient: b, RecipientQualifier: "iso6523-actorid-upis", Control: "8b2f", MessageTypes: []string{"order"}}},
		"cxml": {cxml("1.2@h", "2026-03-01T09:30:00Z", cxmlOrder("new", "")), ref{Standard: interchange.CXML, Sender: "111", SenderQualifier: "DUNS",
			Recipient: "AN02", RecipientQualifier: "NetworkID", Control: "1.2@h", MessageTypes: []string{"OrderRequest"}, Test: true}},
		"as4": {as4(soap12, as4User("m1@a")), ref{Standard: interchange.AS4, Sender: "A", SenderQualifier: "t", Recipient: "B", RecipientQualifier: "t",
			Control: "m1@a", MessageTypes: []string{"UserMessage"}}},
		"as4 bundle": {as4(soap11, as4Signal("m2@a", "<eb:Receipt/>")+as4User("m1@a")), ref{Standard: interchange.AS4, Sender: "A", SenderQualifier: "t",
			Recipient: "B", RecipientQualifier: "t", Control: "m1@a m2@a", MessageTypes: []string{"SignalMessage", "UserMessage"}}},

		// What has no identity.
		"no number":     {ubl("Invoice", ublParties), ref{Standard: interchange.Content}},
		"no issuer":     {ubl("Invoice", numbered+nobody), ref{Standard: interchange.Content}},
		"empty id":      {strings.Replace(sbdh(ublMinimal), "8b2f", " \n ", 1), ref{Standard: interchange.Content}},
		"no message id": {as4(soap12, as4User("m1@a")+as4User("")), ref{Standard: interchange.Content}},
		"plain soap":    {as4(soap12, ""), ref{Standard: interchange.Content}},
		"other root":    {`<html/>`, ref{Standard: interchange.Content}},
		"other version": {strings.ReplaceAll(ublMinimal, "xsd:Invoice-2", "xsd:Invoice-3"), ref{Standard: interchange.Content}},
		"long number":   {strings.Replace(ublMinimal, "R2603-1", strings.Repeat("9", 300), 1), ref{Standard: interchange.Content}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := one(t, c.payload)
			if c.want.Standard == interchange.Content {
				if got.Standard != interchange.Content || got.Content != got.Raw {
					t.Errorf("got %+v", got.Reference)
				}
				return
			}
			if !reflect.DeepEqual(got.Reference, c.want) || !got.Complete {
				t.Errorf("got %+v\nwant %+v", got.Reference, c.want)
			}
		})
	}
}

// TestXMLEffects: what a document does to an earlier one.
func TestXMLEffects(t *testing.T) {
	t.Parallel()
	id := `<cbc:ID>2</cbc:ID>`
	code := func(c string) string { return `<cbc:InvoiceTypeCode>` + c + `</cbc:InvoiceTypeCode>` }
	const billing = `<cac:BillingReference><cac:InvoiceDocumentReference><cbc:ID>1</cbc:ID></cac:InvoiceDocumentReference></cac:BillingReference>`
	const order = `<cac:OrderReference><cbc:ID>1</cbc:ID></cac:OrderReference>`
	const invoice = `<ram:InvoiceReferencedDocument><ram:IssuerAssignedID>1</ram:IssuerAssignedID></ram:InvoiceReferencedDocument>`
	const copied = `<ram:CopyIndicator><udt:Indicator>true</udt:Indicator></ram:CopyIndicator>`
	const stamp = "2026-03-01T09:30:00Z"
	for name, c := range map[string]struct {
		payload      string
		effect       interchange.Effect
		function     string
		predecessors []string
	}{
		"invoice":          {ubl("Invoice", id+code("380")+order+ublParties), interchange.New, "380", nil},
		"corrected":        {ubl("Invoice", id+code("384")+billing+ublParties), interchange.Supersede, "384", []string{"1"}},
		"copy":             {ubl("Invoice", id+`<cbc:CopyIndicator>true</cbc:CopyIndicator>`+code("380")+ublParties), interchange.NoEffect, "380", nil},
		"credit":           {ubl("CreditNote", id+billing+ublParties), interchange.Delta, "", []string{"1"}},
		"credit for none":  {ubl("CreditNote", id+ublParties), interchange.New, "", nil},
		"change":           {ubl("OrderChange", id+order+ublParties), interchange.Delta, "", []string{"1"}},
		"cancellation":     {ubl("OrderCancellation", id+order+ublParties), interchange.Cancel, "", []string{"1"}},
		"response":         {ubl("ApplicationResponse", id+ublParties), interchange.Response, "", nil},
		"catalogue":        {ubl("Catalogue", id+`<cbc:ActionCode>Replace</cbc:ActionCode>`+ublParties), interchange.Supersede, "Replace", nil},
		"cii":              {ciiDocument("380", "", ""), interchange.New, "380", nil},
		"cii corrected":    {ciiDocument("384", "", invoice), interchange.Supersede, "384", []string{"1"}},
		"cii credit":       {ciiDocument("381", "", invoice), interchange.Delta, "381", []string{"1"}},
		"cii copy":         {ciiDocument("380", copied, ""), interchange.NoEffect, "380", nil},
		"cii purpose":      {ciiDocument("380", "<ram:PurposeCode>1</ram:PurposeCode>", ""), interchange.Cancel, "380", nil},
		"gs1 add":          {gs1("", gs1Order("ADD", "ORIGINAL")), interchange.New, "ADD", nil},
		"gs1 refresh":      {gs1("", gs1Order("CHANGE_BY_REFRESH", "ORIGINAL")), interchange.Supersede, "CHANGE_BY_REFRESH", nil},
		"gs1 delete":       {gs1("", gs1Order("DELETE", "ORIGINAL")), interchange.Cancel, "DELETE", nil},
		"gs1 copy":         {gs1("", gs1Order("ADD", "COPY")), interchange.NoEffect, "COPY", nil},
		"gs1 without code": {gs1("", gs1Order("", "ORIGINAL")), interchange.New, "ORIGINAL", nil},
		"cxml new":         {cxml("p", stamp, cxmlOrder("new", "")), interchange.New, "new", nil},
		"cxml update": {cxml("p", stamp, cxmlOrder("update", `<DocumentReference payloadID="q"/>`)), interchange.Supersede, "update",
			[]string{"q"}},
		"cxml delete":   {cxml("p", stamp, cxmlOrder("delete", "")), interchange.Cancel, "delete", nil},
		"cxml response": {cxml("p", stamp, `<Response><Status code="200"/></Response>`), interchange.Response, "", nil},
		"as4 receipt":   {as4(soap12, as4Signal("m", "<eb:Receipt/>")), interchange.Response, "Receipt", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ic := one(t, c.payload)
			if len(ic.Messages) != 1 {
				t.Fatalf("got %+v", ic)
			}
			m := ic.Messages[0]
			if m.Effect != c.effect || m.Function != c.function || !slices.Equal(m.Predecessors, c.predecessors) {
				t.Errorf("effect %q, function %q, predecessors %q", m.Effect, m.Function, m.Predecessors)
			}
		})
	}
}

// TestXMLFields: the fields besides.
func TestXMLFields(t *testing.T) {
	t.Parallel()
	order := one(t, cxml("p", "2026-03-01T09:30:00Z", cxmlOrder("new", "")))
	if m := order.Messages[0]; m.Number != "B77" || m.Revision != "2" || m.Date != "2026-03-01T09:00:00Z" || order.Version != "1.2.050" ||
		order.Date != "2026-03-01" || order.Time != "09:30:00Z" {
		t.Errorf("cXML: %+v", order)
	}
	envelope := one(t, sbdh(ublMinimal))
	if m := envelope.Messages[0]; m.Type != "Invoice" || m.Number != "R2603-1" || m.Version != "2.1" || m.Date != "2026-03-01" || m.Group != -1 ||
		envelope.Date != "2026-03-01" || envelope.Time != "09:30:00Z" || envelope.Version != "1.0" {
		t.Errorf("SBDH: %+v", envelope)
	}
	for payload, want := range map[string]bool{
		as4(soap12, as4User("m")):                                  false,
		as4(soap12, as4Signal("m", "<eb:Receipt/>")):               true,
		as4(soap12, as4Signal("m", "<eb:Error/>")+as4User("n")):    false,
		cxml("p", "", `<Response><Status code="200"/></Response>`): true,
	} {
		if one(t, payload).Acknowledges != want {
			t.Errorf("%q: acknowledges %t", payload, !want)
		}
	}
	written := one(t, strings.Replace(ublMinimal, "<cbc:ID>", "<cbc:UUID>ABCDEF01-0000</cbc:UUID><cbc:ID>", 1)).AsWritten
	if written.Control != "ABCDEF01-0000" || written.SenderQualifier != "0088" {
		t.Errorf("as written: %+v", written)
	}
}

// TestSBDHDocument: the document inside has the digest that it has in any other
// envelope, and the envelope's content has no date.
func TestSBDHDocument(t *testing.T) {
	t.Parallel()
	first := one(t, sbdh(ublMinimal))
	again := one(t, strings.Replace(sbdh(ublMinimal), "09:30:00Z", "11:11:11Z", 1))
	other := one(t, strings.Replace(sbdh(ublMinimal), "8b2f", "9c3e", 1))
	changed := one(t, strings.Replace(sbdh(ublMinimal), "R2603-1", "R2603-2", 1))
	alone := one(t, ublMinimal)
	if first.Content != again.Content {
		t.Error("the date of the envelope counts")
	}
	if first.Content == other.Content {
		t.Error("the identifier of the envelope does not count")
	}
	if first.Content == changed.Content {
		t.Error("the document does not count")
	}
	if d := first.Messages[0].Digest; d != other.Messages[0].Digest || d != alone.Messages[0].Digest || d == changed.Messages[0].Digest {
		t.Error("the digest of the document is not its own")
	}
}

// TestAS4Content: a retry has another message id, time stamp and security.
func TestAS4Content(t *testing.T) {
	t.Parallel()
	first := one(t, as4(soap12, as4User("m1")))
	retry := strings.NewReplacer("m1", "m2", "09:30", "09:45", "token", "other token").Replace(as4(soap12, as4User("m1")))
	if one(t, retry).Content != first.Content {
		t.Error("message id, time or security count")
	}
	if one(t, strings.Replace(as4(soap12, as4User("m1")), ">B<", ">C<", 1)).Content == first.Content {
		t.Error("the recipient does not count")
	}
}

// TestCXMLTimestamp: it is that of the transmission.
func TestCXMLTimestamp(t *testing.T) {
	t.Parallel()
	first, again := one(t, cxml("p", "1", cxmlOrder("new", ""))), one(t, cxml("p", "2", cxmlOrder("new", "")))
	other := one(t, cxml("q", "1", cxmlOrder("new", "")))
	if first.Content != again.Content || first.Content == other.Content || first.Messages[0].Digest != other.Messages[0].Digest {
		t.Error("the time stamp counts, or the payload id does not, or both in the document")
	}
}

// TestMultipart: the root part tells the identity, all parts are content.
func TestMultipart(t *testing.T) {
	t.Parallel()
	soap := "Content-Type: application/soap+xml\r\n\r\n" + as4(soap12, as4User("m1"))
	named := "Content-Type: application/soap+xml\r\nContent-ID: <root>\r\n\r\n" + as4(soap12, as4User("m1"))
	payload := func(id, octets string) string {
		return "Content-Type: application/gzip\r\nContent-ID: <" + id + ">\r\n\r\n" + octets
	}
	first := one(t, multipart("", soap, payload("a", "octets\x00\xff\r\n--=_not")))
	if first.Standard != interchange.AS4 || first.Control != "m1" || !first.Complete || len(first.Irregular) > 0 {
		t.Fatalf("got %+v", first)
	}
	if one(t, multipart("", soap, payload("b", "octets\x00\xff\r\n--=_not"))).Content != first.Content {
		t.Error("the id of a part counts")
	}
	for _, octets := range []string{"octets\x00\xff\r\n--=_not ", "octets\x00\xff", "octets\x00\xff\n--=_not",
		"x--=_b\r\ny", "x\r\n--=_b2\r\ny"} {
		if one(t, multipart("", soap, payload("a", octets))).Content == first.Content {
			t.Errorf("%q counts for nothing", octets)
		}
	}
	if a, b := payload("a", "x--=_b\r\ny"), payload("a", "x\r\n--=_b\r\n\r\ny"); one(t, multipart("", soap, a)).Content == one(t, multipart("", soap, b)).Content {
		t.Error("a delimiter inside of a line counts")
	}
	if ic := one(t, multipart("; start=\"<root>\"", payload("a", "x"), named)); ic.Standard != interchange.AS4 {
		t.Errorf("with start: %+v", ic)
	}
	for name, message := range map[string]string{
		"other root":   multipart("", "Content-Type: text/xml\r\n\r\n"+ublMinimal),
		"no such part": multipart("; start=\"<nowhere>\"", soap),
		"encoded root": multipart("", "Content-Transfer-Encoding: base64\r\n\r\nPGE+"),
		"no parts":     multipart(""),
	} {
		if ic := one(t, message); ic.Standard != interchange.Content {
			t.Errorf("%s: %+v", name, ic.Reference)
		}
	}
	cut, _, _ := strings.Cut(multipart("", soap, payload("a", "x")), "--=_b--")
	if ic := one(t, cut); ic.Complete && !slices.Contains(ic.Irregular, "no trailer") {
		t.Errorf("without the last delimiter: %+v", ic)
	}
}

// TestXMLAmongOthers: several documents, of several standards, and junk.
func TestXMLAmongOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, payload string
		want          []interchange.Standard
	}{
		{"two", "<?xml version='1.0'?>" + ublMinimal + "\r\n<?xml version='1.0'?>" + ublMinimal, []interchange.Standard{interchange.UBL, interchange.UBL}},
		{"edifact behind", ublMinimal + "\n" + edifactMessage, []interchange.Standard{interchange.UBL, interchange.EDIFACT}},
		{"xml behind", edifactMessage + "\n" + ublMinimal, []interchange.Standard{interchange.EDIFACT, interchange.UBL}},
		{"json", "{" + event + "}\n" + ublMinimal, []interchange.Standard{interchange.EPCIS, interchange.UBL}},
		{"junk", "received by mail: " + ublMinimal + " -- ", []interchange.Standard{interchange.UBL}},
		{"byte order mark", "\xef\xbb\xbf" + ublMinimal, []interchange.Standard{interchange.UBL}},
		{"licence", "<!--" + strings.Repeat(" words", 4000) + "-->" + ublMinimal, []interchange.Standard{interchange.UBL}},
		{"licence behind", ublMinimal + "<!--" + strings.Repeat(" words", 4000) + "--><?end?>\n", []interchange.Standard{interchange.UBL}},
		{"licence between", ublMinimal + "<!-- words -->" + ublMinimal, []interchange.Standard{interchange.UBL, interchange.UBL}},
		{"cut off", ublMinimal[:400] + "<?xml version='1.0'?>" + ublMinimal, []interchange.Standard{interchange.Content}},
		{"declaration inside", sbdh("<?xml version='1.0'?>" + ublMinimal), []interchange.Standard{interchange.Content}},
		{"unknown behind", ublMinimal + strings.Repeat("<other/>", 20), []interchange.Standard{interchange.UBL, interchange.Content}},
		{"no root in reach", "<!--" + strings.Repeat(" words", 20000) + "-->" + ublMinimal, []interchange.Standard{interchange.Content}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []interchange.Standard
			for _, ic := range scan(t, c.payload) {
				got = append(got, ic.Standard)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestXMLAtTheEdge: wherever the end of what is in memory falls into a root tag.
func TestXMLAtTheEdge(t *testing.T) {
	t.Parallel()
	long := strings.Replace(ublMinimal, "<Invoice ", "<Invoice a='"+strings.Repeat("x", 10000)+"' ", 1)
	for size := 54000; size < 66000; size += 501 {
		filler := strings.Replace(edifactMessage, "UNT+", "FTX+AAA+++"+strings.Repeat("x", size)+"'UNT+", 1)
		found := scan(t, filler+long)
		if len(found) != 2 || found[1].Standard != interchange.UBL {
			t.Fatalf("behind %d octets: %d interchanges, the last one %+v", len(filler), len(found), found[len(found)-1].Reference)
		}
	}
}

// TestXMLBehindManyMessages: when no more messages are listed, documents are
// still known.
func TestXMLBehindManyMessages(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	many.WriteString("UNB+UNOC:3+A+B+260301:0930+R1'")
	for range interchange.MaxMessages {
		many.WriteString("UNH+1+ORDERS:D:96A:UN'UNT+2+1'")
	}
	many.WriteString("UNZ+10000+R1'")
	list := []string{ublMinimal, ciiDocument("380", "", ""), sbdh(ublMinimal), gs1("", gs1Order("ADD", "ORIGINAL")), as4(soap12, as4User("m1")),
		cxml("p", "t", cxmlOrder("new", "")), epcisDocument(event)}
	found := scan(t, many.String()+strings.Join(list, "\n"))
	if len(found) != len(list)+1 {
		t.Fatalf("%d interchanges", len(found))
	}
	for i, payload := range list {
		alone, got := one(t, payload), found[i+1]
		if !reflect.DeepEqual(got.Reference, alone.Reference) || got.Content != alone.Content || len(got.Messages) > 0 || got.AllListed() {
			t.Errorf("%+v\nwant %+v", got, alone.Reference)
		}
	}
}

// The parts before the root of an AS4 message count, as those behind it do.
func TestAS4PartsBeforeTheRoot(t *testing.T) {
	t.Parallel()
	message := func(payload string) string {
		return "Content-Type: multipart/related; boundary=b; start=\"<root>\"\r\n\r\n--b\r\nContent-Type: text/xml\r\nContent-ID: <p>\r\n\r\n" + payload +
			"\r\n--b\r\nContent-Type: application/soap+xml\r\nContent-ID: <root>\r\n\r\n" +
			"<s:Envelope xmlns:s='http://www.w3.org/2003/05/soap-envelope'><s:Header><m:Messaging xmlns:m='http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/'>" +
			"<m:UserMessage><m:MessageInfo><m:MessageId>1@a</m:MessageId></m:MessageInfo></m:UserMessage></m:Messaging></s:Header><s:Body/></s:Envelope>\r\n--b--\r\n"
	}
	a, b := one(t, message("100")), one(t, message("999"))
	if a.Standard != interchange.AS4 || a.Control != "1@a" || b.Control != "1@a" || a.Content == b.Content {
		t.Errorf("%s %q %q, equal content %v", a.Standard, a.Control, b.Control, a.Content == b.Content)
	}
}
