//go:build failpoint

package crashtest_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	rounds  = flag.Int("rounds", 1, "how often every kind of death comes about")
	seed    = flag.Uint64("seed", 0, "of the choices made by chance; 0 takes another one each time")
	mutants = flag.Bool("mutants", false, "also see whether programs that are wrong on purpose are caught")
)

// chance is the seed of this run.
func chance() uint64 {
	if *seed != 0 {
		return *seed
	}
	return uint64(time.Now().UnixNano())
}

// Whatever dies, and whenever: nothing acknowledged is lost, nothing is forwarded twice, and no receipt is without its
// line in the account.
func TestCrash(t *testing.T) {
	t.Parallel()
	c := newCampaign(t, program(t, "failpoint"), chance())
	points := marked(t)
	c.reach(points)
	deaths := []round{answerIsLost(), answerIsLost(), gatewayDies(), databaseDies()}
	for _, p := range points {
		deaths = append(deaths, gatewayDiesAt(p), databaseDiesAt(p))
	}
	for range *rounds {
		c.random.Shuffle(len(deaths), func(i, j int) { deaths[i], deaths[j] = deaths[j], deaths[i] })
		for _, r := range deaths {
			start := time.Now()
			if found := c.fight(r); len(found) > 0 {
				report(t, r.name, found)
				return
			}
			t.Logf("%s (%s)", r.name, time.Since(start).Round(time.Millisecond))
		}
	}
	report(t, "the end", c.finish())
	t.Log(c.summary())
}

// report fails the test with what was found, as far as anybody will read it.
func report(t *testing.T, when string, found []violation) {
	t.Helper()
	const most = 20
	for i, v := range found {
		if i == most {
			t.Errorf("… and %d more", len(found)-most)
			return
		}
		t.Errorf("after %q: %s", when, v)
	}
}

var hit = regexp.MustCompile(`failpoint\.Hit\("([^"]+)"\)`)

// marked are the points that the program's source marks, those of SFTP apart, which have a test of their own.
func marked(t *testing.T) []string {
	t.Helper()
	points := slices.DeleteFunc(pointsBelow(t, "gateway"), func(p string) bool { return strings.HasPrefix(p, "sftp.") })
	const least = 20 // what there were when this was written; fewer means that the proof has become thinner
	if len(points) < least {
		t.Fatalf("the source marks %d points, fewer than %d: %q", len(points), least, points)
	}
	return points
}

// pointsBelow are those in some folders of the source.
func pointsBelow(t *testing.T, folders ...string) []string {
	t.Helper()
	var points []string
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(moduleRoot, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, m := range hit.FindAllSubmatch(source, -1) {
				points = append(points, string(m[1]))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(points)
	return slices.Compact(points)
}

// reach runs the gateway undisturbed until the traffic has led it through every point: one that is never reached would
// make its rounds meaningless.
func (c *campaign) reach(points []string) {
	c.tb.Helper()
	c.revive()
	var missing []string
	defer func() {
		if c.tb.Failed() {
			c.tb.Logf("not reached: %q", missing)
		}
	}()
	c.await("the traffic to reach every point", func() bool {
		reached, err := os.ReadFile(c.trace())
		if err != nil && !os.IsNotExist(err) {
			c.tb.Fatal(err)
		}
		missing = slices.DeleteFunc(slices.Clone(points), func(p string) bool {
			return slices.Contains(strings.Fields(string(reached)), p)
		})
		return len(missing) == 0
	})
}
