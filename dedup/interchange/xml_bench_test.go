package interchange_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"firstcopy/dedup/interchange"
)

// ublInvoice builds a UBL invoice of at least size octets, as most writers
// indent it.
func ublInvoice(size int) []byte {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"
  xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
  xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">
  <cbc:CustomizationID>urn:cen.eu:en16931:2017</cbc:CustomizationID>
  <cbc:ID>R2603-1</cbc:ID>
  <cbc:IssueDate>2026-03-01</cbc:IssueDate>
  <cbc:InvoiceTypeCode>380</cbc:InvoiceTypeCode>
  <cbc:DocumentCurrencyCode>EUR</cbc:DocumentCurrencyCode>
  <cac:AccountingSupplierParty>
    <cac:Party>
      <cbc:EndpointID schemeID="0088">4012345000009</cbc:EndpointID>
    </cac:Party>
  </cac:AccountingSupplierParty>
  <cac:AccountingCustomerParty>
    <cac:Party>
      <cbc:EndpointID schemeID="0088">4098765000002</cbc:EndpointID>
    </cac:Party>
  </cac:AccountingCustomerParty>
`)
	for line := 1; b.Len() < size-12; line++ {
		fmt.Fprintf(&b, `  <cac:InvoiceLine>
    <cbc:ID>%d</cbc:ID>
    <cbc:InvoicedQuantity unitCode="C62">%d</cbc:InvoicedQuantity>
    <cbc:LineExtensionAmount currencyID="EUR">%d.40</cbc:LineExtensionAmount>
    <cac:Item>
      <cbc:Description>Tinned soup, 6 pieces, with vegetables &amp; noodles</cbc:Description>
      <cbc:Name>Tinned soup</cbc:Name>
      <cac:StandardItemIdentification>
        <cbc:ID schemeID="0160">4000862%06d</cbc:ID>
      </cac:StandardItemIdentification>
      <cac:ClassifiedTaxCategory>
        <cbc:ID>S</cbc:ID>
        <cbc:Percent>19</cbc:Percent>
        <cac:TaxScheme>
          <cbc:ID>VAT</cbc:ID>
        </cac:TaxScheme>
      </cac:ClassifiedTaxCategory>
    </cac:Item>
    <cac:Price>
      <cbc:PriceAmount currencyID="EUR">14.58</cbc:PriceAmount>
    </cac:Price>
  </cac:InvoiceLine>
`, line, line%97+1, line%9000, line%1000000)
	}
	b.WriteString("</Invoice>\n")
	return []byte(b.String())
}

// events builds an EPCIS document of at least size octets.
func events(size int) []byte {
	var list []string
	for n := 0; n < size; n += len(list[len(list)-1]) + 3 {
		list = append(list, fmt.Sprintf(`"type":"ObjectEvent","eventTime":"2026-03-01T09:15:%02d.%03dZ","eventTimeZoneOffset":"+01:00",`+
			`"epcList":["urn:epc:id:sgtin:4000862.012345.%[3]d","urn:epc:id:sgtin:4000862.012346.%[3]d"],"action":"OBSERVE",`+
			`"bizStep":"shipping","disposition":"in_transit","readPoint":{"id":"urn:epc:id:sgln:4000862.00012.7"},`+
			`"bizTransactionList":[{"type":"po","bizTransaction":"urn:epc:id:gdti:4000862.00001.%[3]d"}]`, len(list)/1000%60, len(list)%1000, len(list)))
	}
	return []byte(epcisDocument(list...))
}

func markupPayloads() []namedPayload {
	return []namedPayload{
		{"ubl-8KiB", ublInvoice(8 << 10)},
		{"ubl-16MiB", ublInvoice(16 << 20)},
		{"sbdh-16MiB", []byte(sbdh(strings.TrimSpace(strings.TrimPrefix(string(ublInvoice(16<<20)), `<?xml version="1.0" encoding="UTF-8"?>`))))},
		{"epcis-16MiB", events(16 << 20)},
	}
}

// BenchmarkRatio compares the processor time of Scan with that of a plain
// SHA-256 of the same octets, in turns, which holds on a machine with other
// load.
func BenchmarkRatio(b *testing.B) {
	for _, c := range benchmarkPayloads() {
		b.Run(c.name, func(b *testing.B) {
			times := max(1, (1<<20)/len(c.payload))
			r, h := bytes.NewReader(nil), sha256.New()
			var scanning, hashing time.Duration
			for b.Loop() {
				start := processorTime(b)
				for range times {
					r.Reset(c.payload)
					if _, err := interchange.Scan(r); err != nil {
						b.Fatal(err)
					}
				}
				scanned := processorTime(b)
				for range times {
					h.Reset()
					h.Write(c.payload)
					h.Sum(nil)
				}
				scanning, hashing = scanning+scanned-start, hashing+processorTime(b)-scanned
			}
			b.ReportMetric(hashing.Seconds()/scanning.Seconds(), "of-sha256")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
