package interchange_test

import (
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

// TestPublicFaults holds the right answer to faults of EDI readers that are
// publicly known and have no other test; docs/edi-faults.md numbers them.
func TestPublicFaults(t *testing.T) {
	t.Parallel()
	message := one(t, edifactMessage)
	for name, c := range map[string]struct {
		payload string
		right   func(interchange.Interchange) bool
	}{
		"F11 decimal comma in UNA": {"UNA:+,? '" + edifactMessage, func(ic interchange.Interchange) bool {
			return ic.Content == message.Content && ic.Faults == 0
		}},
		"F12 a header cut short": {"'UNA:+.? 'UNB+UNOA:3'UNZ+0+1'", func(ic interchange.Interchange) bool {
			return ic.Standard == interchange.Content && ic.Faults.Has(interchange.FaultMissing)
		}},
		"F14 a release character before the version": {"UNA:+.?*'UNB+UNO?A:4+A+B+260301:0930+R1'UNH+1+ORDERS:D'ABI+A*B*'UNT+3+1'UNZ+1+R1'", func(ic interchange.Interchange) bool {
			return ic.Version == "UNOA:4" && ic.Separators.Repetition == '*'
		}},
		"F16 decimal comma and point without UNA": {strings.Replace(edifactMessage, "QTY+21:48", "QTY+21:4,8:PCE'QTY+21:4.8", 1), func(ic interchange.Interchange) bool {
			return ic.Standard == interchange.EDIFACT && ic.Complete && ic.Content != message.Content
		}},
		"F19 the component separator in data": {strings.Replace(x12Message, "4711", "47:11", 1), func(ic interchange.Interchange) bool {
			return ic.Complete && ic.Faults == 0 && ic.Messages[0].Faults == 0
		}},
		"F25 GS without GS08": {strings.Replace(x12Message, "*X*004010", "", 1), func(ic interchange.Interchange) bool {
			return ic.Complete && ic.Groups[0].Version == "" && ic.Groups[0].Control == "5" && ic.Groups[0].Faults == 0
		}},
		"F25 GS without anything": {strings.Replace(x12Message, "GS*PO*BUYER*SELLER*20260301*0930*5*X*004010~", "GS~", 1), func(ic interchange.Interchange) bool {
			return ic.Complete && ic.Groups[0].Faults.Has(interchange.FaultMissing|interchange.FaultControl)
		}},
		"F30 blank ISA02 and ISA04": {x12Message, func(ic interchange.Interchange) bool { return ic.Faults == 0 }},
		"F46 a tag and its terminator": {strings.Replace(x12Message, "PO1*1", "HL~PO1*1", 1), func(ic interchange.Interchange) bool {
			return ic.Complete && ic.Messages[0].Segments == 5
		}},
		"F58 a wrong count leaves the identity": {strings.Replace(x12Message, "SE*4", "SE*9", 1), func(ic interchange.Interchange) bool {
			return ic.Standard == interchange.X12 && ic.Control == "000000077" && ic.Faults == 0 && ic.Messages[0].Faults == interchange.FaultCount
		}},
		"F59 empty optional elements": {strings.Replace(edifactMessage, "++ORDERS++1'", "++++++1'", 1), func(ic interchange.Interchange) bool {
			return ic.Test && !ic.AckRequested && ic.Faults == 0
		}},
	} {
		if ic := one(t, c.payload); !c.right(ic) {
			t.Errorf("%s: %+v", name, ic)
		}
	}
}
