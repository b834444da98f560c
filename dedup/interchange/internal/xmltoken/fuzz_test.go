package xmltoken_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"firstcopy/dedup/interchange/internal/xmltoken"
)

// FuzzReader: tokens do not depend on how much of the document is at hand, and
// encoding/xml finds the same ones in whatever is accepted.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"<a/>", "<?xml version='1.0' encoding='utf-8'?><a b='1'>x<b/>&amp;</a>",
		"<p:a xmlns:p='u' xmlns='v'><b p:c='d'/></p:a>", "<a><![CDATA[x]]>\r\n<!--c--><?p i?></a>",
		"<!DOCTYPE cXML SYSTEM 'x'><cXML/>", "<a>&#x41;\xc3\xa4</a>", "<a xmlns:x='u' x:b='' b=''/>",
	} {
		f.Add(seed)
	}
	x := xmltoken.New(nil)
	f.Fuzz(func(t *testing.T, document string) {
		tokens, rest, fault := read(x, document, false)
		again, restAgain, faultAgain := read(x, document, true)
		if fault != faultAgain || fault == xmltoken.NoFault && (tokens != again || rest != restAgain) {
			t.Fatalf("%q\nread by pieces: %q, fault %d\nat once: %q, fault %d", document, again, faultAgain, tokens, fault)
		}
		if fault != xmltoken.NoFault || x.Charset != "" {
			return
		}
		want, err := standard(strings.TrimSuffix(document, rest))
		if err != nil {
			if lenient(err) {
				return
			}
			t.Fatalf("%q\nis %q\nbut for encoding/xml: %v", document, tokens, err)
		}
		// White space in attributes, and written by reference, is told apart here only.
		blanks := strings.NewReplacer("\r", " ", "\n", " ", "\t", " ")
		if got := blanks.Replace(tokens); got != blanks.Replace(want) {
			t.Fatalf("%q\nis %q\nfor encoding/xml %q", document, got, want)
		}
	})
}

// lenient tells errors about what is deliberately not checked.
func lenient(err error) bool {
	var syntax *xml.SyntaxError
	if !errors.As(err, &syntax) {
		return strings.Contains(err.Error(), "encoding") || strings.Contains(err.Error(), "unsupported version")
	}
	for _, text := range []string{"invalid sequence", "unescaped ]]>", "invalid XML name", "expected target name", "invalid UTF-8",
		"illegal character code", "attribute name", "element name", "expected"} {
		if strings.Contains(syntax.Msg, text) {
			return true
		}
	}
	return false
}

// standard returns the tokens that encoding/xml finds, in the form of read.
func standard(document string) (string, error) {
	d := xml.NewDecoder(strings.NewReader(document))
	var b strings.Builder
	name := func(n xml.Name) string {
		if n.Space != "" {
			return "{" + n.Space + "}" + n.Local
		}
		return n.Local
	}
	for depth := 0; ; {
		token, err := d.Token()
		if err == io.EOF {
			return "", io.ErrUnexpectedEOF
		}
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case xml.StartElement:
			b.WriteString("\x02" + name(token.Name))
			slices.SortFunc(token.Attr, func(a, b xml.Attr) int {
				if c := strings.Compare(space(a.Name), space(b.Name)); c != 0 {
					return c
				}
				return strings.Compare(a.Name.Local, b.Name.Local)
			})
			for _, a := range token.Attr {
				if a.Name.Space == "xmlns" || a.Name.Space == "" && a.Name.Local == "xmlns" {
					continue
				}
				a.Name.Space = space(a.Name)
				fmt.Fprintf(&b, "\x03%s=%s", name(a.Name), a.Value)
			}
			b.WriteString("\x04")
			depth++
		case xml.EndElement:
			b.WriteString("\x05" + name(token.Name) + "\x06")
			if depth--; depth == 0 {
				return b.String(), nil
			}
		case xml.CharData:
			if depth > 0 {
				b.Write(token)
			}
		}
	}
}

func space(n xml.Name) string {
	if n.Space == "xml" {
		return "http://www.w3.org/XML/1998/namespace"
	}
	return n.Space
}
