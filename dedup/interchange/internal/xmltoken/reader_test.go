package xmltoken_test

import (
	"fmt"
	"strings"
	"testing"

	"firstcopy/dedup/interchange/internal/xmltoken"
)

// A slice is a source that gives no more than it is asked for, or everything.
type slice struct {
	octets  string
	stingy  bool
	scratch []byte
}

func (s *slice) Need(n int) []byte {
	if !s.stingy || n > len(s.octets) {
		n = len(s.octets)
	}
	s.scratch = append(s.scratch[:0], s.octets[:n]...) // what was given before is void
	return s.scratch
}

func (s *slice) Advance(n int) { s.octets = s.octets[n:] }

// read returns the tokens of a document in a readable form, adjacent text as
// one, what is left behind the document, and the fault.
func read(x *xmltoken.Reader, document string, stingy bool) (tokens, rest string, _ xmltoken.Fault) {
	src := &slice{octets: document, stingy: stingy}
	var b strings.Builder
	name := func(n xmltoken.Name) string {
		if space := x.Space(n); space != "" {
			return "{" + space + "}" + x.Local(n)
		}
		return x.Local(n)
	}
	for kind := x.Open(src); ; kind = x.Next() {
		switch kind {
		case xmltoken.Broken:
			return b.String(), "", x.Fault
		case xmltoken.Text:
			b.Write(x.Text)
		case xmltoken.Start:
			b.WriteString("\x02" + name(x.Name))
			for _, a := range x.Attrs {
				fmt.Fprintf(&b, "\x03%s=%s", name(a.Name), a.Value)
			}
			b.WriteString("\x04")
		case xmltoken.End:
			b.WriteString("\x05" + name(x.Name) + "\x06")
			if x.Depth() == 1 {
				x.Close()
				return b.String(), src.octets, xmltoken.NoFault
			}
		}
	}
}

func pretty(tokens string) string {
	return strings.NewReplacer("\x02", "<", "\x03", " ", "\x04", ">", "\x05", "</", "\x06", ">").Replace(tokens)
}

func TestTokens(t *testing.T) {
	t.Parallel()
	x := xmltoken.New(nil)
	for _, c := range []struct{ document, want string }{
		{`<a/>`, `<a></a>`},
		{"\n<a >x</a\t>", `<a>x</a>`},
		{`<?xml version="1.0"?><!-- <b> --><?p <c>?><a>x</a>`, `<a>x</a>`},
		{`<a>x<!-- - -- > -->y<?p?>z</a>`, `<a>xyz</a>`},
		{`<a><![CDATA[<b>&amp;]]]]><![CDATA[>]]></a>`, `<a><b>&amp;]]></a>`},
		{`<a>&lt;&gt;&amp;&apos;&quot;&#65;&#x42;&#x1F600;</a>`, `<a><>&'"AB😀</a>`},
		{"<a>1\r\n2\r3\n4&#13;</a>", "<a>1\n2\n3\n4\r</a>"},
		{"<a b='1\t2\r\n3&#9;4&#x20;\"&lt;'/>", "<a b=1 2 3\t4 \"<></a>"},
		{`<a z="1" y="2"/>`, `<a y=2 z=1></a>`},
		{`<p:a xmlns:p="u" b="1" p:b="2"/>`, `<{u}a b=1 {u}b=2></{u}a>`},
		{`<a xmlns="u"><b xmlns=""/><c/></a>`, `<{u}a><b></b><{u}c></{u}c></{u}a>`},
		{`<p:a xmlns:p="u"><p:b xmlns:p="v"><p:c/></p:b><p:c/></p:a>`, `<{u}a><{v}b><{v}c></{v}c></{v}b><{u}c></{u}c></{u}a>`},
		{`<a xml:lang="de"/>`, `<a {http://www.w3.org/XML/1998/namespace}lang=de></a>`},
		{`<!DOCTYPE cXML SYSTEM "http://x/[>.dtd"><cXML/>`, `<cXML></cXML>`},
		{`<größe/>`, `<größe></größe>`},
		{`<a>]]></a>`, `<a>]]></a>`},
	} {
		for _, stingy := range []bool{false, true} {
			got, _, fault := read(x, c.document, stingy)
			if pretty(got) != c.want || fault != xmltoken.NoFault {
				t.Errorf("%q\nis %q, fault %d\nwant %q", c.document, pretty(got), fault, c.want)
			}
		}
	}
}

func TestRest(t *testing.T) {
	t.Parallel()
	if _, rest, _ := read(xmltoken.New(nil), "<a/>\n<b/>", false); rest != "\n<b/>" {
		t.Errorf("the rest is %q", rest)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	x := xmltoken.New(nil)
	attributes := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, c := range []struct {
		document string
		want     xmltoken.Fault
	}{
		{"", xmltoken.NoRoot},
		{"text<a/>", xmltoken.NoRoot},
		{"<!-- only", xmltoken.NoRoot},
		{strings.Repeat("<!---->", 10000) + "<a/>", xmltoken.NoRoot},
		{"<!--" + strings.Repeat(" ", xmltoken.MaxProlog) + "--><a/>", xmltoken.NoRoot},
		{"<a>", xmltoken.Truncated},
		{"<a", xmltoken.Truncated},
		{"<a b='", xmltoken.Truncated},
		{"<a>x", xmltoken.Truncated},
		{"<a></a", xmltoken.Truncated},
		{"<a><!-- ", xmltoken.Truncated},
		{"<a><![CDATA[x]]", xmltoken.Truncated},
		{"<a>&am", xmltoken.Truncated},
		{"<a></b>", xmltoken.Malformed},
		{"<a b=1/>", xmltoken.Malformed},
		{"<a b/>", xmltoken.Malformed},
		{"<a b=''c=''/>", xmltoken.Malformed},
		{"<a b='' b=''/>", xmltoken.Malformed},
		{"<a xmlns:p='u' xmlns:q='u' p:b='' q:b=''/>", xmltoken.Malformed},
		{"<a xmlns:p='u' xmlns:p='u'/>", xmltoken.Malformed},
		{"<a xmlns:p=''/>", xmltoken.Malformed},
		{"<p:a/>", xmltoken.Malformed},
		{"<a p:b=''/>", xmltoken.Malformed},
		{"<1a/>", xmltoken.Malformed},
		{"<a:b:c xmlns:a='u'/>", xmltoken.Malformed},
		{"< a/>", xmltoken.Malformed},
		{"<a><!ELEMENT></a>", xmltoken.Malformed},
		{"<a>\x00</a>", xmltoken.Characters},
		{"<a>\xff</a>", xmltoken.Characters},
		{"<a>\xed\xa0\x80</a>", xmltoken.Characters}, // half of a surrogate pair
		{"<a>\xc3</a>", xmltoken.Characters},
		{"<a>\uffff</a>", xmltoken.Characters},
		{"<a b='\x01'/>", xmltoken.Characters},
		{"<a>&#0;</a>", xmltoken.Characters},
		{"<a>&#xD800;</a>", xmltoken.Characters},
		{"<a>&#x110000;</a>", xmltoken.Characters},
		{"<a>&nbsp;</a>", xmltoken.Entity},
		{"<a b='&nbsp;'/>", xmltoken.Entity},
		{"<a>&" + strings.Repeat("x", 100) + ";</a>", xmltoken.Entity},
		{"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", xmltoken.Doctype},
		{"<!DOCTYPE a SYSTEM 'x' [", xmltoken.Doctype},
		{"<?xml version='1.0' encoding='UTF-16'?><a/>", xmltoken.Encoding},
		{"<?xml version='1.0' encoding='EBCDIC-CP-US'?><a/>", xmltoken.Encoding},
		{"<a><?xml version='1.0'?><a/>", xmltoken.Restart},
		{strings.Repeat("<a>", xmltoken.MaxDepth+1) + "x", xmltoken.Bounds},
		{"<a " + attributes(xmltoken.MaxAttrs+1, " a%d=''") + "/>", xmltoken.Bounds},
		{"<a " + attributes(xmltoken.MaxSpaces+1, " xmlns:a%[1]d='u%[1]d'") + "/>", xmltoken.Bounds},
		{"<a>" + attributes(xmltoken.MaxNames, "<b%d/>") + "</a>", xmltoken.Bounds},
		{"<a b='" + strings.Repeat("x", xmltoken.MaxTag) + "'/>", xmltoken.Bounds},
		{"<" + strings.Repeat("a", 2000) + "/>", xmltoken.Bounds},
	} {
		for _, stingy := range []bool{false, true} {
			if got, _, fault := read(x, c.document, stingy); fault != c.want {
				t.Errorf("%.80q: fault %d, want %d; read %.80q", c.document, fault, c.want, pretty(got))
			}
		}
	}
}

// A character reference beyond ASCII is no octet of another encoding.
func TestOctetsOfAnotherEncoding(t *testing.T) {
	t.Parallel()
	x := xmltoken.New(nil)
	const declaration = "<?xml version='1.0' encoding='ISO-8859-1'?>"
	octets, _, fault := read(x, declaration+"<a>\xc3\xa9</a>", false)
	if fault != xmltoken.NoFault || x.Charset != "iso-8859-1" {
		t.Fatalf("fault %d, charset %q", fault, x.Charset)
	}
	reference, _, _ := read(x, declaration+"<a>&#233;</a>", false)
	if octets == reference {
		t.Error("two letters are taken for one")
	}
}

// What is read does not depend on what was read before, nor on the number of
// documents.
func TestNamesAcrossDocuments(t *testing.T) {
	t.Parallel()
	x := xmltoken.New(xmltoken.Vocabulary{"u": {"known": 7}})
	for i := range 50 {
		var b strings.Builder
		b.WriteString("<p:known xmlns:p='u'>")
		for n := range 1000 {
			fmt.Fprintf(&b, "<n%d.%d/>", i, n)
		}
		b.WriteString("</p:known>")
		src := &slice{octets: b.String()}
		if x.Open(src) != xmltoken.Start || x.Code(x.Name) != 7 {
			t.Fatalf("document %d: fault %d, code %d", i, x.Fault, x.Code(x.Name))
		}
		for kind := x.Next(); x.Depth() > 1 || kind != xmltoken.End; kind = x.Next() {
			if kind == xmltoken.Broken {
				t.Fatalf("document %d: fault %d", i, x.Fault)
			}
		}
	}
}
