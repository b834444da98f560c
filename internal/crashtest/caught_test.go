//go:build failpoint

package crashtest_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// wrong are programs that break a promise, and the death at which each does.
var wrong = []struct {
	patch string
	aim   func() round
}{
	{"split-transaction.patch", func() round { return gatewayDiesAt("ingest.registered") }},
	{"asynchronous-commit.patch", func() round { return databaseDiesAt("as2.before-answer") }},
	{"delete-on-error.patch", answerIsLost},
}

// mostRounds is how many rounds a mutant may survive.
const mostRounds = 20

// A proof is worth what it can refute: each mutant has to be caught, and the program as it is has to pass the same rounds.
func TestMutantsAreCaught(t *testing.T) {
	if !*mutants {
		t.Log("only with -mutants, as make crash runs it")
		return
	}
	t.Run("none", func(t *testing.T) {
		c := newCampaign(t, program(t, "failpoint"), chance())
		for range mostRounds {
			for _, w := range wrong {
				r := w.aim()
				report(t, r.name, c.fight(r))
			}
		}
		report(t, "the end", c.finish())
		t.Log("the program as it is: " + c.summary())
	})
	for _, w := range wrong {
		t.Run(strings.TrimSuffix(w.patch, ".patch"), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "firstcopy")
			build(t, mutant(t, w.patch), "failpoint", path)
			c := newCampaign(t, path, chance())
			r := w.aim()
			for n := 1; n <= mostRounds; n++ {
				if found := c.fight(r); len(found) > 0 {
					t.Logf("caught after %d rounds of %q: %s", n, r.name, checks(found))
					t.Logf("such as: %s", found[0])
					return
				}
			}
			t.Errorf("not caught by %d rounds of %q", mostRounds, r.name)
		})
	}
}

// checks lists the checks that found something.
func checks(found []violation) string {
	var names []string
	seen := map[string]bool{}
	for _, v := range found {
		if !seen[v.check] {
			seen[v.check] = true
			names = append(names, v.check)
		}
	}
	return strings.Join(names, "; ")
}
