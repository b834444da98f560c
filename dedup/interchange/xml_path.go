package interchange

import (
	"strings"

	"firstcopy/dedup/interchange/internal/xmltoken"
)

// Namespaces by the prefixes that paths use. Elements of paths without a prefix
// are in no namespace.
var prefixes = map[string]string{
	"cac":  "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2",
	"cbc":  "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2",
	"ram":  "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100",
	"rsm":  "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100",
	"udt":  "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100",
	"ram1": "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:12",
	"rsm1": "urn:ferd:CrossIndustryDocument:invoice:1p0",
	"udt1": "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:15",
	"sh":   "http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader",
	"s11":  "http://schemas.xmlsoap.org/soap/envelope/",
	"s12":  "http://www.w3.org/2003/05/soap-envelope",
	"eb":   "http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/",
	"wsse": "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd",
	"e1":   "urn:epcglobal:epcis:xsd:1",
	"e2":   "urn:epcglobal:epcis:xsd:2",
	"q1":   "urn:epcglobal:epcis-query:xsd:1",
	"q2":   "urn:epcglobal:epcis-query:xsd:2",
}

// vocabulary has every name that a path mentions.
var vocabulary = xmltoken.Vocabulary{}

var lastCode xmltoken.Code

// codeOf numbers a name of a path.
func codeOf(name string) xmltoken.Code {
	prefix, local, prefixed := strings.Cut(name, ":")
	if !prefixed {
		prefix, local = "", name
	}
	uri, known := prefixes[prefix]
	if prefixed && !known {
		panic("interchange: unknown prefix in path: " + name)
	}
	if vocabulary[uri] == nil {
		vocabulary[uri] = map[string]xmltoken.Code{}
	}
	if vocabulary[uri][local] == 0 {
		lastCode++
		vocabulary[uri][local] = lastCode
	}
	return vocabulary[uri][local]
}

// A step is an element on a path from the root of a dialect.
type step struct {
	name     xmltoken.Code
	children []*step
	closed   bool  // nothing may be in it but the children
	any      *step // for every other child whose name ends in suffix
	suffix   string

	field     field // that takes the text
	many      bool
	qualifier xmltoken.Code // the attribute that says of what kind it is
	attrs     []attrStep
	present   field // that takes the local name

	mute     bool                            // no part of the content
	event    bool                            // an EPCIS event
	document func(*xmltoken.Reader) *dialect // a business document begins, or not
}

type attrStep struct {
	name  xmltoken.Code
	field field
	many  bool
	mute  bool // no part of the content
}

func (s *step) child(x *xmltoken.Reader) *step {
	if code := x.Code(x.Name); code != 0 {
		for _, c := range s.children {
			if c.name == code {
				return c
			}
		}
	}
	if s.any != nil && strings.HasSuffix(x.Local(x.Name), s.suffix) {
		return s.any
	}
	return nil
}

// A path leads to an element, or with "/@name" at its end to an attribute.
// "*suffix" stands for every element whose local name ends so and that no other
// path names.
type path struct {
	field     field
	to        string
	qualifier string // the name of an attribute
	many      bool
}

// add makes the steps of a path below s and returns the last.
func (s *step) add(to string) *step {
	for name := range strings.SplitSeq(to, "/") {
		s = s.toward(name)
	}
	return s
}

func (s *step) toward(name string) *step {
	if suffix, wild := strings.CutPrefix(name, "*"); wild {
		if s.any == nil {
			s.any, s.suffix = &step{}, suffix
		}
		return s.any
	}
	code := codeOf(name)
	for _, c := range s.children {
		if c.name == code {
			return c
		}
	}
	c := &step{name: code}
	s.children = append(s.children, c)
	return c
}

// paths makes the steps of a root element.
func paths(list ...path) *step {
	root := &step{}
	root.paths(list...)
	return root
}

func (s *step) paths(list ...path) {
	for _, p := range list {
		to, attr, isAttr := strings.Cut(p.to, "@")
		end := s
		if to = strings.TrimSuffix(to, "/"); to != "" {
			end = s.add(to)
		}
		if isAttr {
			end.attrs = append(end.attrs, attrStep{name: codeOf(attr), field: p.field, many: p.many})
			continue
		}
		end.field, end.many = p.field, p.many
		if p.qualifier != "" {
			end.qualifier = codeOf(p.qualifier)
		}
	}
}

// muted leaves elements out of the content.
func (s *step) muted(list ...string) *step {
	for _, to := range list {
		s.add(to).mute = true
	}
	return s
}

// muteAttr leaves an attribute out of the content.
func (s *step) muteAttr(name string) {
	for i := range s.attrs {
		if s.attrs[i].name == codeOf(name) {
			s.attrs[i].mute = true
		}
	}
}
