// Package xmltoken cuts XML 1.0 into tokens as it streams by: start tags with
// their attributes, end tags and text, every name resolved to its namespace.
//
// It is made for octets that a stranger sent. No entity is expanded but the five
// predefined ones and character references, and a document type declaration is
// reported and never followed, so that nothing can grow on its way; depth,
// names, attributes and the length of a tag have bounds; text, comments and
// processing instructions may be of any length, since they pass in pieces.
//
// It checks what decides where things begin and end: nesting, quotes, names
// bound to namespaces, attributes given twice, characters that XML forbids. It
// does not validate, and is lenient where nothing depends on it: the letters in
// names, "--" in comments, "]]>" in text.
//
// A Reader serves one goroutine; steady use does not allocate.
package xmltoken

// Bounds. A document beyond one of them is Broken.
const (
	MaxDepth  = 256      // open elements
	MaxAttrs  = 256      // attributes and namespace declarations of one tag
	MaxNames  = 2048     // different expanded names
	MaxSpaces = 256      // different namespaces
	MaxTag    = 32 << 10 // octets of one tag
	MaxProlog = 64 << 10 // octets before the root element
	maxName   = 1 << 10  // octets of one name
)

// A Source gives the octets of a document, in a window that moves.
type Source interface {
	// Need returns at least n octets from the position on, n at most MaxTag, or
	// all that are left. The slice is good until the next call.
	Need(n int) []byte
	// Advance moves the position.
	Advance(n int)
}

// A Kind is that of a token.
type Kind uint8

// The kinds. An empty element is a Start and an End.
const (
	Broken Kind = iota // the document cannot be read further: see Reader.Fault
	Start
	End
	Text
)

// A Fault is why a document cannot be read further.
type Fault uint8

// The faults.
const (
	NoFault    Fault = iota
	Malformed        // XML 1.0 or Namespaces in XML is violated
	Truncated        // the octets end inside
	Restart          // another XML declaration begins inside
	Bounds           // one of the bounds above
	Characters       // an octet or a character that XML forbids, or that is no UTF-8
	Entity           // a reference to an entity that is not predefined
	Doctype          // a document type declaration with declarations of its own
	Encoding         // an encoding that is not ASCII in its lower half
	NoRoot           // no root element within MaxProlog
)

// A Code is a number that a Vocabulary gives to a name; 0 is any other name.
type Code uint16

// A Vocabulary has the codes of names, by namespace and local name.
type Vocabulary map[string]map[string]Code

// An Attr is one attribute, namespace declarations excepted.
type Attr struct {
	Name  Name
	Value []byte // normalised, references resolved; good until the next token
	raw   []byte
}
