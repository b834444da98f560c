package interchange

// purposeElement says where the beginning segments of transaction sets hold
// element 353, the purpose code.
var purposeElement = map[tag]int{
	'B'<<16 | 'E'<<8 | 'G': 1, // 850
	'B'<<16 | 'C'<<8 | 'H': 1, // 860
	'B'<<16 | 'A'<<8 | 'K': 1, // 855
	'B'<<16 | 'C'<<8 | 'A': 1, // 865
	'B'<<16 | 'S'<<8 | 'N': 1, // 856
	'B'<<16 | 'H'<<8 | 'T': 2, // 27x, 837
	'B'<<16 | 'G'<<8 | 'N': 1, // 824, 834, 864
	'B'<<16 | '2'<<8 | 'A': 1, // 204
	'B'<<16 | 'F'<<8 | 'R': 1, // 830
	'B'<<16 | 'S'<<8 | 'S': 1, // 862
	'B'<<16 | 'I'<<8 | 'A': 1, // 846
	'B'<<16 | 'P'<<8 | 'T': 1, // 867
	'B'<<16 | 'I'<<8 | 'G': 8, // 810
	'B'<<16 | 'R'<<8 | 'A': 3, // 861
}

// purpose takes up element 353, an identifier of two characters, if the segment
// is one that holds it.
func (x *x12) purpose(t tag, body []byte) {
	at := purposeElement[t]
	if at == 0 {
		return
	}
	var el [10][]byte
	x.split(body, &el)
	code := el[at]
	if len(code) == 2 && alphanumeric(code[0]) && alphanumeric(code[1]) {
		x.hasPurpose = true
		x.addFunction(x.ic, code)
	}
}
