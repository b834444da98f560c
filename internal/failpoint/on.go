//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

var plan = struct {
	sync.Mutex
	name  string
	left  int
	pid   int
	trace string
	seen  map[string]bool
}{seen: map[string]bool{}}

func init() {
	plan.trace = os.Getenv("FIRSTCOPY_FAILPOINT_TRACE")
	spec := os.Getenv("FIRSTCOPY_FAILPOINT")
	if spec == "" {
		return
	}
	parts := strings.Split(spec, "@")
	n, err := strconv.Atoi(parts[min(1, len(parts)-1)])
	if err != nil || len(parts) > 3 {
		panic(fmt.Sprintf("failpoint: FIRSTCOPY_FAILPOINT=%q is not name@n or name@n@pid", spec))
	}
	plan.name, plan.left = parts[0], n
	if len(parts) == 3 {
		if plan.pid, err = strconv.Atoi(parts[2]); err != nil {
			panic(fmt.Sprintf("failpoint: %q is not a process id", parts[2]))
		}
	}
}

// Hit dies, or kills the database, if the plan says so for this hit of the named point.
func Hit(name string) {
	plan.Lock()
	defer plan.Unlock()
	if plan.trace != "" && !plan.seen[name] {
		plan.seen[name] = true
		note(name)
	}
	if name != plan.name || plan.left == 0 {
		return
	}
	if plan.left--; plan.left > 0 {
		return
	}
	if plan.pid != 0 {
		_ = syscall.Kill(plan.pid, syscall.SIGQUIT)
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // SIGKILL is on its way; take not one more step
}

func note(name string) {
	f, err := os.OpenFile(plan.trace, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, name)
}
