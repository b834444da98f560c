package difference

// A differ marks what of a is gone and what of b is new.
type differ struct {
	a, b      []int
	gone, new []bool
	forth     []int // furthest points on the diagonals, from the beginning
	back      []int // and from the end
}

// compare marks the pieces a[a0:a1] and b[b0:b1].
func (d *differ) compare(a0, a1, b0, b1 int) {
	for a0 < a1 && b0 < b1 && d.a[a0] == d.b[b0] {
		a0++
		b0++
	}
	for a0 < a1 && b0 < b1 && d.a[a1-1] == d.b[b1-1] {
		a1--
		b1--
	}
	if a0 < a1 && b0 < b1 {
		if x, y, ok := d.middle(d.a[a0:a1], d.b[b0:b1]); ok {
			d.compare(a0, a0+x, b0, b0+y)
			d.compare(a0+x, a1, b0+y, b1)
			return
		}
	}
	for i := a0; i < a1; i++ {
		d.gone[i] = true
	}
	for j := b0; j < b1; j++ {
		d.new[j] = true
	}
}

// middle finds a point that a shortest script passes, where the search from the
// beginning meets the one from the end; false if that takes too many edits.
func (d *differ) middle(a, b []int) (x, y int, ok bool) {
	limit := min((len(a)+len(b)+1)/2, maxCost)
	centre := limit + 1
	d.forth, d.back = fresh(d.forth, 2*centre+1), fresh(d.back, 2*centre+1)
	d.forth[centre+1], d.back[centre+1] = 0, 0
	delta := len(a) - len(b)
	for cost := range limit + 1 {
		for k := -cost; k <= cost; k += 2 {
			x, y, ok := advance(d.forth, centre, k, cost, len(a), len(b))
			if !ok {
				continue
			}
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x++
				y++
			}
			d.forth[centre+k] = x
			if other := delta - k; delta&1 != 0 && abs(other) < cost && d.back[centre+other] >= 0 && x+d.back[centre+other] >= len(a) {
				return x, y, true
			}
		}
		for k := -cost; k <= cost; k += 2 {
			x, y, ok := advance(d.back, centre, k, cost, len(a), len(b))
			if !ok {
				continue
			}
			for x < len(a) && y < len(b) && a[len(a)-1-x] == b[len(b)-1-y] {
				x++
				y++
			}
			d.back[centre+k] = x
			if other := delta - k; delta&1 == 0 && abs(other) <= cost && d.forth[centre+other] >= 0 && x+d.forth[centre+other] >= len(a) {
				return len(a) - x, len(b) - y, true
			}
		}
	}
	return 0, 0, false
}

// advance takes one more edit onto diagonal k, where x-y is k, from whichever
// neighbour leads further inside of both contents.
func advance(furthest []int, centre, k, cost, n, m int) (x, y int, ok bool) {
	x = -1
	if down := furthest[centre+k+1]; k < cost && down >= 0 && down-k <= m || cost == 0 {
		x = down
	}
	if right := furthest[centre+k-1]; k > -cost && right >= 0 && right < n && right+1 > x {
		x = right + 1
	}
	if x < 0 {
		furthest[centre+k] = -1
		return 0, 0, false
	}
	return x, x - k, true
}

// fresh is a slice of n diagonals that nobody has reached.
func fresh(s []int, n int) []int {
	if cap(s) < n {
		s = make([]int, n)
	}
	s = s[:n]
	for i := range s {
		s[i] = -1
	}
	return s
}

func abs(n int) int { return max(n, -n) }
