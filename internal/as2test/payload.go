package as2test

import (
	"fmt"
	"strings"
)

// Invoice is an EDIFACT interchange with one INVOIC. total makes contents differ under one reference.
func Invoice(reference, total string) string {
	return "UNA:+.? '\r\nUNB+UNOC:3+4012345000009:14+5412345000013:14+261201:1015+" + reference + "++INVOIC'\r\n" +
		"UNH+1+INVOIC:D:96A:UN:EAN008'\r\nBGM+380+RE-" + reference + "+9'\r\nDTM+137:20261201:102'\r\n" +
		"NAD+SU+4012345000009::9'\r\nLIN+1++4000862141404:EN'\r\nQTY+47:12'\r\nMOA+77:" + total + "'\r\n" +
		"UNT+8+1'\r\nUNZ+1+" + reference + "'\r\n"
}

// Orders is a list of EDIFACT interchanges in one payload, one ORDERS each.
func Orders(references ...string) string {
	var b strings.Builder
	for _, r := range references {
		b.WriteString("UNB+UNOC:3+4012345000009:14+5412345000013:14+261201:1015+" + r + "'UNH+1+ORDERS:D:96A:UN'BGM+220+PO" + r +
			"+9'DTM+137:20261201:102'UNT+4+1'UNZ+1+" + r + "'\n")
	}
	return b.String()
}

// PurchaseOrder is an X12 interchange with one 850.
func PurchaseOrder(control int, quantity int) string {
	return fmt.Sprintf("ISA*00*          *00*          *ZZ*GLOBEX         *ZZ*HUB            *261201*1015*U*00401*%09d*0*P*>~"+
		"GS*PO*GLOBEX*HUB*20261201*1015*%d*X*004010~ST*850*0001~BEG*00*SA*PO%d**20261201~PO1*1*%d*EA*9.95**VP*4711~"+
		"CTT*1~SE*5*0001~GE*1*%d~IEA*1*%09d~", control, control, control, quantity, control, control)
}

// Document is an EDIFACT interchange with one message of any type. What is empty is left out.
type Document struct {
	Reference        string // 0020
	Type             string // 0065
	Number, Function string // BGM 1004, 1225
	Date             string // DTM 137, format 102
	Sent             string // S004; 261201:1015 if empty
	Predecessor      string // RFF ACW
	Text             string // an FTX; makes contents differ
}

// String is the interchange.
func (d Document) String() string {
	segments := []string{"UNH+1+" + d.Type + ":D:95B:UN", "BGM+340+" + d.Number + "+" + d.Function}
	if d.Date != "" {
		segments = append(segments, "DTM+137:"+d.Date+":102")
	}
	if d.Predecessor != "" {
		segments = append(segments, "RFF+ACW:"+d.Predecessor)
	}
	if d.Text != "" {
		segments = append(segments, "FTX+AAI+++"+d.Text)
	}
	sent := d.Sent
	if sent == "" {
		sent = "261201:1015"
	}
	return fmt.Sprintf("UNB+UNOC:3+4012345000009:14+5412345000013:14+%s+%s'%s'UNT+%d+1'UNZ+1+%s'\n",
		sent, d.Reference, strings.Join(segments, "'"), len(segments)+1, d.Reference)
}
