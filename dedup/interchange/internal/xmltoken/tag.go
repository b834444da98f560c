package xmltoken

import (
	"bytes"
	"slices"
	"strings"
)

// startTag reads "<name attributes>" or "<name attributes/>".
func (r *Reader) startTag() Kind {
	b := r.at(chunk)
	n, fault := r.parse(b)
	if fault == Truncated && !r.last {
		b = r.at(MaxTag + 1)
		n, fault = r.parse(b)
	}
	switch {
	case fault == Truncated && !r.last, fault == NoFault && n > MaxTag:
		return r.broken(Bounds)
	case fault != NoFault:
		return r.broken(fault)
	}
	r.pos += n
	return Start
}

// parse reads the tag at the beginning of b and opens its element. It changes
// nothing if the tag is Truncated.
func (r *Reader) parse(b []byte) (n int, _ Fault) {
	n = 1
	for n < len(b) && nameByte[b[n]] {
		n++
	}
	name := b[1:n]
	r.Attrs, r.scratch = r.Attrs[:0], r.scratch[:0]
	if n+1 < len(b) && b[n] == '>' { // most tags
		return n + 1, r.enter(name, false)
	}
	declares := false
	for {
		blank := n
		for n < len(b) && white[b[n]] {
			n++
		}
		if n+1 >= len(b) {
			return 0, Truncated
		}
		if b[n] == '>' {
			n++
			break
		}
		if b[n] == '/' {
			if b[n+1] != '>' {
				return 0, Malformed
			}
			n += 2
			r.empty = true
			break
		}
		if blank == n || len(r.Attrs) == MaxAttrs {
			return 0, map[bool]Fault{true: Malformed, false: Bounds}[blank == n]
		}
		width, fault := r.attribute(b[n:])
		if fault != NoFault {
			return 0, fault
		}
		n += width
		declares = declares || isDeclaration(r.Attrs[len(r.Attrs)-1].raw)
	}
	fault := r.enter(name, declares)
	return n, fault
}

// attribute reads `name="value"` into Attrs.
func (r *Reader) attribute(b []byte) (n int, _ Fault) {
	for n < len(b) && nameByte[b[n]] {
		n++
	}
	a := Attr{raw: b[:n]}
	if n == 0 {
		return 0, Malformed
	}
	for n < len(b) && white[b[n]] {
		n++
	}
	if n == len(b) {
		return 0, Truncated
	}
	if b[n] != '=' {
		return 0, Malformed
	}
	for n++; n < len(b) && white[b[n]]; n++ {
	}
	if n == len(b) {
		return 0, Truncated
	}
	quote := b[n]
	if quote != '"' && quote != '\'' {
		return 0, Malformed
	}
	n++
	length := bytes.IndexByte(b[n:], quote)
	if length < 0 {
		return 0, Truncated
	}
	value, fault := r.value(b[n : n+length])
	a.Value = value
	r.Attrs = append(r.Attrs, a)
	return n + length + 1, fault
}

// value normalises the value of an attribute (XML 1.0 §3.3.3).
func (r *Reader) value(b []byte) ([]byte, Fault) {
	i := 0
	for i < len(b) && valueByte[b[i]] {
		i++
	}
	if i == len(b) {
		return b, NoFault
	}
	start := len(r.scratch)
	r.scratch = append(r.scratch, b[:i]...)
	for i < len(b) {
		switch c := b[i]; {
		case valueByte[c], c == 0x7F:
			r.scratch = append(r.scratch, c)
			i++
		case c == '\r' && i+1 < len(b) && b[i+1] == '\n':
			i++
		case white[c]:
			r.scratch = append(r.scratch, ' ')
			i++
		case c == '&':
			n, fault := 0, NoFault
			if r.scratch, n, fault = r.reference(r.scratch, b[i:]); fault != NoFault {
				if fault == Truncated { // the quote cannot be part of it
					fault = Malformed
				}
				return nil, fault
			}
			i += n
		case c < 0x80:
			return nil, Characters
		default:
			n := r.letter(b[i:])
			if n <= 0 {
				return nil, Characters
			}
			r.scratch = append(r.scratch, b[i:i+n]...)
			i += n
		}
	}
	return r.scratch[start:], NoFault
}

// enter resolves the names of a tag, sorts its attributes and opens the element.
func (r *Reader) enter(raw []byte, declares bool) Fault {
	if declares {
		r.marks = append(r.marks, r.scope.mark())
		if fault := r.declare(); fault != NoFault {
			return fault
		}
	}
	if len(r.open) == MaxDepth {
		return Bounds
	}
	name, fault := r.resolve(raw, false)
	if fault != NoFault {
		return fault
	}
	for i := range r.Attrs {
		a := &r.Attrs[i]
		if a.Name, fault = r.resolve(a.raw, true); fault != NoFault {
			return fault
		}
	}
	if !r.sort() {
		return Malformed
	}
	r.Name = name
	r.open = append(r.open, element{name, declares, uint32(len(r.openNames))})
	r.openNames = append(r.openNames, raw...)
	return NoFault
}

// isDeclaration tells namespace declarations from attributes.
func isDeclaration(raw []byte) bool {
	const xmlns = "xmlns"
	return len(raw) >= len(xmlns) && string(raw[:len(xmlns)]) == xmlns && (len(raw) == len(xmlns) || raw[len(xmlns)] == ':')
}

// declare takes the namespace declarations out of the attributes.
func (r *Reader) declare() Fault {
	kept := r.Attrs[:0]
	for i, a := range r.Attrs {
		if !isDeclaration(a.raw) {
			kept = append(kept, a)
			continue
		}
		for _, other := range r.Attrs[i+1:] {
			if string(other.raw) == string(a.raw) {
				return Malformed
			}
		}
		_, prefix := split(a.raw)
		if len(prefix) == len(a.raw) {
			prefix = nil
		} else if len(prefix) == 0 || len(a.Value) == 0 || bytes.IndexByte(prefix, ':') >= 0 || string(prefix) == "xmlns" {
			return Malformed
		}
		if uri := string(a.Value); uri == xmlnsSpace || (uri == xmlSpace) != (string(prefix) == "xml") {
			return Malformed
		}
		to, ok := r.names.space(a.Value)
		if !ok {
			return Bounds
		}
		r.scope.declare(prefix, to)
	}
	r.Attrs = kept
	return NoFault
}

// sort orders the attributes by expanded name, which may be given only once.
func (r *Reader) sort() bool {
	if len(r.Attrs) < 2 {
		return true
	}
	slices.SortFunc(r.Attrs, func(a, b Attr) int {
		x, y := &r.names.entries[a.Name], &r.names.entries[b.Name]
		if x.space != y.space {
			return strings.Compare(r.names.spaces[x.space].uri, r.names.spaces[y.space].uri)
		}
		return strings.Compare(x.local, y.local)
	})
	for i := range r.Attrs[1:] {
		if r.Attrs[i].Name == r.Attrs[i+1].Name {
			return false
		}
	}
	return true
}
