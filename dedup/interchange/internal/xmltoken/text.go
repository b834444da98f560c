package xmltoken

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// text returns the next piece of text in b, which does not begin with a tag.
func (r *Reader) text(b []byte) Kind {
	n := 0
	for n < len(b) && white[b[n]] && b[n] != '\r' {
		n++
	}
	r.Blank = n == len(b) || b[n] == '<' || b[n] == '\r' && n > 0
	for n < len(b) && textByte[b[n]] {
		n++
	}
	if n > 0 {
		r.Text = b[:n]
		r.pos += n
		return Text
	}
	if b[0] == '&' {
		var fault Fault
		var width int
		if r.scratch, width, fault = r.reference(r.scratch[:0], b); fault != NoFault {
			return r.broken(fault)
		}
		r.Text = r.scratch
		r.pos += width
		return Text
	}
	return r.special(b)
}

// special returns a piece of text that begins with none of textByte.
func (r *Reader) special(b []byte) Kind {
	switch c := b[0]; {
	case c == '\r': // XML 1.0 §2.11
		r.Text, r.Blank = lineFeed, true
		r.pos++
		if len(b) > 1 && b[1] == '\n' {
			r.pos++
		}
		return Text
	case forbidden(c):
		return r.broken(Characters)
	case c < 0x80:
		r.Text = b[:1]
		r.pos++
		return Text
	}
	n := 0
	for n < len(b) && b[n] >= 0x80 {
		width := r.letter(b[n:])
		if width < 0 && n == 0 {
			return r.broken(Characters)
		}
		if width <= 0 { // the rest of it is not at hand, or it is bad: both are for later
			break
		}
		n += width
	}
	if n == 0 {
		return r.broken(Characters)
	}
	r.Text, r.Blank = b[:n], false
	r.pos += n
	return Text
}

var lineFeed = []byte("\n")

// letter returns the width of the character beyond ASCII that begins b, 0 if b
// ends in it, -1 if there is none.
func (r *Reader) letter(b []byte) int {
	if r.Charset != "" {
		return 1
	}
	c, n := utf8.DecodeRune(b)
	switch {
	case c == utf8.RuneError && n == 1 && !utf8.FullRune(b):
		return 0
	case c == utf8.RuneError && n == 1, !legal(c):
		return -1
	}
	return n
}

// cdata returns the next piece of a CDATA section, or passes over its end.
func (r *Reader) cdata(b []byte) (Kind, bool) {
	const end = "]]>"
	whole := r.last && len(b) <= chunk
	b = b[:min(len(b), chunk)]
	n := bytes.Index(b, []byte(end))
	switch {
	case n == 0:
		r.pos += len(end)
		r.inCDATA = false
		return Broken, false
	case n < 0 && whole:
		return r.broken(Truncated), true
	case n < 0:
		n = len(b) - len(end) + 1
	}
	b = b[:n]
	n = 0
	blank := true
	for n < len(b) && (textByte[b[n]] || b[n] == '<' || b[n] == '&') {
		blank = blank && white[b[n]]
		n++
	}
	if n == 0 {
		return r.special(b), true
	}
	r.Text, r.Blank = b[:n], blank
	r.pos += n
	return Text, true
}

// maxReference is the longest reference there is to anything.
const maxReference = len("&#0000000000x10FFFF;")

// reference appends what a reference at the beginning of b stands for, and
// returns the width of the reference.
func (r *Reader) reference(to, b []byte) (_ []byte, n int, _ Fault) {
	end := bytes.IndexByte(b[:min(len(b), maxReference)], ';')
	switch {
	case end < 0 && len(b) < maxReference:
		return to, 0, Truncated
	case end < 0:
		return to, 0, Entity
	}
	name := b[1:end]
	if len(name) > 1 && name[0] == '#' {
		digits, base := name[1:], 10
		if digits[0] == 'x' {
			digits, base = digits[1:], 16
		}
		c, err := strconv.ParseUint(string(digits), base, 32)
		if err != nil || !legal(rune(c)) {
			return to, 0, Characters
		}
		if r.Charset != "" && c >= 0x80 {
			return append(strconv.AppendUint(append(to, 1), c, 10), ';'), end + 1, NoFault
		}
		return utf8.AppendRune(to, rune(c)), end + 1, NoFault
	}
	switch string(name) {
	case "lt":
		return append(to, '<'), end + 1, NoFault
	case "gt":
		return append(to, '>'), end + 1, NoFault
	case "amp":
		return append(to, '&'), end + 1, NoFault
	case "apos":
		return append(to, '\''), end + 1, NoFault
	case "quot":
		return append(to, '"'), end + 1, NoFault
	}
	return to, 0, Entity
}
