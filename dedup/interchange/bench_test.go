package interchange_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

// invoice builds an EDIFACT interchange of at least size octets, one segment to
// a line if lines is set.
func invoice(size int, lines bool) []byte {
	var b strings.Builder
	b.WriteString("UNA:+.? 'UNB+UNOC:3+4012345000009:14+4098765000002:14+260301:0930+2603010001++INVOIC'" +
		"UNH+1+INVOIC:D:96A:UN:EAN008'BGM+380+R2603-1+9'DTM+137:20260301:102'NAD+BY+4098765000002::9'")
	segments := 4
	for line := 1; b.Len() < size-60; line++ {
		fmt.Fprintf(&b, "LIN+%d++4000862%06d:SRS'IMD+C++TU::9:Tinned soup, 6 pieces'QTY+47:%d:PCE'MOA+203:%d.40'PRI+AAA:14.58:::1:PCE'RFF+ON:45000%05d:%d'TAX+7+VAT+++:::19+S'",
			line, line%1000000, line%97+1, line%9000, line%100000, line%50)
		segments += 7
	}
	fmt.Fprintf(&b, "UNS+S'UNT+%d+1'UNZ+1+2603010001'", segments+2)
	if lines {
		return []byte(strings.ReplaceAll(b.String(), "'", "'\r\n"))
	}
	return []byte(b.String())
}

// order builds an X12 interchange of at least size octets.
func order(size int) []byte {
	var b strings.Builder
	b.WriteString("ISA*00*          *00*          *ZZ*BUYER          *ZZ*SELLER         *260301*0930*^*00501*000000077*0*P*:~\n" +
		"GS*PO*BUYER*SELLER*20260301*0930*77*X*005010~\nST*850*0001~\nBEG*00*SA*4500012345**20260301~\n")
	segments := 2
	for line := 1; b.Len() < size-60; line++ {
		fmt.Fprintf(&b, "PO1*%d*%d*EA*14.58*PE*UP*4000862%06d*VN*A-%d~\nPID*F****Tinned soup, 6 pieces~\nSDQ*EA**0012*10*0044*12*0051*9~\n",
			line, line%97+1, line%1000000, line%9000)
		segments += 3
	}
	fmt.Fprintf(&b, "SE*%d*0001~\nGE*1*77~\nIEA*1*000000077~\n", segments+1)
	return []byte(b.String())
}

// BenchmarkScan is to be read beside BenchmarkSHA256, which hashes the same
// octets once; Scan hashes them twice. With -cpu 1 the ratio is that of
// processor time.
func BenchmarkScan(b *testing.B) {
	for _, c := range benchmarkPayloads() {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.payload)))
			b.ReportAllocs()
			r := bytes.NewReader(nil)
			for b.Loop() {
				r.Reset(c.payload)
				if _, err := interchange.Scan(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSHA256(b *testing.B) {
	for _, c := range benchmarkPayloads() {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.payload)))
			h, r := sha256.New(), bytes.NewReader(nil)
			for b.Loop() {
				h.Reset()
				r.Reset(c.payload)
				if _, err := io.Copy(h, r); err != nil {
					b.Fatal(err)
				}
				h.Sum(nil)
			}
		})
	}
}

type namedPayload struct {
	name    string
	payload []byte
}

func benchmarkPayloads() []namedPayload {
	return append([]namedPayload{
		{"edifact-2KiB", invoice(2<<10, true)},
		{"edifact-4MiB", invoice(4<<20, false)},
		{"edifact-lines-4MiB", invoice(4<<20, true)},
		{"x12-4MiB", order(4 << 20)},
		{"unknown-4MiB", bytes.Repeat([]byte("0123456789abcde\n"), 1<<18)},
	}, markupPayloads()...)
}
