package smime

// head is an identifier with its length.
type head struct {
	tag    byte  // the first identifier octet
	size   int   // of identifier and length, in octets
	length int64 // of the contents; -1 if indefinite
}

// maxHead bounds identifier and length octets; lengths with leading zeros occur.
const maxHead = 32

// parseHead reports false if b is too short.
func parseHead(b []byte) (h head, ok bool) {
	i := 1
	if b[0]&0x1f == 0x1f { // tag number in further octets
		for i < len(b) && b[i]&0x80 != 0 {
			i++
		}
		i++
	}
	if i >= len(b) {
		return h, false
	}
	h.tag, h.size, h.length = b[0], i+1, int64(b[i])
	if b[i] < 0x80 {
		return h, true
	}
	if b[i] == 0x80 {
		h.length = -1
		return h, true
	}
	n := int(b[i] & 0x7f)
	if h.size += n; h.size > len(b) {
		return h, false
	}
	h.length = 0
	for _, c := range b[i+1 : h.size] {
		if h.length >= 1<<48 {
			h.length = -2 // more than there can be
			return h, true
		}
		h.length = h.length<<8 | int64(c)
	}
	return h, true
}
