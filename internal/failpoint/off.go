//go:build !failpoint

package failpoint

// Hit does nothing in an ordinary build.
func Hit(string) {}
