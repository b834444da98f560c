package jsontoken

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// plain octets of a string stand for themselves.
var plain [256]bool

func init() {
	for c := ' '; c < 0x80; c++ {
		plain[c] = c != '"' && c != '\\'
	}
}

// string reads a string with its quotes into Text.
func (r *Reader) string() Fault {
	b := r.at(chunk)
	n, fault := r.unquote(b)
	if fault == Truncated && !r.last {
		b = r.at(MaxValue + 2)
		n, fault = r.unquote(b)
	}
	switch {
	case fault == Truncated && !r.last, fault == NoFault && n > MaxValue+2:
		return Bounds
	case fault == NoFault:
		r.pos += n
	}
	return fault
}

// unquote reads the string that begins b and returns its width.
func (r *Reader) unquote(b []byte) (n int, _ Fault) {
	n = 1
	for n < len(b) && plain[b[n]] {
		n++
	}
	if n < len(b) && b[n] == '"' {
		r.Text = b[1:n]
		return n + 1, NoFault
	}
	text := append(r.scratch[:0], b[1:n]...)
	for n < len(b) {
		c := b[n]
		switch {
		case c == '"':
			r.scratch, r.Text = text, text
			return n + 1, NoFault
		case c == '\\':
			var width int
			var fault Fault
			if text, width, fault = unescape(text, b[n:]); fault != NoFault {
				return 0, fault
			}
			n += width
		case c < ' ':
			return 0, Characters
		case c < utf8.RuneSelf:
			text = append(text, c)
			n++
		default:
			letter, width := utf8.DecodeRune(b[n:])
			if letter == utf8.RuneError && width == 1 {
				if !utf8.FullRune(b[n:]) {
					return 0, Truncated
				}
				return 0, Characters
			}
			text = append(text, b[n:n+width]...)
			n += width
		}
	}
	return 0, Truncated
}

// unescape appends what the escape that begins b stands for. Half of a
// surrogate pair is no character.
func unescape(to, b []byte) (_ []byte, n int, _ Fault) {
	if len(b) < 2 {
		return to, 0, Truncated
	}
	switch b[1] {
	case '"', '\\', '/':
		return append(to, b[1]), 2, NoFault
	case 'b':
		return append(to, '\b'), 2, NoFault
	case 'f':
		return append(to, '\f'), 2, NoFault
	case 'n':
		return append(to, '\n'), 2, NoFault
	case 'r':
		return append(to, '\r'), 2, NoFault
	case 't':
		return append(to, '\t'), 2, NoFault
	case 'u':
	default:
		return to, 0, Malformed
	}
	c, fault := hex4(b)
	if fault != NoFault {
		return to, 0, fault
	}
	if !utf16.IsSurrogate(c) {
		return utf8.AppendRune(to, c), 6, NoFault
	}
	if len(b) < 12 {
		return to, 0, Truncated
	}
	low, fault := hex4(b[6:])
	if fault != NoFault || utf16.DecodeRune(c, low) == utf8.RuneError {
		return to, 0, Characters
	}
	return utf8.AppendRune(to, utf16.DecodeRune(c, low)), 12, NoFault
}

// hex4 reads \uXXXX.
func hex4(b []byte) (rune, Fault) {
	if len(b) < 6 {
		return 0, Truncated
	}
	c, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	if err != nil || b[0] != '\\' || b[1] != 'u' {
		return 0, Malformed
	}
	return rune(c), NoFault
}

// number reads a number into Text.
func (r *Reader) number() Kind {
	b := r.at(chunk)
	n := numeral(b)
	if n == len(b) && !r.last {
		b = r.at(MaxValue + 1)
		n = numeral(b)
	}
	switch {
	case n > MaxValue:
		return r.broken(Bounds)
	case n == 0, !isNumber(b[:n]):
		return r.broken(Malformed)
	case n == len(b) && len(r.open) > 0:
		return r.broken(Truncated)
	}
	r.pos += n
	r.Text = b[:n]
	return Number
}

func numeral(b []byte) int {
	for i, c := range b {
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			return i
		}
	}
	return len(b)
}

// isNumber tells whether b is a number by RFC 8259 §6.
func isNumber(b []byte) bool {
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	n := figures(b)
	if n == 0 || n > 1 && b[0] == '0' {
		return false
	}
	if b = b[n:]; len(b) > 0 && b[0] == '.' {
		if n = figures(b[1:]); n == 0 {
			return false
		}
		b = b[1+n:]
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		if b = b[1:]; len(b) > 0 && (b[0] == '-' || b[0] == '+') {
			b = b[1:]
		}
		n = figures(b)
		return n > 0 && n == len(b)
	}
	return len(b) == 0
}

func figures(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}
