package interchange

import "slices"

// Types lists the types of the messages that have one, in order of appearance;
// those of the Reference where no message is listed.
func (ic *Interchange) Types() []string {
	if len(ic.Messages) == 0 {
		return ic.MessageTypes
	}
	var types []string
	for i := range ic.Messages {
		if t := ic.Messages[i].Type; t != "" {
			types = append(types, t)
		}
	}
	return types
}

// Functions lists the functions of the messages that state one, in order of
// appearance.
func (ic *Interchange) Functions() []string {
	var functions []string
	for i := range ic.Messages {
		if f := ic.Messages[i].Function; f != "" {
			functions = append(functions, f)
		}
	}
	return functions
}

// AllListed reports whether Messages are all that the interchange has.
func (ic *Interchange) AllListed() bool {
	return !slices.Contains(ic.Irregular, irregularTexts[listsCut])
}

// addType makes the type of a message part of the reference and returns it as
// text, "" if it cannot be one.
func (s *scanner) addType(ic *Interchange, octets []byte) string {
	if len(octets) == 0 || len(octets) > maxType {
		s.flag(noMessageType)
		return ""
	}
	text := s.text(octets)
	if !slices.Contains(ic.MessageTypes, text) {
		if len(ic.MessageTypes) == maxDistinct {
			s.flag(typesCut)
		} else {
			ic.MessageTypes = append(ic.MessageTypes, text)
		}
	}
	return text
}

// room reports whether one more group or message may be listed.
func (s *scanner) room() bool {
	if s.listed == MaxMessages {
		s.flag(listsCut)
		return false
	}
	s.listed++
	return true
}

// text is Text for values that repeat; "" if they are too long to be what they
// should.
func (s *scanner) text(octets []byte) string {
	if len(octets) > maxNumber {
		return ""
	}
	text, known := s.intern[string(octets)]
	if !known {
		text = Text(octets)
		if len(s.intern) < 4*maxDistinct {
			s.intern[string(octets)] = text
		}
	}
	return text
}
