//go:build failpoint

package crashtest_test

import (
	"fmt"
	"regexp"
	"strings"
)

var contrl = regexp.MustCompile(`'UCI\+([^+]+)\+[^']*\+7'UNT\+3\+1'UNZ\+1\+([0-9]+)'$`)

// acknowledged compares what the partner's own station got with what its messages asked for: every interchange that asked
// for a CONTRL and was taken has one, however often it came the same octets, and no control number stands for two.
func (c *campaign) acknowledged() []violation {
	var found []violation
	octets, references := map[string]string{}, map[string]string{}
	for _, p := range c.station.Payloads() {
		m := contrl.FindStringSubmatch(string(p))
		if m == nil {
			found = append(found, violation{"acknowledgements are as they should be", string(p)})
			continue
		}
		reference, number := m[1], m[2]
		if other, twice := octets[reference]; twice && other != string(p) {
			found = append(found, violation{"every copy is answered with the same octets", fmt.Sprintf("%q and %q", other, p)})
		}
		octets[reference] = string(p)
		if other, twice := references[number]; twice && other != reference {
			found = append(found, violation{"a control number is never repeated", fmt.Sprintf("%s for %s and %s", number, other, reference)})
		}
		references[number] = reference
	}
	for _, p := range c.traffic.promises.since(0) {
		for _, sum := range p.interchanges {
			name, _ := c.traffic.name(sum)
			reference := name[strings.LastIndexByte(name, '+')+1:]
			if strings.HasPrefix(reference, asks) && octets[reference] == "" {
				found = append(found, violation{"what asked for an acknowledgement gets one", reference + ", of " + p.message})
			}
		}
	}
	if len(octets) == 0 {
		found = append(found, violation{"what asked for an acknowledgement gets one", "not a single one arrived"})
	}
	return found
}
