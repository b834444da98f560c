package partners

import (
	"cmp"
	"fmt"
)

// SameDocument is what becomes of a business document that has come before, to
// the octet, in another interchange.
type SameDocument string

const (
	SameForward  SameDocument = "forward"  // forwarded, and flagged
	SameHold     SameDocument = "hold"     // like drift
	SameSuppress SameDocument = "suppress" // kept and shown, not forwarded
)

// Key says what this partner's references are made of, where the fields of the
// envelope are not enough, or too many, to be a key.
type Key struct {
	By KeyBasis
	// AnyMessageType leaves the message types out: the partner's counter runs
	// over all of them.
	AnyMessageType bool
}

// KeyBasis is what tells one interchange from another.
type KeyBasis string

const (
	// KeyReference is what the standards say: parties and control reference.
	KeyReference KeyBasis = "reference"
	// KeyDate adds the interchange's date, for a counter that begins anew every
	// day. A retransmission that is built anew on another day is forwarded again.
	KeyDate KeyBasis = "date"
	// KeyHash adds the content, for references that mean nothing. There is no
	// drift then: other content is another interchange.
	KeyHash KeyBasis = "hash"
)

// Stronger is the basis to agree on where references come again and again with
// other content; daily, if each came on another day.
func (k Key) Stronger(daily bool) KeyBasis {
	if daily && k.By != KeyDate {
		return KeyDate
	}
	return KeyHash
}

// amendments fills in what an agreement from a program, or from before there
// were such terms, does not say.
func (a *Agreement) amendments() {
	a.Stale = cmp.Or(a.Stale, DriftHold)
	a.SameDocument = cmp.Or(a.SameDocument, SameForward)
	a.Key.By = cmp.Or(a.Key.By, KeyReference)
}

type keyYAML struct {
	By           KeyBasis `yaml:"by"`
	MessageTypes *bool    `yaml:"message_types"`
}

func (y keyYAML) key() Key {
	return Key{By: y.By, AnyMessageType: y.MessageTypes != nil && !*y.MessageTypes}
}

type keyJSON struct {
	By           KeyBasis `json:"by"`
	MessageTypes *bool    `json:"message_types,omitempty"` // absent in agreements from before: true
}

func (k Key) json() keyJSON {
	with := !k.AnyMessageType
	return keyJSON{k.By, &with}
}

func (j keyJSON) key() Key {
	return Key{By: j.By, AnyMessageType: j.MessageTypes != nil && !*j.MessageTypes}
}

func (r *reader) amendments(path string, a *Agreement) {
	a.amendments()
	r.check(path+".stale", oneOf(a.Stale, DriftHold, DriftForward, DriftDiscard))
	r.check(path+".same_document", oneOf(a.SameDocument, SameForward, SameHold, SameSuppress))
	r.check(path+".key.by", oneOf(a.Key.By, KeyReference, KeyDate, KeyHash))
	if a.Key.By == KeyHash {
		r.warn(path+".key.by", a.Name, fmt.Sprintf("key by %s: new content under an old reference is never held as drift", KeyHash))
	}
}

// validAmendments is for an agreement that comes from elsewhere than a file.
func (a Agreement) validAmendments() []error {
	a.amendments()
	return []error{oneOf(a.Stale, DriftHold, DriftForward, DriftDiscard),
		oneOf(a.SameDocument, SameForward, SameHold, SameSuppress), oneOf(a.Key.By, KeyReference, KeyDate, KeyHash)}
}
