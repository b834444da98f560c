package interchange_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

func testdata(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// epcisIDs are what GS1's reference implementation computes for the events of
// testdata/epcis.xml.
var epcisIDs = []string{
	"ni:///sha-256;bc27bee9e266d24ccbb119c93316d712ae387b4308ac5b3ad927415674340183?ver=CBV2.0",
	"ni:///sha-256;4ac71181e1082f220478d06745d146b4c43c737b2f35147a4fdf0159912c92ab?ver=CBV2.0",
	"ni:///sha-256;856e4c098d90f55c5d167ba76dcdb54d61ed8876361e1f6636ba4b6b6681b518?ver=CBV2.0",
}

// TestEPCIS: the same events in XML and in JSON-LD, with other spellings of
// everything that has several, have the same ids and the same content.
func TestEPCIS(t *testing.T) {
	t.Parallel()
	x, j := one(t, testdata(t, "epcis.xml")), one(t, testdata(t, "epcis.jsonld"))
	for _, ic := range []interchange.Interchange{x, j} {
		if ic.Standard != interchange.EPCIS || ic.Version != "2.0" || len(ic.Irregular) > 0 || !ic.Complete {
			t.Errorf("got %+v", ic)
		}
		var ids []string
		for _, m := range ic.Messages {
			ids = append(ids, m.Number)
		}
		if !slices.Equal(ids, epcisIDs) {
			t.Errorf("ids %q", ids)
		}
		if want := slices.Sorted(slices.Values(epcisIDs)); ic.Control != strings.Join(want, " ") {
			t.Errorf("control reference %q", ic.Control)
		}
	}
	if x.Content != j.Content {
		t.Error("XML and JSON differ in content")
	}
}

// An event in JSON, without the braces around.
const event = `"type":"ObjectEvent","eventTime":"2026-03-01T09:15:00Z","eventTimeZoneOffset":"+01:00","action":"OBSERVE",` +
	`"epcList":["urn:epc:id:sgtin:4000862.012345.77"]`

func epcisDocument(events ...string) string {
	for i, e := range events {
		events[i] = "{" + e + "}"
	}
	return `{"@context":"x","type":"EPCISDocument","creationDate":"2026-03-01T10:00:00Z","schemaVersion":"2.0",` +
		`"epcisBody":{"eventList":[` + strings.Join(events, ",") + `]}}`
}

// What the standard's hash cannot tell apart is other content all the same, and so is what stands beside the events.
func TestEPCISContentIsFramed(t *testing.T) {
	t.Parallel()
	const other = `,"x:l":{"x:i":"1"},"x:m":"2"`
	for name, pair := range map[string][2]string{
		"nesting":                     {epcisDocument(event + other), epcisDocument(event + `,"x:l":{"x:i":"1","x:m":"2"}`)},
		"a value that looks like two": {epcisDocument(event + `,"x:a":"1x:b=2"`), epcisDocument(event + `,"x:a":"1","x:b":"2"`)},
		"beside the events":           {epcisDocument(event), strings.Replace(epcisDocument(event), `"epcisBody":{`, `"epcisBody":{"events":[1],`, 1)},
		"beside them in XML": {"<e:EPCISDocument xmlns:e='urn:epcglobal:epcis:xsd:2' schemaVersion='2.0'><EPCISBody><EventList><ObjectEvent><action>ADD</action></ObjectEvent></EventList></EPCISBody></e:EPCISDocument>",
			"<e:EPCISDocument xmlns:e='urn:epcglobal:epcis:xsd:2' schemaVersion='2.0'><EPCISBody><EventList><ObjectEvent><action>ADD</action></ObjectEvent></EventList><extension><x/></extension></EPCISBody></e:EPCISDocument>"},
	} {
		if a, b := one(t, pair[0]), one(t, pair[1]); a.Content == b.Content || a.Standard != interchange.EPCIS {
			t.Errorf("%s: equal, or %s", name, a.Standard)
		}
	}
}

func TestEPCISKeys(t *testing.T) {
	t.Parallel()
	const id = `,"eventID":"urn:uuid:5f3c"`
	plain := one(t, epcisDocument(event))
	claimed := one(t, epcisDocument(event+id))
	declared := one(t, epcisDocument(event+id+`,"errorDeclaration":{"declarationTime":"2026-03-02T10:00:00+01:00","reason":"incorrect_data"}`))
	if !strings.HasPrefix(plain.Control, "ni:///sha-256;") {
		t.Errorf("without an eventID: %q", plain.Control)
	}
	if claimed.Control != "urn:uuid:5f3c" || claimed.Content != plain.Content {
		t.Errorf("with an eventID: %q", claimed.Control)
	}
	if want := "urn:uuid:5f3c+errorDeclaration+2026-03-02T09:00:00.000Z"; declared.Control != want || declared.Content == claimed.Content {
		t.Errorf("an error declaration is %q", declared.Control)
	}
	if m := declared.Messages[0]; m.Effect != interchange.Cancel || !slices.Equal(m.Predecessors, []string{"urn:uuid:5f3c"}) {
		t.Errorf("an error declaration: %+v", m)
	}
	alone := one(t, "{"+event+"}")
	if alone.Standard != interchange.EPCIS || alone.Content != plain.Content || alone.Control != plain.Control {
		t.Errorf("an event alone: %+v", alone)
	}
}

// TestEPCISSet: neither the order of the events nor what stands around them
// counts; an event more does.
func TestEPCISSet(t *testing.T) {
	t.Parallel()
	other := strings.Replace(event, ".77", ".78", 1)
	first := one(t, epcisDocument(event, other))
	again := one(t, strings.Replace(epcisDocument(other+`,"recordTime":"2026-03-05T00:00:00Z"`, event), "10:00:00Z", "11:00:00Z", 1))
	if first.Content != again.Content || first.Control != again.Control {
		t.Error("the order counts")
	}
	if less := one(t, epcisDocument(event)); less.Content == first.Content || less.Control == first.Control {
		t.Error("an event does not count")
	}
	data := one(t, strings.Replace(epcisDocument(event, other), `"epcisBody"`,
		`"epcisHeader":{"epcisMasterData":{"vocabularyList":[{"type":"x","id":"y"}]}},"epcisBody"`, 1))
	if data.Content == first.Content {
		t.Error("master data do not count")
	}
	var many []string
	for i := range 100 {
		many = append(many, strings.Replace(event, ".77", fmt.Sprintf(".%d", i), 1))
	}
	forward := one(t, epcisDocument(many...))
	for i := range many {
		many[i] = strings.Trim(many[i], "{}")
	}
	slices.Reverse(many)
	if back := one(t, epcisDocument(many...)); !strings.HasPrefix(back.Control, "sha256:") || back.Control != forward.Control || back.Content != forward.Content {
		t.Errorf("many events: %q and %q", forward.Control, back.Control)
	}
}

// TestEPCISMixedKeys: ids that are claimed beside such that are computed, in
// documents with too many to be listed.
func TestEPCISMixedKeys(t *testing.T) {
	t.Parallel()
	document := func(first int, claim string) string {
		var list []string
		for i := range 100 {
			e := strings.Replace(event, ".77", fmt.Sprintf(".%d", first+i), 1)
			if i == 99 {
				e += claim
			}
			list = append(list, e)
		}
		return epcisDocument(list...)
	}
	const claim = `,"eventID":"urn:uuid:5f3c"`
	mixed := one(t, document(0, claim)).Control
	for name, other := range map[string]string{
		"the others":  document(1, claim),
		"the claimed": document(0, `,"eventID":"urn:uuid:5f3d"`),
		"the claim":   document(0, ""),
	} {
		if one(t, other).Control == mixed {
			t.Errorf("%s: no part of the reference", name)
		}
	}
}

// EPCIS 1.2 keeps some properties in wrappers, and query results below the body.
func TestEPCIS1(t *testing.T) {
	t.Parallel()
	const wrapped = `<e:EPCISDocument xmlns:e="urn:epcglobal:epcis:xsd:1" schemaVersion="1.2"><EPCISBody><EventList>` +
		`<extension><TransformationEvent><eventTime>2026-03-01T12:00:00Z</eventTime><eventTimeZoneOffset>+02:00</eventTimeZoneOffset>` +
		`<baseExtension><eventID>urn:uuid:77</eventID></baseExtension><bizStep>urn:epcglobal:cbv:bizstep:packing</bizStep>` +
		`</TransformationEvent></extension></EventList></EPCISBody></e:EPCISDocument>`
	const plain = `<q:EPCISQueryDocument xmlns:q="urn:epcglobal:epcis-query:xsd:2" schemaVersion="2.0"><EPCISBody><q:QueryResults>` +
		`<resultsBody><EventList><TransformationEvent><eventTime>2026-03-01T12:00:00Z</eventTime><eventTimeZoneOffset>+02:00</eventTimeZoneOffset>` +
		`<eventID>urn:uuid:77</eventID><bizStep>https://ref.gs1.org/cbv/BizStep-packing</bizStep></TransformationEvent>` +
		`</EventList></resultsBody></q:QueryResults></EPCISBody></q:EPCISQueryDocument>`
	a, b := one(t, wrapped), one(t, plain)
	if a.Control != "urn:uuid:77" || a.Control != b.Control || a.Content != b.Content {
		t.Errorf("got %+v\nand %+v", a, b)
	}
}

func TestEPCISWithoutEvents(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		epcisDocument(),
		`<e:EPCISDocument xmlns:e="urn:epcglobal:epcis:xsd:2"><EPCISBody><EventList/></EPCISBody></e:EPCISDocument>`,
	} {
		if ic := one(t, payload); ic.Standard != interchange.Content || ic.Content != ic.Raw {
			t.Errorf("%s is %+v", payload, ic.Reference)
		}
	}
}
