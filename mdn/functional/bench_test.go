package functional_test

import (
	"testing"

	"firstcopy/mdn/functional"
)

func BenchmarkCompose(b *testing.B) {
	for _, c := range []struct {
		kind    functional.Kind
		payload string
	}{{functional.CONTRL, order}, {functional.TA1, sets}, {functional.FunctionalAcknowledgement, sets}} {
		x := scanned(b, c.payload)
		b.Run(string(c.kind), func(b *testing.B) {
			for b.Loop() {
				compose(b, x, c.kind, false)
			}
		})
	}
}
