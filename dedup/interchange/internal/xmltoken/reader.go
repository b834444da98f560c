package xmltoken

import "bytes"

// chunk is how many octets are at hand when a token is looked at, if there are
// as many. References, line breaks and characters fit in.
const chunk = 4 << 10

// A Reader reads one document after another.
type Reader struct {
	// Name is that of the tag, Attrs its attributes, sorted by expanded name,
	// and Text a piece of text; all good until the next token.
	Name  Name
	Attrs []Attr
	Text  []byte
	// Blank says that Text is white space that stands there as such.
	Blank bool

	// Fault says why the last token was Broken.
	Fault Fault
	// Charset is the encoding declared, in lower case, if it is not UTF-8 or a
	// part of it. Text is then not decoded: characters from 0x80 on that were
	// given by reference become 0x01, the number and ";".
	Charset string
	// Declared says that there is a document type declaration, without
	// declarations of its own.
	Declared bool

	src   Source
	buf   []byte // from the position of src on
	pos   int
	last  bool // nothing follows buf
	names names
	scope scope

	open      []element
	openNames []byte // of the open elements, as written
	marks     []mark // of the scopes around open elements with declarations
	empty     bool   // the start tag was that of an empty element
	ended     bool   // the last token was an End
	inCDATA   bool
	scratch   []byte
}

// An element is open.
type element struct {
	name     Name
	declares bool   // its mark is in marks
	start    uint32 // of its name in openNames
}

// New returns a Reader whose names have the codes of v.
func New(v Vocabulary) *Reader { return &Reader{names: newNames(v)} }

// Open begins with a document at the position of src. It returns the kind of the
// first token: the Start of the root element, or Broken.
func (r *Reader) Open(src Source) Kind {
	r.src, r.buf, r.pos, r.last = src, nil, 0, false
	r.Fault, r.Charset, r.Declared = NoFault, "", false
	r.open, r.openNames, r.marks = r.open[:0], r.openNames[:0], r.marks[:0]
	r.empty, r.ended, r.inCDATA = false, false, false
	r.names.begin()
	if r.scope.begin() {
		clear(r.names.recent[:])
	}
	return r.prolog()
}

// Close moves the position of the source to behind the last token.
func (r *Reader) Close() {
	r.src.Advance(r.pos)
	r.src, r.buf, r.pos = nil, nil, 0
}

// Depth is the number of open elements; that of a tag is counted with both its
// tokens.
func (r *Reader) Depth() int { return len(r.open) }

// Next returns the next token. After the End of the root element there is none.
func (r *Reader) Next() Kind {
	switch {
	case r.empty:
		r.empty, r.ended = false, true
		return End
	case r.ended:
		r.leave()
	}
	for {
		b := r.at(chunk)
		switch {
		case len(b) == 0:
			return r.broken(Truncated)
		case r.inCDATA:
			if kind, ok := r.cdata(b); ok {
				return kind
			}
		case b[0] != '<':
			return r.text(b)
		case len(b) == 1:
			return r.broken(Truncated)
		case b[1] == '/':
			return r.endTag()
		case b[1] == '!':
			if fault := r.declaration(b); fault != NoFault {
				return r.broken(fault)
			}
		case b[1] == '?':
			if xmlDeclaration(b) {
				return r.broken(Restart)
			}
			if !r.skip(2, "?>") {
				return r.broken(Truncated)
			}
		default:
			return r.startTag()
		}
	}
}

// declaration passes over what begins with "<!" inside of the root element.
func (r *Reader) declaration(b []byte) Fault {
	const comment, cdata = "<!--", "<![CDATA["
	switch {
	case bytes.HasPrefix(b, []byte(comment)):
		if !r.skip(len(comment), "-->") {
			return Truncated
		}
	case bytes.HasPrefix(b, []byte(cdata)):
		r.pos += len(cdata)
		r.inCDATA = true
	case r.last && len(b) < len(cdata):
		return Truncated
	default:
		return Malformed
	}
	return NoFault
}

// at returns the octets from the current one on, n of them if there are.
func (r *Reader) at(n int) []byte {
	if len(r.buf)-r.pos < n && !r.last {
		r.fill(n)
	}
	return r.buf[r.pos:]
}

func (r *Reader) fill(n int) {
	r.src.Advance(r.pos)
	r.buf, r.pos = r.src.Need(n), 0
	r.last = len(r.buf) < n
}

// skip passes over n octets and all that follows up to and with the given end.
func (r *Reader) skip(n int, end string) bool {
	r.pos += n
	for {
		b := r.at(chunk)
		if i := bytes.Index(b, []byte(end)); i >= 0 {
			r.pos += i + len(end)
			return true
		}
		if r.last {
			r.pos = len(r.buf)
			return false
		}
		r.pos += len(b) - len(end) + 1
	}
}

func (r *Reader) broken(f Fault) Kind {
	r.Fault = f
	return Broken
}

// endTag reads "</name>". A tag is compared with the one it closes as written:
// the same prefix cannot have changed its namespace in between.
func (r *Reader) endTag() Kind {
	top := &r.open[len(r.open)-1]
	name := r.openNames[top.start:]
	b := r.at(len(name) + chunk)
	n := 2 + len(name)
	if !bytes.HasPrefix(name, b[2:min(n, len(b))]) {
		return r.broken(Malformed)
	}
	if len(b) <= n {
		return r.broken(Truncated)
	}
	for n < len(b) && white[b[n]] {
		n++
	}
	switch {
	case n == len(b) && r.last:
		return r.broken(Truncated)
	case n == len(b):
		return r.broken(Bounds)
	case b[n] != '>':
		return r.broken(Malformed)
	}
	r.pos += n + 1
	r.Name, r.ended = top.name, true
	return End
}

// leave closes the element whose End was the last token.
func (r *Reader) leave() {
	r.ended = false
	top := &r.open[len(r.open)-1]
	r.openNames = r.openNames[:top.start]
	if top.declares {
		r.scope.pop(r.marks[len(r.marks)-1])
		r.marks = r.marks[:len(r.marks)-1]
	}
	r.open = r.open[:len(r.open)-1]
}
