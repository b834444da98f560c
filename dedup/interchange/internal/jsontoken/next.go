package jsontoken

import (
	"bytes"
	"hash/maphash"
)

// chunk is how many octets are at hand when a token is looked at, if there are
// as many.
const chunk = 256

// Next returns the next token.
func (r *Reader) Next() Kind {
	c, ok := r.peek()
	if !ok {
		return r.broken(Truncated)
	}
	if len(r.open) == 0 {
		return r.value(c)
	}
	f := &r.open[len(r.open)-1]
	if f.state == named {
		f.state = filled
		return r.value(c)
	}
	if c == '}' && f.object || c == ']' && !f.object {
		return r.leave()
	}
	if f.state == filled {
		if c != ',' {
			return r.broken(Malformed)
		}
		r.pos++
		if c, ok = r.peek(); !ok {
			return r.broken(Truncated)
		}
	}
	if f.object {
		return r.member(f, c)
	}
	f.state = filled
	return r.value(c)
}

// peek passes over white space and returns the octet behind it.
func (r *Reader) peek() (byte, bool) {
	for {
		for _, c := range r.at(chunk) {
			if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				return c, true
			}
			r.pos++
		}
		if r.last {
			return 0, false
		}
	}
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

func (r *Reader) broken(f Fault) Kind {
	r.Fault = f
	return Broken
}

// member reads a name and the colon behind it.
func (r *Reader) member(f *frame, c byte) Kind {
	if c != '"' {
		return r.broken(Malformed)
	}
	if fault := r.string(); fault != NoFault {
		return r.broken(fault)
	}
	name := r.Text
	if !r.fresh(f, maphash.Bytes(r.seed, name)) {
		return r.broken(Duplicate)
	}
	r.scratch = append(r.scratch[:0], name...) // the window may move
	r.Text = r.scratch
	switch c, ok := r.peek(); {
	case !ok:
		return r.broken(Truncated)
	case c != ':':
		return r.broken(Malformed)
	}
	r.pos++
	f.state = named
	return Member
}

// fresh takes up the name of a member, if it is a new one.
func (r *Reader) fresh(f *frame, name uint64) bool {
	names := r.names[f.first:]
	if f.many != nil {
		if f.many[name] {
			return false
		}
		f.many[name] = true
		return true
	}
	for _, other := range names {
		if other == name {
			return false
		}
	}
	r.names = append(r.names, name)
	if len(names)+1 == manyMembers {
		f.many = make(map[uint64]bool, 2*manyMembers)
		for _, n := range r.names[f.first:] {
			f.many[n] = true
		}
	}
	return true
}

func (r *Reader) value(c byte) Kind {
	switch c {
	case '{', '[':
		return r.enter(c == '{')
	case '"':
		if fault := r.string(); fault != NoFault {
			return r.broken(fault)
		}
		return String
	case 't':
		return r.word("true", True)
	case 'f':
		return r.word("false", False)
	case 'n':
		return r.word("null", Null)
	}
	return r.number()
}

func (r *Reader) enter(object bool) Kind {
	if len(r.open) == MaxDepth {
		return r.broken(Bounds)
	}
	r.pos++
	r.open = append(r.open, frame{object: object, first: len(r.names)})
	if object {
		return ObjectStart
	}
	return ArrayStart
}

func (r *Reader) leave() Kind {
	f := r.open[len(r.open)-1]
	r.pos++
	r.names = r.names[:f.first]
	r.open = r.open[:len(r.open)-1]
	if f.object {
		return ObjectEnd
	}
	return ArrayEnd
}

func (r *Reader) word(word string, kind Kind) Kind {
	b := r.at(chunk)
	switch {
	case bytes.HasPrefix(b, []byte(word)):
		r.pos += len(word)
		r.Text = b[:len(word)]
		return kind
	case r.last && bytes.HasPrefix([]byte(word), b):
		return r.broken(Truncated)
	}
	return r.broken(Malformed)
}
