// Package difference shows where two interchanges differ, segment by segment,
// or line by line where a content has no segments. It is for people who have to
// decide about a content: it says what a service character, a release or a line
// break does not change, and nothing of what the difference means.
//
// It finds a shortest script by Myers' algorithm ("An O(ND) Difference Algorithm
// and Its Variations", 1986) in linear space. Contents that differ all over are
// cut short: beyond a bound of work what is left is shown as replaced whole.
package difference

// Op is what happens to a unit on the way from the one content to the other.
type Op string

// The operations.
const (
	Keep   Op = " "
	Delete Op = "-"
	Insert Op = "+"
)

// An Edit is one unit of the one content, or of both.
type Edit struct {
	Op   Op     `json:"op"`
	At   int    `json:"at"`   // its place in the content it is of, from 1; in the new one if it is in both
	Text string `json:"text"` // as written, without line breaks, fit for a screen
}

// maxCost bounds how many edits are looked for in one piece of a content.
const maxCost = 1 << 11

// Between returns the whole of both contents as edits.
func Between(before, after []Unit) []Edit {
	d := differ{gone: make([]bool, len(before)), new: make([]bool, len(after))}
	d.a, d.b = number(before, after)
	d.compare(0, len(d.a), 0, len(d.b))
	edits := make([]Edit, 0, max(len(before), len(after)))
	for i, j := 0, 0; i < len(before) || j < len(after); {
		switch {
		case i < len(before) && d.gone[i]:
			edits = append(edits, Edit{Delete, i + 1, before[i].Text})
			i++
		case j < len(after) && d.new[j]:
			edits = append(edits, Edit{Insert, j + 1, after[j].Text})
			j++
		default:
			edits = append(edits, Edit{Keep, j + 1, after[j].Text})
			i++
			j++
		}
	}
	return edits
}

// Hunks cuts edits down to those that change something, each with so many kept
// units around it.
func Hunks(edits []Edit, around int) [][]Edit {
	var hunks [][]Edit
	last := -1 // end of the hunk that is being gathered
	start := 0
	for i, e := range edits {
		if e.Op == Keep {
			continue
		}
		from := max(0, i-around)
		if last < 0 || from > last {
			if last >= 0 {
				hunks = append(hunks, edits[start:last])
			}
			start = from
		}
		last = min(len(edits), i+1+around)
	}
	if last >= 0 {
		hunks = append(hunks, edits[start:last])
	}
	return hunks
}

// number gives equal units equal numbers, which are quicker to compare.
func number(before, after []Unit) (a, b []int) {
	numbers := map[string]int{}
	of := func(units []Unit) []int {
		list := make([]int, len(units))
		for i := range units {
			n, ok := numbers[units[i].key]
			if !ok {
				n = len(numbers)
				numbers[units[i].key] = n
			}
			list[i] = n
		}
		return list
	}
	return of(before), of(after)
}
