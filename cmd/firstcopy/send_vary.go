package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// variation makes the payloads of several messages out of one.
type variation struct {
	payload     []byte
	placeholder []byte // empty: they are all the same
	start       int64
}

// newVariation has payload's placeholder replaced by numbers of the same length,
// so that segment counts and lengths stay right, from start on, or from
// somewhere if start is negative: a second run is to send new interchanges, too.
func newVariation(placeholder string, start int64, messages int, payload []byte) (variation, error) {
	v := variation{payload: payload, placeholder: []byte(placeholder), start: start}
	if placeholder == "" {
		if start >= 0 {
			return v, usagef("--vary-start is the first number for --vary, which is missing")
		}
		return v, nil
	}
	if !bytes.Contains(payload, v.placeholder) {
		return v, usagef("--vary: %q is not in the payload", placeholder)
	}
	numbers := int64(1)
	for range min(len(placeholder), 18) { // 10^18 still is an int64
		numbers *= 10
	}
	free := numbers - int64(messages)
	if free < 0 || start > free {
		return v, usagef("--vary: a number of %d digits is too short for %d messages from %d on", len(placeholder), messages, max(start, 0))
	}
	if start < 0 {
		v.start = rand.Int64N(free + 1)
	}
	return v, nil
}

// of is the payload of message i.
func (v variation) of(i int) []byte {
	if len(v.placeholder) == 0 {
		return v.payload
	}
	number := fmt.Sprintf("%0*d", len(v.placeholder), v.start+int64(i))
	return bytes.ReplaceAll(v.payload, v.placeholder, []byte(number))
}
