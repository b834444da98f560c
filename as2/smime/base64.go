package smime

import "io"

const notBase64 = 0xff

// sextets maps the base64 alphabet (RFC 2045 §6.8) to its values.
var sextets = func() (t [256]byte) {
	for i := range t {
		t[i] = notBase64
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range len(alphabet) {
		t[alphabet[i]] = byte(i)
	}
	return t
}()

// base64Reader decodes as RFC 2045 §6.8 tells receivers to: octets outside the
// alphabet are skipped, whatever the lines look like. It ends at the padding,
// or at a hyphen, which begins the last line of PEM armour.
type base64Reader struct {
	src   *Source
	acc   uint32
	bits  uint
	ended bool
}

func (r *base64Reader) Read(p []byte) (n int, err error) {
	for n == 0 && len(p) > 0 {
		if r.ended {
			return 0, io.EOF
		}
		in := r.src.buffered()
		if len(in) == 0 {
			r.src.fill()
			if in = r.src.buffered(); len(in) == 0 {
				return 0, r.src.err
			}
		}
		var used int
		n, used = r.decode(p, in)
		r.src.skip(used)
	}
	return n, nil
}

// decode turns input into at most len(p) octets and returns how much of it was
// used.
func (r *base64Reader) decode(p, in []byte) (n, used int) {
	for used < len(in) && n < len(p) {
		if r.bits == 0 {
			k := quads(p[n:], in[used:])
			n, used = n+3*k, used+4*k
			if used == len(in) || n == len(p) {
				break
			}
		}
		c := in[used]
		used++
		v := sextets[c]
		if v == notBase64 {
			if c == '=' || c == '-' {
				r.ended = true
				return n, used
			}
			continue
		}
		r.acc, r.bits = r.acc<<6|uint32(v), r.bits+6
		if r.bits >= 8 {
			r.bits -= 8
			p[n] = byte(r.acc >> r.bits)
			n++
		}
	}
	return n, used
}

// quads decodes whole groups of four letters, as many as follow each other.
func quads(p, in []byte) (k int) {
	for len(in) >= 4 && len(p) >= 3 {
		a, b, c, d := sextets[in[0]], sextets[in[1]], sextets[in[2]], sextets[in[3]]
		if (a|b|c|d)&0xc0 != 0 {
			return k
		}
		v := uint32(a)<<18 | uint32(b)<<12 | uint32(c)<<6 | uint32(d)
		p[0], p[1], p[2] = byte(v>>16), byte(v>>8), byte(v)
		p, in = p[3:], in[4:]
		k++
	}
	return k
}
