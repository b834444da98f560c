package interchange

// binary takes a segment whose last element is binary data of a stated length:
// BIN*length*data and BDS*filter*length*data. The data may hold anything,
// terminators and line breaks too, and enter the canonical form as they are.
func (x *x12) binary(t tag, seg segment) {
	lengthAt := 1
	if t == tagBDS {
		lengthAt = 2
	}
	head, length := x.binaryHead(seg.body, lengthAt)
	if head == 0 {
		x.flag(binaryLength)
		x.take(seg, 0)
		return
	}
	x.form.segment(0)
	x.form.feed(seg.body[:head])
	x.form.separate()
	x.advance(head)
	missing := x.takeOctets(length)
	if b := x.need(1); missing > 0 || len(b) == 0 || x.syntax.class[b[0]] != terminator {
		x.flag(binaryLength)
	}
	x.takeRest()
}

// binaryHead returns where the data begin and how long they are; 0 if that is
// not stated.
func (x *x12) binaryHead(body []byte, lengthAt int) (head int, length int64) {
	s := &x.syntax
	at, stated := 0, false
	for i, c := range body {
		switch cl := s.class[c]; {
		case cl == element && at == lengthAt:
			if !stated {
				return 0, 0
			}
			return i + 1, length
		case cl == element:
			at++
		case at == lengthAt && cl != newline:
			if c < '0' || c > '9' || length > 1<<53 {
				return 0, 0
			}
			length, stated = length*10+int64(c-'0'), true
		}
	}
	return 0, 0
}
