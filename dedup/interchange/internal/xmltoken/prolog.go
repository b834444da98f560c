package xmltoken

import (
	"bytes"
	"strings"
)

// prolog passes over what precedes the root element and reads its tag.
func (r *Reader) prolog() Kind {
	if b := r.at(chunk); xmlDeclaration(b) {
		end := bytes.Index(b, []byte("?>"))
		if end < 0 {
			return r.broken(NoRoot)
		}
		if !r.charset(b[:end]) {
			return r.broken(Encoding)
		}
		r.pos += end + 2
	}
	for passed, declared := r.pos, false; ; {
		b := r.at(chunk)
		n := 0
		for n < len(b) && white[b[n]] {
			n++
		}
		if n == 0 {
			switch {
			case len(b) < 2 || b[0] != '<':
				return r.broken(NoRoot)
			case b[1] == '?' || bytes.HasPrefix(b, []byte("<!--")):
				width := r.aside(b)
				if width == 0 {
					return r.broken(NoRoot)
				}
				passed += width
				continue
			case b[1] == '!' && !declared:
				var fault Fault
				if n, fault = doctype(r.at(MaxTag)); fault != NoFault {
					return r.broken(fault)
				}
				declared, r.Declared = true, true
			case b[1] == '!', b[1] == '/':
				return r.broken(Malformed)
			default:
				if passed > MaxProlog {
					return r.broken(NoRoot)
				}
				return r.startTag()
			}
		}
		r.pos += n
		if passed += n; passed > MaxProlog {
			return r.broken(NoRoot)
		}
	}
}

// aside passes over a comment or a processing instruction that is not too long
// for a prolog, and returns how many octets it has.
func (r *Reader) aside(b []byte) int {
	end, from := "-->", len("<!--")
	if b[1] == '?' {
		end, from = "?>", len("<?")
	}
	for passed := from; passed <= MaxProlog; {
		r.pos += from
		b = r.at(chunk)
		if i := bytes.Index(b, []byte(end)); i >= 0 {
			r.pos += i + len(end)
			return passed + i + len(end)
		}
		if r.last {
			return 0
		}
		from = len(b) - len(end) + 1
		passed += from
	}
	return 0
}

// xmlDeclaration tells whether an XML declaration begins b.
func xmlDeclaration(b []byte) bool {
	const begin = "<?xml"
	return len(b) > len(begin) && string(b[:len(begin)]) == begin && white[b[len(begin)]]
}

// charset reads the encoding from an XML declaration.
func (r *Reader) charset(b []byte) bool {
	const encoding = "encoding"
	i := bytes.Index(b, []byte(encoding))
	if i < 0 {
		return true
	}
	b = bytes.TrimLeft(b[i+len(encoding):], " \t\r\n=")
	if len(b) == 0 || b[0] != '"' && b[0] != '\'' {
		return true
	}
	end := bytes.IndexByte(b[1:], b[0])
	if end < 0 {
		return true
	}
	name := strings.ToLower(string(b[1 : 1+end]))
	switch name {
	case "utf-8", "utf8", "us-ascii", "ascii":
		return true
	}
	for _, family := range [...]string{"iso-8859-", "iso8859-", "windows-125", "cp125", "latin", "koi8-", "tis-620"} {
		if strings.HasPrefix(name, family) {
			r.Charset = name
			return true
		}
	}
	return false
}

// doctype returns the width of a document type declaration that only names a
// definition elsewhere (XML 1.0 §2.8), as cXML has it.
func doctype(b []byte) (int, Fault) {
	const begin = "<!DOCTYPE"
	if len(b) < len(begin) || string(b[:len(begin)]) != begin {
		return 0, Malformed
	}
	var quote byte
	for i, c := range b {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"', c == '\'':
			quote = c
		case c == '[':
			return 0, Doctype
		case c == '>':
			return i + 1, NoFault
		}
	}
	return 0, Doctype
}
