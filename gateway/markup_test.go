package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"firstcopy/internal/as2test"
)

// ublInvoice is a UBL invoice with a UUID, or known by its issuer, kind and number without one.
func ublInvoice(number, uuid, amount string) string {
	if uuid != "" {
		uuid = "<cbc:UUID>" + uuid + "</cbc:UUID>"
	}
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2" xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">
  <cbc:ID>%s</cbc:ID>%s<cbc:IssueDate>2026-11-30</cbc:IssueDate><cbc:InvoiceTypeCode>380</cbc:InvoiceTypeCode>
  <cac:AccountingSupplierParty><cac:Party><cbc:EndpointID schemeID="0088">4012345000009</cbc:EndpointID></cac:Party></cac:AccountingSupplierParty>
  <cac:AccountingCustomerParty><cac:Party><cbc:EndpointID schemeID="0088">5412345000013</cbc:EndpointID></cac:Party></cac:AccountingCustomerParty>
  <cac:LegalMonetaryTotal><cbc:PayableAmount currencyID="EUR">%s</cbc:PayableAmount></cac:LegalMonetaryTotal>
</Invoice>
`, number, uuid, amount)
}

func sbdh(instance, payload string) string {
	_, payload, _ = strings.Cut(payload, "?>\n")
	return `<StandardBusinessDocument xmlns="http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader"><StandardBusinessDocumentHeader>
<HeaderVersion>1.0</HeaderVersion><Sender><Identifier Authority="iso6523-actorid-upis">0088:4012345000009</Identifier></Sender>
<Receiver><Identifier Authority="iso6523-actorid-upis">0088:5412345000013</Identifier></Receiver><DocumentIdentification>
<Standard>urn:oasis:names:specification:ubl:schema:xsd:Invoice-2</Standard><TypeVersion>2.1</TypeVersion><InstanceIdentifier>` + instance +
		`</InstanceIdentifier><Type>Invoice</Type><CreationDateAndTime>2026-12-01T08:00:00Z</CreationDateAndTime></DocumentIdentification>
</StandardBusinessDocumentHeader>` + payload + `</StandardBusinessDocument>`
}

func epcis(event, place string) string {
	return `{"@context": ["https://ref.gs1.org/standards/epcis/2.0.0/epcis-context.jsonld"], "type": "EPCISDocument", "schemaVersion": "2.0",
"creationDate": "2026-12-01T08:00:00Z", "epcisBody": {"eventList": [{"type": "ObjectEvent", "eventID": "` + event + `",
"eventTime": "2026-12-01T07:00:00Z", "eventTimeZoneOffset": "+00:00", "epcList": ["https://id.gs1.org/01/04012345000016/21/1"],
"action": "OBSERVE", "bizStep": "shipping", "readPoint": {"id": "` + place + `"}}]}}`
}

// Documents in XML and JSON are known by what they call themselves, however they are written down.
func TestMarkupVerdicts(t *testing.T) {
	t.Parallel()
	const uuid = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
	for name, copies := range map[string][4]string{ // a first copy, a copy written otherwise, other content, another one
		"UBL by UUID": {ublInvoice("7", uuid, "10.00"), strings.ReplaceAll(ublInvoice("7", uuid, "10.00"), "cbc:", "basic:"),
			ublInvoice("7", uuid, "11.00"), ublInvoice("8", "", "10.00")},
		"UBL by number": {ublInvoice("7", "", "10.00"), strings.ReplaceAll(ublInvoice("7", "", "10.00"), "\n  ", "\n\t\t"),
			ublInvoice("7", "", "11.00"), ublInvoice("7b", "", "10.00")},
		"SBDH": {sbdh("a-1", ublInvoice("7", "", "10.00")), strings.Replace(sbdh("a-1", ublInvoice("7", "", "10.00")), "08:00:00Z", "09:30:00Z", 1),
			sbdh("a-1", ublInvoice("7", "", "11.00")), sbdh("a-2", ublInvoice("9", "", "10.00"))},
		"EPCIS": {epcis("urn:uuid:1", "urn:epc:id:sgln:4012345.00001.0"), strings.ReplaceAll(epcis("urn:uuid:1", "urn:epc:id:sgln:4012345.00001.0"), ", ", ",\n  "),
			epcis("urn:uuid:1", "urn:epc:id:sgln:4012345.00002.0"), epcis("urn:uuid:2", "urn:epc:id:sgln:4012345.00001.0")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := as2test.Start(t, as2test.Options{})
			acme := hub.Agree("acme", nil)
			copies[1] = strings.ReplaceAll(copies[1], "xmlns:cbc=", "xmlns:basic=")
			if !strings.Contains(copies[1], "basic:") {
				copies[1] = strings.ReplaceAll(copies[1], "xmlns:basic=", "xmlns:cbc=")
			}
			for _, c := range copies {
				processed(t, as2test.Send(t, acme, c))
			}
			verdicts := hub.Strings(`SELECT kind FROM ledger_event WHERE kind <> 'forwarded' ORDER BY at, event_id`)
			if want := []string{"first", "duplicate", "drift", "first"}; !slices.Equal(verdicts, want) {
				t.Errorf("verdicts %v, want %v", verdicts, want)
			}
			want := []string{copies[0], copies[3]}
			slices.Sort(want)
			if got := hub.Forwarded("acme"); !slices.Equal(got, want) {
				t.Errorf("%d documents were forwarded, or not to the octet", len(got))
			}
		})
	}
}
