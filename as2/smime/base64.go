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
	src  io.Reader
	in   [4 << 10]byte
	next []byte // undecoded part of in
	acc  uint32
	bits uint
	err  error
}

func (r *base64Reader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(r.next) == 0 {
			if n > 0 || r.err != nil {
				break
			}
			var k int
			k, r.err = r.src.Read(r.in[:])
			r.next = r.in[:k]
			if k == 0 && r.err == nil {
				break
			}
			continue
		}
		n += r.decode(p[n:])
	}
	if n == 0 && len(p) > 0 && len(r.next) == 0 {
		return 0, r.err
	}
	return n, nil
}

// decode turns input into at most len(p) octets.
func (r *base64Reader) decode(p []byte) (n int) {
	for i, c := range r.next {
		v := sextets[c]
		if v == notBase64 {
			if c == '=' || c == '-' {
				r.next, r.err = nil, io.EOF
				return n
			}
			continue
		}
		r.acc, r.bits = r.acc<<6|uint32(v), r.bits+6
		if r.bits >= 8 {
			r.bits -= 8
			p[n] = byte(r.acc >> r.bits)
			if n++; n == len(p) {
				r.next = r.next[i+1:]
				return n
			}
		}
	}
	r.next = nil
	return n
}
