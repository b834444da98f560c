package xmltoken

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// A Name is an expanded name of the current document: a namespace and a local
// name. Equal names have equal numbers, from 0 to MaxTable-1; which ones is
// arbitrary.
type Name uint16

// MaxTable bounds the numbers of names: those of one document, and those kept
// from earlier ones because the next document is likely to use them again.
const MaxTable = 2 * MaxNames

type (
	space     uint16
	localName struct {
		space space
		local string
	}
)

// names holds what is known of names and namespaces.
type names struct {
	vocabulary Vocabulary
	spaces     []spaceEntry
	spaceOf    map[string]space
	entries    []nameEntry
	nameOf     map[localName]Name
	// recent finds names by how they are written.
	recent [1 << recentBits]written
	after  [MaxTable]*written // the name that last followed one
	last   Name
	document,
	distinctNames, distinctSpaces int // of the document
}

type spaceEntry struct {
	uri      string
	codes    map[string]Code
	document int // the last one that used it
}

type nameEntry struct {
	localName
	code     Code
	document int
}

// A written name has been resolved in a scope before.
type written struct {
	scope  uint32
	length uint8
	attr   bool
	name   Name
	octets [maxRecent]byte
}

const (
	recentBits = 9
	maxRecent  = 48
)

// The namespaces that need no declaration (Namespaces in XML §3).
const (
	xmlSpace   = "http://www.w3.org/XML/1998/namespace"
	xmlnsSpace = "http://www.w3.org/2000/xmlns/"
	noSpace    = space(0)
)

func newNames(v Vocabulary) names { return names{vocabulary: v} }

// begin makes room for a document.
func (n *names) begin() {
	n.document++
	n.distinctNames, n.distinctSpaces = 0, 0
	if n.nameOf != nil && len(n.entries) <= MaxNames && len(n.spaces) <= MaxSpaces {
		return
	}
	n.spaceOf, n.nameOf = make(map[string]space), make(map[localName]Name)
	n.spaces, n.entries = n.spaces[:0], n.entries[:0]
	n.space(nil)
}

// space returns the number of a namespace.
func (n *names) space(uri []byte) (space, bool) {
	s, known := n.spaceOf[string(uri)]
	if !known {
		if len(n.spaces) == 2*MaxSpaces {
			return 0, false
		}
		s = space(len(n.spaces))
		text := string(uri)
		n.spaceOf[text] = s
		n.spaces = append(n.spaces, spaceEntry{uri: text, codes: n.vocabulary[text]})
	}
	if e := &n.spaces[s]; e.document != n.document {
		e.document = n.document
		n.distinctSpaces++
	}
	return s, n.distinctSpaces <= MaxSpaces
}

// expanded returns the number of a name.
func (n *names) expanded(s space, local []byte) (Name, bool) {
	name, known := n.nameOf[localName{s, string(local)}]
	if !known {
		if len(n.entries) == MaxTable {
			return 0, false
		}
		name = Name(len(n.entries))
		key := localName{s, string(local)}
		n.nameOf[key] = name
		n.entries = append(n.entries, nameEntry{localName: key, code: n.spaces[s].codes[key.local]})
	}
	if e := &n.entries[name]; e.document != n.document {
		e.document = n.document
		n.distinctNames++
	}
	return name, n.distinctNames <= MaxNames
}

// slot returns where a name as written is or would be found again, nil if it is
// too long for that.
func (n *names) slot(scope uint32, raw []byte, attr bool) *written {
	if len(raw) > maxRecent {
		return nil
	}
	var h uint64
	if len(raw) >= 8 {
		h = binary.LittleEndian.Uint64(raw)*0x9E3779B97F4A7C15 ^ binary.LittleEndian.Uint64(raw[len(raw)-8:])
	} else {
		for _, c := range raw {
			h = h<<8 | uint64(c)
		}
	}
	if len(raw) > 16 { // long names differ in the middle, after a prefix in common
		h ^= binary.LittleEndian.Uint64(raw[len(raw)/2-4:]) << 1
	}
	h ^= uint64(scope)<<32 ^ uint64(len(raw))<<8
	if attr {
		h = ^h
	}
	return &n.recent[h*0x9E3779B97F4A7C15>>(64-recentBits)]
}

func (w *written) is(scope uint32, raw []byte, attr bool) bool {
	return w.scope == scope && w.attr == attr && string(w.octets[:w.length]) == string(raw)
}

func (w *written) set(scope uint32, raw []byte, attr bool, name Name) {
	w.scope, w.attr, w.name, w.length = scope, attr, name, uint8(copy(w.octets[:], raw))
}

// resolve expands a name as written in the current scope (Namespaces in XML
// §6): an attribute without a prefix is in no namespace.
func (r *Reader) resolve(raw []byte, attr bool) (Name, Fault) {
	// What followed the last name may follow it again.
	guess := &r.names.after[r.names.last]
	if *guess != nil && (*guess).is(r.scope.id, raw, attr) {
		r.names.last = (*guess).name
		return r.names.last, NoFault
	}
	slot := r.names.slot(r.scope.id, raw, attr)
	if slot != nil && slot.is(r.scope.id, raw, attr) {
		*guess, r.names.last = slot, slot.name
		return slot.name, NoFault
	}
	prefix, local := split(raw)
	switch {
	case len(raw) > maxName:
		return 0, Bounds
	case len(local) == 0, namePart[local[0]], bytes.IndexByte(local, ':') >= 0, // that is no name
		len(local) != len(raw) && (len(prefix) == 0 || namePart[prefix[0]]),
		r.Charset == "" && !utf8.Valid(raw):
		return 0, Malformed
	}
	in := noSpace
	if !attr || len(prefix) > 0 {
		var ok bool
		if in, ok = r.scope.lookup(&r.names, prefix); !ok {
			return 0, Malformed
		}
	}
	name, ok := r.names.expanded(in, local)
	if !ok {
		return 0, Bounds
	}
	if slot != nil {
		slot.set(r.scope.id, raw, attr, name)
		*guess = slot
	}
	r.names.last = name
	return name, NoFault
}

// split cuts a name at its first colon.
func split(raw []byte) (prefix, local []byte) {
	if i := bytes.IndexByte(raw, ':'); i >= 0 {
		return raw[:i], raw[i+1:]
	}
	return nil, raw
}

// Code is the code that the vocabulary gives to a name.
func (r *Reader) Code(n Name) Code { return r.names.entries[n].code }

// Local is the local part of a name.
func (r *Reader) Local(n Name) string { return r.names.entries[n].local }

// Space is the namespace of a name, "" for none.
func (r *Reader) Space(n Name) string { return r.names.spaces[r.names.entries[n].space].uri }
