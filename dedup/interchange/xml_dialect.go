package interchange

import (
	"strings"

	"firstcopy/dedup/interchange/internal/xmltoken"
)

// A dialect is what is known of the documents of one standard.
type dialect struct {
	standard Standard
	version  string // where it is part of the namespace
	root     *step
	whole    bool // the root element is a business document itself
	silent   bool // its content is not that of the tags: EPCIS
	// message completes the message made of a document of this dialect.
	message func(*markup, *Message)
	// identify completes the interchange whose root is of this dialect.
	identify func(*markup)
}

// dialectOf returns the dialect of the element that x has just begun as the
// root of a payload, nil if there is none.
func dialectOf(x *xmltoken.Reader) *dialect {
	space, local := x.Space(x.Name), x.Local(x.Name)
	switch {
	case space == prefixes["sh"] && local == "StandardBusinessDocument":
		return sbdhEnvelope
	case (space == prefixes["s11"] || space == prefixes["s12"]) && local == "Envelope":
		return as4Envelope
	case space == "" && local == "cXML":
		return cxmlEnvelope
	case space == prefixes["e1"], space == prefixes["e2"], space == prefixes["q1"], space == prefixes["q2"]:
		if local == "EPCISDocument" || local == "EPCISQueryDocument" {
			return epcisXML
		}
	case strings.HasPrefix(space, gs1Space) && strings.HasSuffix(local, "Message"):
		return gs1Envelope
	}
	return documentOf(x)
}

// documentOf returns the dialect of a business document.
func documentOf(x *xmltoken.Reader) *dialect {
	space, local := x.Space(x.Name), x.Local(x.Name)
	switch {
	case strings.HasPrefix(space, ublSpace) && space[len(ublSpace):] == local+"-2":
		return ublDocument
	case space == prefixes["rsm"] && local == "CrossIndustryInvoice":
		return ciiDocument
	case space == prefixes["rsm1"] && local == "CrossIndustryDocument":
		return zugferdDocument
	}
	return nil
}
