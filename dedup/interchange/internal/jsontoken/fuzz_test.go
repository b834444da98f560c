package jsontoken_test

import (
	"encoding/json"
	"strings"
	"testing"

	"firstcopy/dedup/interchange/internal/jsontoken"
)

// FuzzReader: tokens do not depend on how much of the document is at hand, and
// encoding/json accepts whatever is accepted here.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[1,2.5e-3,"x",true,false,null]`, `{"a":{"b":["\u00e4\ud83d\ude00\n"]}}`, `{"a":1,"a":2}`, "[\"\xc3\xa4\"]",
	} {
		f.Add(seed)
	}
	j := jsontoken.New()
	f.Fuzz(func(t *testing.T, document string) {
		tokens, rest, fault := read(j, document, false)
		again, restAgain, faultAgain := read(j, document, true)
		if fault != faultAgain || fault == jsontoken.NoFault && (tokens != again || rest != restAgain) {
			t.Fatalf("%q\nread by pieces: %q, fault %d\nat once: %q, fault %d", document, again, faultAgain, tokens, fault)
		}
		document = strings.TrimSuffix(document, rest)
		switch valid := json.Valid([]byte(document)); {
		case fault == jsontoken.NoFault && !valid:
			t.Fatalf("%q is none for encoding/json", document)
		case fault == jsontoken.Malformed && valid:
			t.Fatalf("%q is well-formed for encoding/json", document)
		}
	})
}
