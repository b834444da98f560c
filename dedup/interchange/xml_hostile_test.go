package interchange_test

import (
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

// TestHostileMarkup: what cannot be read, or is not to be, is said to be so and
// goes by its content.
func TestHostileMarkup(t *testing.T) {
	t.Parallel()
	inside := func(what string) string { return strings.Replace(ublMinimal, "</Invoice>", what+"</Invoice>", 1) }
	for name, c := range map[string]struct{ payload, irregular string }{
		"entities": {`<!DOCTYPE Invoice [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>` + inside("<cbc:Note>&b;</cbc:Note>"),
			"document type declaration"},
		"external definition": {`<!DOCTYPE Invoice SYSTEM "http://elsewhere.example/ubl.dtd">` + ublMinimal, "document type declaration"},
		"entity":              {inside("<cbc:Note>&nbsp;</cbc:Note>"), "reference to an entity"},
		"depth":               {inside(strings.Repeat("<cbc:a>", 100000)), "markup is nested too deeply or has too long a part"},
		"attributes":          {inside("<cbc:a " + strings.Repeat("a='' ", 1000000)), "markup is nested too deeply or has too long a part"},
		"long tag":            {inside("<cbc:a a='" + strings.Repeat("x", 1<<20) + "'/>"), "markup is nested too deeply or has too long a part"},
		"unclosed":            {inside("<cbc:Note>"), "markup is not well-formed"},
		"cut off":             {ublMinimal[:len(ublMinimal)-20], "no trailer"},
		"control character":   {inside("\x00"), "octets or characters that the format forbids"},
		"not UTF-8":           {inside("\xe4"), "octets or characters that the format forbids"},
		"UTF-16 says it":      {`<?xml version="1.0" encoding="UTF-16"?>` + ublMinimal, "character encoding not supported"},
		"attribute twice":     {inside("<cbc:a a='' a=''/>"), "markup is not well-formed"},
		"unbound prefix":      {inside("<no:a/>"), "markup is not well-formed"},
		"JSON depth":          {epcisDocument(event + `,"x":` + strings.Repeat("[", 100000)), "markup is nested too deeply or has too long a part"},
		"JSON cut off":        {strings.TrimSuffix(epcisDocument(event), "]}}"), "no trailer"},
		"JSON member twice":   {epcisDocument(event + `,"action":"ADD"`), "member of a JSON object given twice"},
		"JSON long string":    {epcisDocument(event + `,"x":"` + strings.Repeat("x", 1<<20) + `"`), "markup is nested too deeply or has too long a part"},
		"JSON not UTF-8":      {epcisDocument(event + ",\"x\":\"\xff\""), "octets or characters that the format forbids"},
		"long event":          {epcisDocument(event + strings.Repeat(`,"x":["y","y","y"]`, 1) + `,"z":[` + strings.Repeat(`"zzzzzzzzz",`, 1<<20) + `"z"]`), "markup is nested too deeply or has too long a part"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ic := one(t, c.payload)
			if ic.Standard != interchange.Content || ic.Content != ic.Raw || !slices.Contains(ic.Irregular, c.irregular) {
				t.Errorf("got %+v, %q", ic.Reference, ic.Irregular)
			}
		})
	}
}

// A stream is a document whose middle is never all there.
func stream(head, unit string, size int, tail string) io.Reader {
	unit = strings.Repeat(unit, 1+(64<<10)/len(unit))
	return io.MultiReader(strings.NewReader(head), io.LimitReader(&cycle{octets: unit}, int64(size-size%len(unit))), strings.NewReader(tail))
}

type cycle struct {
	octets string
	at     int
}

func (r *cycle) Read(p []byte) (int, error) {
	n := copy(p, r.octets[r.at:])
	r.at = (r.at + n) % len(r.octets)
	return n, nil
}

// TestMarkupMemory: memory does not grow with the document, whatever there is
// much of.
func TestMarkupMemory(t *testing.T) {
	const size = 16 << 20
	head, tail := strings.TrimSuffix(ublMinimal, "</Invoice>"), "</Invoice>"
	json, jsonTail, _ := strings.Cut(epcisDocument("EVENTS"), "{EVENTS}")
	for name, c := range map[string]struct {
		r    io.Reader
		want interchange.Standard
	}{
		"text":       {stream(head+"<cbc:Note>", "words and words ", size, "</cbc:Note>"+tail), interchange.UBL},
		"references": {stream(head+"<cbc:Note>", "&#65;", size, "</cbc:Note>"+tail), interchange.UBL},
		"CDATA":      {stream(head+"<cbc:Note><![CDATA[", "words ]] <a> ", size, "]]></cbc:Note>"+tail), interchange.UBL},
		"blanks":     {stream(head, " \n", size, tail), interchange.UBL},
		"comment":    {stream(head+"<!--", "words - and ", size, "-->"+tail), interchange.UBL},
		"elements":   {stream(head, "<cbc:a b='1'>x</cbc:a>\n", size, tail), interchange.UBL},
		"scopes":     {stream(head, "<a xmlns='u'/>", size, tail), interchange.UBL},
		"events":     {stream(json, "{"+event+"},", size, "{"+event+"}"+jsonTail), interchange.EPCIS},
		"members":    {stream(json+"{"+event+`,"a":[`, `"b",`, size, `"b"]}`+jsonTail), interchange.Content},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			found, err := interchange.Scan(c.r)
			runtime.ReadMemStats(&after)
			if err != nil || len(found) != 1 || found[0].Standard != c.want {
				t.Fatalf("got %+v, %v", found, err)
			}
			limit := uint64(8 << 20)
			if c.want != interchange.UBL { // an event is held to be sorted, and messages are listed
				limit = 48 << 20
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > limit {
				t.Errorf("allocated %d MiB for %d", grown>>20, size>>20)
			}
			if len(found[0].Messages) > interchange.MaxMessages {
				t.Errorf("%d messages listed", len(found[0].Messages))
			}
		})
	}
}

// TestOtherEncoding: octets beyond ASCII are what they are, and the encoding is
// content.
func TestOtherEncoding(t *testing.T) {
	t.Parallel()
	note := func(encoding, text string) interchange.Interchange {
		return one(t, `<?xml version="1.0" encoding="`+encoding+`"?>`+strings.Replace(ublMinimal, "</Invoice>", "<cbc:Note>"+text+"</cbc:Note></Invoice>", 1))
	}
	latin := note("ISO-8859-1", "\xe4")
	if latin.Standard != interchange.UBL || len(latin.Irregular) > 0 {
		t.Fatalf("got %+v", latin)
	}
	for name, other := range map[string]interchange.Interchange{
		"another octet":    note("ISO-8859-1", "\xe5"),
		"another encoding": note("ISO-8859-2", "\xe4"),
		"two octets":       note("ISO-8859-1", "\xc3\xa4"),
	} {
		if other.Content == latin.Content {
			t.Errorf("%s: same content", name)
		}
	}
	if note("utf8", "\u00e4").Content != one(t, strings.Replace(ublMinimal, "</Invoice>", "<cbc:Note>&#228;</cbc:Note></Invoice>", 1)).Content {
		t.Error("UTF-8 by another name is another content")
	}
}
