package eventhash_test

import (
	"crypto/sha256"
	"strings"
	"testing"

	"firstcopy/dedup/interchange/internal/eventhash"
)

// A property of an event: what it is called, its value, and what is in it.
type property struct {
	name, value string
	inside      []property
}

func p(name, value string, inside ...property) property { return property{name, value, inside} }

// build makes an event; the name of an extension has its namespace in front,
// with a blank between.
func build(bare bool, list ...property) *eventhash.Event {
	e := new(eventhash.Event)
	e.Reset("ObjectEvent")
	e.Bare = bare
	add(e, list)
	return e
}

func add(e *eventhash.Event, list []property) {
	for _, one := range list {
		space, local, extension := strings.Cut(one.name, " ")
		if !extension {
			space, local = "", one.name
		}
		e.Open(space, local)
		e.Set([]byte(one.value))
		add(e, one.inside)
		e.Close()
	}
}

func TestPrehash(t *testing.T) {
	t.Parallel()
	const ns = "https://soup.example/ "
	for name, c := range map[string]struct {
		event *eventhash.Event
		want  string
	}{
		"order": {build(false, p("action", "ADD"), p("eventTimeZoneOffset", "+01:00"), p("eventTime", "2026-03-01T10:00:00+01:00"),
			p("epcList", "", p("epc", "b"), p("epc", "a"))),
			"eventTime=2026-03-01T09:00:00.000ZeventTimeZoneOffset=+01:00epcListepc=aepc=baction=ADD"},
		"left out": {build(false, p("eventID", "x"), p("recordTime", "2026-03-01T10:00:00Z"), p("action", "ADD"), p("errorDeclaration", "",
			p("reason", "r"))), "action=ADD"},
		"empty list": {build(false, p("epcList", ""), p("action", "ADD"), p("childEPCs", "", p("epc", " "))), "action=ADD"},
		"typed": {build(false, p("bizTransactionList", "", p("bizTransaction", "z", p("type", "urn:epcglobal:cbv:btt:po")),
			p("bizTransaction", "a", p("type", "urn:epcglobal:cbv:btt:inv")), p("bizTransaction", "n"))),
			"bizTransactionListbizTransaction=ntype=https://ref.gs1.org/cbv/BTT-invbizTransaction=atype=https://ref.gs1.org/cbv/BTT-pobizTransaction=z"},
		"lists in the table's order": {build(false, p("sensorElementList", "", p("sensorElement", "", p("sensorReport", "", p("value", "1")))),
			p("destinationList", "", p("destination", "d")), p("sourceList", "", p("source", "s"))),
			"sourceListsource=sdestinationListdestination=dsensorElementListsensorElementsensorReportvalue=1"},
		"extensions": {build(false, p(ns+"z", "1"), p("ilmd", "", p(ns+"best", "2027")), p(ns+"a", "", p(ns+"y", "2"), p(ns+"x", "")), p("action", "ADD"),
			p("readPoint", "", p(ns+"gate", "4"), p("id", "urn:x"))),
			"action=ADDreadPointid=urn:x{https://soup.example/}gate=4ilmd{https://soup.example/}best=2027" +
				"{https://soup.example/}a{https://soup.example/}x{https://soup.example/}y=2{https://soup.example/}z=1"},
		"bare words": {build(true, p("bizStep", "shipping"), p("disposition", "https://soup.example/d"), p("persistentDisposition", "", p("set", "recalled")),
			p("action", "ADD")), "action=ADDbizStep=https://ref.gs1.org/cbv/BizStep-shippingdisposition=https://soup.example/d" +
			"persistentDispositionset=https://ref.gs1.org/cbv/Disp-recalled"},
		"words of XML": {build(false, p("bizStep", "shipping")), "bizStep=shipping"},
	} {
		if got := string(c.event.Prehash()); got != "eventType=ObjectEvent"+c.want {
			t.Errorf("%s: %s\nwant eventType=ObjectEvent%s", name, got, c.want)
		}
		if c.event.Sum() != sha256.Sum256([]byte("eventType=ObjectEvent"+c.want)) {
			t.Errorf("%s: the sum is another one", name)
		}
	}
}

func TestDeclaration(t *testing.T) {
	t.Parallel()
	e := build(true, p("action", "ADD"), p("errorDeclaration", "", p("correctiveEventIDs", "", p("correctiveEventID", "b"), p("correctiveEventID", "a")),
		p("reason", "incorrect_data"), p("declarationTime", "2026-03-01T10:00:00+01:00")))
	const want = "errorDeclarationdeclarationTime=2026-03-01T09:00:00.000Zreason=https://ref.gs1.org/cbv/ER-incorrect_data" +
		"correctiveEventIDscorrectiveEventID=acorrectiveEventID=b"
	if got := string(e.Declaration()); got != want {
		t.Errorf("got %s", got)
	}
	if build(true, p("action", "ADD")).Declaration() != nil {
		t.Error("a declaration out of nothing")
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		// numbers
		"1.0": "1", "007": "7", "+5": "5", "-0": "0", "-1.50": "-1.5", "0.000": "0", "12345678901234567890.10": "12345678901234567890.1",
		"1e5": "1e5", "1.": "1.", "--1": "--1", "2026-03-01": "2026-03-01", "10 ": "10",
		// vocabulary
		"urn:epcglobal:cbv:bizstep:packing": "https://ref.gs1.org/cbv/BizStep-packing", "gs1:Temperature": "https://gs1.org/voc/Temperature",
		"cbv:Comp-x": "https://ref.gs1.org/cbv/Comp-x", "urn:epcglobal:cbv:bt:4000862000007:RE-1": "urn:epcglobal:cbv:bt:4000862000007:RE-1",
	} {
		e := build(false, p("https://soup.example/ x", value))
		if got := strings.TrimPrefix(string(e.Prehash()), "eventType=ObjectEvent{https://soup.example/}x="); got != want {
			t.Errorf("%q is %q, want %q", value, got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"2026-03-01T10:00:00+01:00":           "2026-03-01T09:00:00.000Z",
		"2026-03-01T10:00:00.1425Z":           "2026-03-01T10:00:00.143Z",
		"2026-03-01T10:00:00.1424999Z":        "2026-03-01T10:00:00.142Z",
		"2026-12-31T23:59:59.9996Z":           "2027-01-01T00:00:00.000Z",
		"2026-03-01t10:00:00z":                "2026-03-01T10:00:00.000Z",
		"2026-03-01T10:00:00":                 "2026-03-01T10:00:00", // local, wherever that is
		"yesterday":                           "yesterday",
		"2026-03-01T10:00:00." + digits + "Z": "2026-03-01T10:00:00." + digits + "Z",
	} {
		if got := string(eventhash.AppendTime(nil, []byte(value))); got != want {
			t.Errorf("%q is %q, want %q", value, got, want)
		}
	}
}

const digits = "1111111111111111111111111111111111111111111111111111111111111111"

// TestKeys: every way to write a GS1 key, by the examples of the standards'
// schemes with numbers of our own.
func TestKeys(t *testing.T) {
	t.Parallel()
	const id = "https://id.gs1.org/"
	for uri, want := range map[string]string{
		"urn:epc:id:sgtin:4000862.012345.7%2F7":     id + "01/04000862123455/21/7%2F7",
		"urn:epc:id:sgtin:4000862.912345.a!(b)":     id + "01/94000862123458/21/a%21%28b%29",
		"urn:epc:id:sgtin:400086212345.0.1":         id + "01/04000862123455/21/1",
		"urn:epc:id:sscc:4000862.1000000011":        id + "00/140008620000000111",
		"urn:epc:id:sgln:4000862.00012.7":           id + "414/4000862000121/254/7",
		"urn:epc:id:sgln:4000862.00012.0":           id + "414/4000862000121",
		"urn:epc:id:sgln:400086200012..0":           id + "414/4000862000121",
		"urn:epc:id:pgln:4000862.00012":             id + "417/4000862000121",
		"urn:epc:id:grai:4000862.00012.ab":          id + "8003/04000862000121ab",
		"urn:epc:id:giai:4000862.tank5":             id + "8004/4000862tank5",
		"urn:epc:id:gsrn:4000862.0000000012":        id + "8018/400086200000000125",
		"urn:epc:id:gsrnp:4000862.0000000012":       id + "8017/400086200000000125",
		"urn:epc:id:gdti:4000862.00012.D-7":         id + "253/4000862000121D-7",
		"urn:epc:id:sgcn:4000862.00012.99":          id + "255/400086200012199",
		"urn:epc:id:cpi:4000862.AB%23.12":           id + "8010/4000862AB%23/8011/12",
		"urn:epc:id:ginc:4000862.c%2F7":             id + "401/4000862c%2F7",
		"urn:epc:id:gsin:4000862.000000012":         id + "402/40008620000000121",
		"urn:epc:id:itip:4000862.012345.01.02.9":    id + "8006/040008621234550102/21/9",
		"urn:epc:id:upui:4000862.012345.u)":         id + "01/04000862123455/235/u%29",
		"urn:epc:class:lgtin:4000862.012345.L1":     id + "01/04000862123455/10/L1",
		"urn:epc:idpat:sgtin:4000862.012345.*":      id + "01/04000862123455",
		"urn:epc:idpat:grai:4000862.00012.*":        id + "8003/04000862000121",
		"urn:epc:idpat:itip:4000862.012345.01.02.*": id + "8006/040008621234550102",
		"urn:epc:idpat:cpi:4000862.AB.*":            id + "8010/4000862AB",

		"https://soup.example/some/path/gtin/4000862123455/lot/X/ser/9?when=now": id + "01/04000862123455/21/9",
		"http://soup.example/01/4000862123455/22/v/10/L1":                        id + "01/04000862123455/10/L1",
		"https://id.gs1.org/01/04000862123455/22/v":                              id + "01/04000862123455",
		"https://id.gs1.org/01/40008629/":                                        id + "01/00000040008629",
		"https://soup.example/party/4000862000121#x":                             id + "417/4000862000121",
		"https://soup.example/8010/4000862AB/8011/12":                            id + "8010/4000862AB/8011/12",

		// What is none stays as it is.
		"urn:epc:id:sgtin:4000862.12345.7":            "",
		"urn:epc:id:sgtin:4000862.012345":             "",
		"urn:epc:id:sgtin:4000862.012345.":            "",
		"urn:epc:id:sgtin:40008x2.012345.7":           "",
		"urn:epc:id:sscc:4000862.1000000011.1":        "",
		"urn:epc:id:lgtin:4000862.012345.L1":          "",
		"urn:epc:class:sgtin:4000862.012345.1":        "",
		"urn:epc:id:itip:4000862.012345.1.02.9":       "",
		"urn:epc:id:giai:4000862.":                    "",
		"urn:epc:id:nothing:4000862.1":                "",
		"urn:epc:idpat:sgtin:4000862.012345.7":        "",
		"https://soup.example/01/12345":               "",
		"https://soup.example/asn/88":                 "",
		"https://id.gs1.org/01/04000862123455/99/x":   "",
		"https://id.gs1.org/01/04000862123455/21":     "",
		"https://id.gs1.org/99/04000862123455":        "",
		"https://id.gs1.org":                          "",
		"https://id.gs1.org/01/04000862123455/21/a b": "",
	} {
		if want == "" {
			want = uri
		}
		got := strings.TrimPrefix(string(build(false, p("parentID", uri)).Prehash()), "eventType=ObjectEventparentID=")
		if got != want {
			t.Errorf("%s\nis %s\nwant %s", uri, got, want)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	many := new(eventhash.Event)
	many.Reset("ObjectEvent")
	for range eventhash.MaxNodes {
		many.Open("", "epc")
		many.Close()
	}
	deep := new(eventhash.Event)
	deep.Reset("ObjectEvent")
	for range 1000 {
		deep.Open("", "x")
	}
	long := build(false, p("x", strings.Repeat("x", eventhash.MaxText)))
	if !many.TooMuch() || !deep.TooMuch() || !long.TooMuch() {
		t.Errorf("many %t, deep %t, long %t", many.TooMuch(), deep.TooMuch(), long.TooMuch())
	}
	many.Reset("ObjectEvent")
	add(many, []property{p("action", "ADD")})
	if many.TooMuch() || string(many.Prehash()) != "eventType=ObjectEventaction=ADD" {
		t.Error("an event cannot be used again")
	}
}

// FuzzValue: a canonical value is its own canonical value.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{"1.0", "urn:epc:id:sgtin:4000862.012345.7", "https://x/gtin/4000862123455/ser/9", "2026-03-01T10:00:00Z", "urn:epc:id:itip:1.2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		const prefix = "eventType=ObjectEventparentID="
		once, some := strings.CutPrefix(string(build(false, p("parentID", value)).Prehash()), prefix)
		if !some {
			return // it is empty
		}
		twice := strings.TrimPrefix(string(build(false, p("parentID", once)).Prehash()), prefix)
		if once != twice {
			t.Fatalf("%q is %q is %q", value, once, twice)
		}
	})
}
