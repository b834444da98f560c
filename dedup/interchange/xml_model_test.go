package interchange_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// An xmlNode is an element before it is written down: it has text or children.
type xmlNode struct {
	space, local string
	attrs        []xmlAttr
	text         string
	children     []*xmlNode
}

type xmlAttr struct{ space, local, value string }

// An xmlScript is a way of writing one down.
type xmlScript struct {
	prefixes map[string]string // by namespace; "" is the default one, not for attributes
	reverse  bool              // order of attributes and declarations
	indent   string            // "" for none
	quote    string
	refs     int    // 0: only what must be; 1: by number; 2: text in CDATA
	aside    string // a comment or an instruction between tags
	local    bool   // namespaces are declared where they are used
	empty    bool   // short tags for empty elements
}

func (n *xmlNode) clone() *xmlNode {
	c := *n
	c.attrs, c.children = slices.Clone(n.attrs), make([]*xmlNode, len(n.children))
	for i, child := range n.children {
		c.children[i] = child.clone()
	}
	return &c
}

// all returns the nodes of a tree.
func (n *xmlNode) all() []*xmlNode {
	list := []*xmlNode{n}
	for _, child := range n.children {
		list = append(list, child.all()...)
	}
	return list
}

func (s xmlScript) document(n *xmlNode) string {
	var b strings.Builder
	if s.aside != "" {
		b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>" + s.aside)
	}
	s.write(&b, n, 0)
	return b.String() + s.aside
}

func (s xmlScript) write(b *strings.Builder, n *xmlNode, depth int) {
	name := func(space, local string) string {
		if prefix := s.prefixes[space]; prefix != "" {
			return prefix + ":" + local
		}
		return local
	}
	tag := "<" + name(n.space, n.local)
	var attrs []string
	if depth == 0 || s.local {
		for _, space := range slices.Sorted(func(yield func(string) bool) {
			for space := range s.prefixes {
				if !yield(space) {
					return
				}
			}
		}) {
			declare := "xmlns"
			if prefix := s.prefixes[space]; prefix != "" {
				declare += ":" + prefix
			}
			attrs = append(attrs, declare+"="+s.quote+space+s.quote)
		}
	}
	for _, a := range n.attrs {
		attrs = append(attrs, name(a.space, a.local)+"="+s.quote+s.escape(a.value, true)+s.quote)
	}
	if s.reverse {
		slices.Reverse(attrs)
	}
	for _, a := range attrs {
		tag += " " + a
	}
	b.WriteString(tag)
	if s.empty && n.text == "" && len(n.children) == 0 {
		b.WriteString(" />")
		return
	}
	b.WriteString(">")
	if len(n.children) == 0 && n.text != "" {
		if s.refs == 2 {
			b.WriteString("<![CDATA[" + n.text + "]]>")
		} else {
			b.WriteString(s.escape(n.text, false))
		}
	}
	for _, child := range n.children {
		if s.indent != "" {
			b.WriteString("\n" + strings.Repeat(s.indent, depth+1))
		}
		b.WriteString(s.aside)
		s.write(b, child, depth+1)
	}
	if s.indent != "" && len(n.children) > 0 {
		b.WriteString("\n" + strings.Repeat(s.indent, depth))
	}
	b.WriteString("</" + name(n.space, n.local) + ">")
}

func (s xmlScript) escape(text string, attr bool) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case s.refs == 1 && c > ' ', attr && strings.ContainsRune("\t\n", c), c == '\r':
			fmt.Fprintf(&b, "&#x%X;", c)
		case c == '<':
			b.WriteString("&lt;")
		case c == '&':
			b.WriteString("&amp;")
		case c == '"':
			b.WriteString("&quot;")
		case c == '\'':
			b.WriteString("&#39;")
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

const (
	cbcSpace  = "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"
	cacSpace  = "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
	rootSpace = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"
)

var (
	// xmlText has no "]]>", which CDATA could not have.
	xmlText = rapid.StringOfN(rapid.SampledFrom([]rune("aZ09 .<>&'\"\n\t\u00e4\u20ac]-")), 0, 12, -1).
		Filter(func(s string) bool { return !strings.Contains(s, "]]>") })
	xmlName = rapid.SampledFrom([]string{"ID", "Note", "Party", "x", "line-1", "größe"})
)

var xmlTree = rapid.Custom(func(t *rapid.T) *xmlNode { return drawNode(t, 3) })

func drawNode(t *rapid.T, depth int) *xmlNode {
	n := &xmlNode{space: rapid.SampledFrom([]string{cbcSpace, cacSpace}).Draw(t, "namespace"), local: xmlName.Draw(t, "name")}
	for i := range rapid.IntRange(0, 3).Draw(t, "attributes") {
		a := xmlAttr{local: fmt.Sprintf("a%d", i), value: xmlText.Draw(t, "value")}
		if rapid.Bool().Draw(t, "qualified") {
			a.space = cacSpace
		}
		n.attrs = append(n.attrs, a)
	}
	if depth > 0 && rapid.Bool().Draw(t, "inner") {
		for range rapid.IntRange(1, 3).Draw(t, "children") {
			n.children = append(n.children, drawNode(t, depth-1))
		}
	} else {
		n.text = xmlText.Draw(t, "text")
	}
	return n
}

// ublTree is an invoice with a number and an issuer, and some more.
var ublTree = rapid.Custom(func(t *rapid.T) *xmlNode {
	leaf := func(space, local, text string, attrs ...xmlAttr) *xmlNode {
		return &xmlNode{space: space, local: local, text: text, attrs: attrs}
	}
	issuer := &xmlNode{space: cacSpace, local: "AccountingSupplierParty", children: []*xmlNode{{space: cacSpace, local: "Party",
		children: []*xmlNode{leaf(cbcSpace, "EndpointID", "4012345000009", xmlAttr{local: "schemeID", value: "0088"})}}}}
	root := &xmlNode{space: rootSpace, local: "Invoice", children: []*xmlNode{
		leaf(cbcSpace, "ID", "R1"), leaf(cbcSpace, "IssueDate", "2026-03-01"), issuer}}
	root.children = append(root.children, rapid.SliceOfN(xmlTree, 1, 4).Draw(t, "more")...)
	return root
})

var xmlScripts = rapid.Custom(func(t *rapid.T) xmlScript {
	names := rapid.Permutation([]string{"a", "cbc", "ns0", "x-1"}).Draw(t, "prefixes")
	s := xmlScript{
		prefixes: map[string]string{rootSpace: names[0], cbcSpace: names[1], cacSpace: names[2]},
		reverse:  rapid.Bool().Draw(t, "reverse"),
		indent:   rapid.SampledFrom([]string{"", " ", "\t", "\r\n"}).Draw(t, "indent"),
		quote:    rapid.SampledFrom([]string{`"`, `'`}).Draw(t, "quote"),
		refs:     rapid.IntRange(0, 2).Draw(t, "references"),
		aside:    rapid.SampledFrom([]string{"", "<!-- <b>&no; -->", "<?keep out?>"}).Draw(t, "aside"),
		local:    rapid.Bool().Draw(t, "local"),
		empty:    rapid.Bool().Draw(t, "short"),
	}
	if rapid.Bool().Draw(t, "default") { // attributes are in cacSpace, so that needs its prefix
		s.prefixes[rapid.SampledFrom([]string{rootSpace, cbcSpace}).Draw(t, "namespace")] = ""
	}
	return s
})
