package interchange

import "firstcopy/dedup/interchange/internal/xmltoken"

type eventSet struct{ open bool }

func (e *eventSet) reset()                 {}
func (e *eventSet) start(*xmltoken.Reader) {}
func (e *eventSet) text([]byte)            {}
func (e *eventSet) end()                   {}
func (e *eventSet) add([32]byte)           {}
func (m *markup) openEvent()               {}
func (m *markup) closeEvent()              {}

var epcisXML *dialect
