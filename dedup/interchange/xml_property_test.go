package interchange_test

import (
	"reflect"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"

	"pgregory.net/rapid"
)

// TestXMLContent: prefixes, order of attributes, indentation, comments and ways
// to write a character are no content; everything else is.
func TestXMLContent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tree := ublTree.Draw(t, "document")
		usual := xmlScript{prefixes: map[string]string{rootSpace: "", cbcSpace: "cbc", cacSpace: "cac"}, quote: `"`}
		want := one(t, usual.document(tree))
		if want.Standard != interchange.UBL || want.Control != "R1" {
			t.Fatalf("%s\nis %+v", usual.document(tree), want)
		}
		script := xmlScripts.Draw(t, "script")
		payload := script.document(tree)
		got := one(t, payload)
		if got.Content != want.Content || !reflect.DeepEqual(got.Reference, want.Reference) || len(got.Irregular) != len(want.Irregular) {
			t.Fatalf("%s\nis another one than\n%s\n%+v", payload, usual.document(tree), got)
		}

		changed := tree.clone()
		what := change(t, changed)
		if what == "" {
			return
		}
		if payload = script.document(changed); one(t, payload).Content == want.Content {
			t.Fatalf("%s: %s\nhas the content of\n%s", what, payload, usual.document(tree))
		}
	})
}

// change makes one change somewhere in a tree and tells which.
func change(t *rapid.T, tree *xmlNode) string {
	nodes := tree.all()[1:]
	n := nodes[rapid.IntRange(0, len(nodes)-1).Draw(t, "node")]
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0:
		if len(n.children) > 0 {
			return ""
		}
		n.text += rapid.SampledFrom([]string{"x", " ", "\n", "<b>"}).Draw(t, "more")
		return "more text"
	case 1:
		if len(n.attrs) == 0 {
			return ""
		}
		n.attrs[len(n.attrs)-1].value += rapid.SampledFrom([]string{"x", " ", "\t"}).Draw(t, "more")
		return "longer value"
	case 2:
		n.attrs = append(n.attrs, xmlAttr{local: "more"})
		return "one more attribute"
	case 3:
		n.local += "x"
		return "another name"
	case 4:
		n.space = map[string]string{cbcSpace: cacSpace, cacSpace: cbcSpace}[n.space]
		return "another namespace"
	default:
		if n.text != "" {
			return ""
		}
		n.children = append(n.children, &xmlNode{space: cbcSpace, local: "more"})
		return "one more child"
	}
}

// TestXMLWhiteSpace: what there is between two tags, and what there is in one
// element.
func TestXMLWhiteSpace(t *testing.T) {
	t.Parallel()
	note := func(inside string) string {
		return strings.Replace(ublMinimal, "</Invoice>", "<cbc:Note>"+inside+"</cbc:Note></Invoice>", 1)
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"", " ", false},
		{" ", "\n", false},
		{"\r\n", "\n", true}, // XML 1.0 §2.11
		{" ", "<![CDATA[ ]]>", true},
		{"<cbc:x/>", " <cbc:x/>\n", true},
		{"<cbc:x/>", "<cbc:x/>y", false},
		{"a<cbc:x/>", "a <cbc:x/>", false},
		{"<cbc:x/><cbc:y/>", "<cbc:x/> <!-- --> <?p?> <cbc:y/>", true},
		{"<cbc:x/><cbc:y/>", "<cbc:x/>&#32;<cbc:y/>", false}, // somebody meant it
		{"<cbc:x/><cbc:y/>", "<cbc:x/>" + strings.Repeat(" ", 5000) + "<cbc:y/>", false},
		{strings.Repeat(" ", 5000), strings.Repeat(" ", 5001), false},
		{"a", "&#97;", true},
		{"a<cbc:x/>b", "<cbc:x/>ab", false},
	} {
		if same := one(t, note(c.a)).Content == one(t, note(c.b)).Content; same != c.same {
			t.Errorf("%.60q and %.60q: same content %t", c.a, c.b, same)
		}
	}
}
