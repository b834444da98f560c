package interchange

import (
	"bytes"
	"iter"
)

// maxValue bounds what is kept of one value; no longer one is of use.
const maxValue = 1 << 10

// maxValues bounds how many values are kept of one record, apart from fields
// that may be given once only.
const maxValues = 64

// A field is a place in a record; 0 is none.
type field uint8

const maxFields = 160

// A record has the values that the paths of a dialect have found.
type record struct {
	text  []byte
	first [maxFields]value
	// more has further values of fields that may be given many times.
	more []value
	cut  bool // there were more than maxValues

	start     int // of the value being taken, in text
	qualifier []byte
}

// A value is the text of an element, without blanks around, and the attribute
// that says what kind it is of.
type value struct {
	field                 field
	start, end, qualifier int // in text; the qualifier ends at qualifier
}

func (r *record) reset() {
	r.text, r.more, r.cut = append(r.text[:0], 0), r.more[:0], false // so that no value starts at 0
	clear(r.first[:])
	r.qualifier = r.qualifier[:0]
}

func (r *record) beginValue() {
	r.start = len(r.text)
	r.qualifier = r.qualifier[:0]
}

func (r *record) extend(b []byte) {
	room := maxValue - (len(r.text) - r.start)
	r.text = append(r.text, b[:max(0, min(len(b), room))]...)
}

// endValue keeps the value that was taken.
func (r *record) endValue(st *step) {
	b := r.text[r.start:]
	r.text = r.text[:r.start]
	r.put(st.field, b, r.qualifier, st.many) // moves it to the front, where it lies already but for blanks
}

// put keeps a value: the first one of its field, or all if there may be many.
func (r *record) put(f field, b, qualifier []byte, many bool) {
	b = bytes.Trim(b[:min(len(b), maxValue)], " \t\r\n")
	known := r.first[f].start > 0
	if known && !many || len(b) == 0 {
		return
	}
	if known && len(r.more) == maxValues {
		r.cut = true
		return
	}
	v := value{field: f, start: len(r.text)}
	r.text = append(r.text, b...)
	v.end = len(r.text)
	r.text = append(r.text, bytes.Trim(qualifier, " \t\r\n")...)
	v.qualifier = len(r.text)
	if known {
		r.more = append(r.more, v)
	} else {
		r.first[f] = v
	}
}

// get returns the first value of a field, nil if there is none.
func (r *record) get(f field) []byte {
	v := &r.first[f]
	if v.start == 0 {
		return nil
	}
	return r.text[v.start:v.end:v.end]
}

// kind returns the qualifier of the first value.
func (r *record) kind(f field) []byte {
	v := &r.first[f]
	return r.text[v.end:v.qualifier:v.qualifier]
}

// all returns the values of a field and their qualifiers, in order.
func (r *record) all(f field) iter.Seq2[[]byte, []byte] {
	return func(yield func(b, qualifier []byte) bool) {
		if v := &r.first[f]; v.start == 0 || !yield(r.text[v.start:v.end:v.end], r.text[v.end:v.qualifier:v.qualifier]) {
			return
		}
		for _, v := range r.more {
			if v.field == f && !yield(r.text[v.start:v.end:v.end], r.text[v.end:v.qualifier:v.qualifier]) {
				return
			}
		}
	}
}
