package interchange

import "slices"

// addType records the type of a message.
func (s *scanner) addType(ic *Interchange, octets []byte) {
	if len(octets) == 0 || len(octets) > maxType {
		s.flag(noMessageType)
		return
	}
	text := s.text(octets)
	if !slices.Contains(ic.MessageTypes, text) {
		if len(ic.MessageTypes) == maxDistinct {
			s.flag(typesCut)
			return
		}
		ic.MessageTypes = append(ic.MessageTypes, text)
	}
	s.list(&ic.Types, text)
}

func (s *scanner) addFunction(ic *Interchange, code []byte) { s.list(&ic.Functions, s.text(code)) }

func (s *scanner) list(to *[]string, text string) {
	if len(*to) == maxListed {
		s.flag(listsCut)
		return
	}
	*to = append(*to, text)
}

// text is Text for values that repeat.
func (s *scanner) text(octets []byte) string {
	text, known := s.intern[string(octets)]
	if !known {
		text = Text(octets)
		if len(s.intern) < 4*maxDistinct {
			s.intern[string(octets)] = text
		}
	}
	return text
}
