package interchange_test

import (
	"os"
	"path/filepath"
	"regexp"
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
	var types []string
	for _, m := range ic.Messages {
		name := m.Type
		if m.Function != "" && ic.Standard != interchange.EPCIS {
			name += "/" + m.Function
		}
		types = append(types, name)
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
	if !slices.Equal(ic.Types(), types) {
		t.Errorf("types %q, want %q", ic.Types(), types)
	}
	// The sheet leaves the time of a declaration out, and lists ids, which have
	// semicolons themselves, with semicolons between.
	var got []string
	for i := range ic.Messages {
		key, _, declared := strings.Cut(ic.Messages[i].Number, "+errorDeclaration+")
		if declared {
			key += "+errorDeclaration"
		}
		got = append(got, key)
	}
	if keys := strings.Join(got, ";"); keys != r["reference"] && !slices.Contains(documentsDiffer[r["path"]], "reference") {
		t.Errorf("keys %q, want %q", keys, r["reference"])
	}
	for _, m := range ic.Messages {
		if !strings.Contains(ic.Control, m.Number) {
			t.Errorf("control reference %q lacks %q", ic.Control, m.Number)
		}
	}
	if r["functions"] != strings.Join(ic.Functions(), ",") {
		t.Errorf("functions %q, want %q", ic.Functions(), r["functions"])
	}
}

// TestCorpusHashes: what the reference implementation computes today for events
// that claim other ids.
func TestCorpusHashes(t *testing.T) {
	t.Parallel()
	for _, r := range sheet(t)["epcis/epcis20_query_document.jsonld"] {
		payload, err := os.ReadFile(filepath.Join(corpus, r["path"]))
		if err != nil {
			t.Fatal(err)
		}
		// Without the ids that they claim, events are known by their hashes.
		unclaimed := regexp.MustCompile(`"eventID"\s*:\s*"[^"]*"\s*,`).ReplaceAllString(string(payload), "")
		for i, want := range []string{"df652366", "32547b23"} {
			if got := one(t, unclaimed).Messages[i].Number; !strings.HasPrefix(got, "ni:///sha-256;"+want) {
				t.Errorf("event %d: %s, want %s", i, got, want)
			}
		}
	}
}
