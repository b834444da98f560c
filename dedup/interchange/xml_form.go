package interchange

import (
	"crypto/sha256"

	"firstcopy/dedup/interchange/internal/xmltoken"
)

// The canonical form of XML is the sequence of its tags and text. Comments,
// processing instructions and the ways to write a character leave no trace, nor
// do prefixes: a name is its namespace and local part where it comes up first,
// and its number from then on. Attributes are sorted by namespace and name.
// White space that stands as such between two tags is dropped, unless they are
// the start and the end of one element. Everything else is content.
//
// XML has no control characters but tab, line feed and carriage return, so
// these marks cannot be taken for text.
const (
	xmlStart  = 2
	xmlAttr   = 3
	xmlBody   = 4 // after the attributes
	xmlEnd    = 5
	xmlDigest = 6 // a document follows, as its digest
)

// maxBlank is how much white space may be between two tags; more is content.
const maxBlank = 4 << 10

// An xmlForm writes the canonical form of elements.
type xmlForm struct {
	*canon
	numbers [xmltoken.MaxTable]numbered
	epoch   uint32 // of the numbers that count
	next    uint16

	// The text since the last tag: whether it is content, and if that is not
	// known yet, what there is.
	isContent bool
	blank     []byte
	leaf      bool // the last tag was a start
}

type numbered struct {
	epoch  uint32
	number uint16
}

// begin starts a form. The names of an earlier one are unknown again.
func (f *xmlForm) begin(name string, x *xmltoken.Reader) {
	f.canon.begin(name, nil)
	f.text8(x.Charset)
	if f.epoch++; f.epoch == 0 {
		f.numbers, f.epoch = [xmltoken.MaxTable]numbered{}, 1
	}
	f.next = 0
	f.tag(false)
}

// tag begins the text after a tag.
func (f *xmlForm) tag(start bool) {
	f.leaf, f.isContent, f.blank = start, false, f.blank[:0]
}

func (f *xmlForm) start(x *xmltoken.Reader) {
	f.name(xmlStart, x, x.Name)
	for i := range x.Attrs {
		f.name(xmlAttr, x, x.Attrs[i].Name)
		f.put(x.Attrs[i].Value)
	}
	f.writeByte(xmlBody)
	f.tag(true)
}

func (f *xmlForm) end() {
	if f.leaf {
		f.write(f.blank)
	}
	f.writeByte(xmlEnd)
	f.tag(false)
}

func (f *xmlForm) text(b []byte, blank bool) {
	switch {
	case f.isContent:
	case blank && len(f.blank)+len(b) <= maxBlank:
		f.blank = append(f.blank, b...)
		return
	default:
		f.write(f.blank)
		f.blank, f.isContent = f.blank[:0], true
	}
	f.put(b)
}

// put is write for what is mostly short.
func (f *xmlForm) put(b []byte) {
	if len(b) < blockSize-len(f.block) {
		f.block = append(f.block, b...)
	} else {
		f.write(b)
	}
}

// name writes a mark and a name, or the number of the name if that is known.
func (f *xmlForm) name(mark byte, x *xmltoken.Reader, n xmltoken.Name) {
	e := &f.numbers[n]
	known := e.epoch == f.epoch
	if !known {
		*e = numbered{f.epoch, f.next}
		f.next++
	}
	f.room(3)
	f.block = append(f.block, mark, byte(e.number), byte(e.number>>8))
	if !known {
		f.text8(x.Space(n))
		f.text8(x.Local(n))
	}
}

// text8 writes a name and an end that cannot be part of it.
func (f *xmlForm) text8(s string) {
	copied := copy(f.room(len(s)), s)
	f.block = f.block[:len(f.block)+copied]
	f.writeByte(0)
}

// digest stands for a document.
func (f *xmlForm) digest(sum [sha256.Size]byte) {
	f.tag(false)
	f.writeByte(xmlDigest)
	f.write(sum[:])
}
