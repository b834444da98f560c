//go:build failpoint

package crashtest_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"firstcopy/internal/as2test"
	"firstcopy/internal/sftptest"
)

// dropper is the partners' side of SFTP: each puts files, and puts them again as an overlapping job would, under the same
// name and under others, alone and together with new ones.
type dropper struct {
	server   *sftptest.OpenSSH
	stopping chan struct{}
	once     sync.Once
	wait     sync.WaitGroup
	puts     atomic.Int64

	mu      sync.Mutex
	content map[[32]byte]string // every interchange ever put: hash of its octets, and what it is
}

func startDropper(server *sftptest.OpenSSH, seed uint64) *dropper {
	d := &dropper{server: server, stopping: make(chan struct{}), content: map[[32]byte]string{}}
	for i := range sftpPartners {
		d.wait.Go(func() { d.drop(fmt.Sprintf("p%d", i), rand.New(rand.NewPCG(seed, uint64(100+i)))) })
	}
	return d
}

func (d *dropper) stop() {
	d.once.Do(func() { close(d.stopping) })
	d.wait.Wait()
}

// drop is one partner's life.
func (d *dropper) drop(partner string, random *rand.Rand) {
	var recent []string // references
	var halves []half
	for n := 0; ; n++ {
		select {
		case <-d.stopping:
			for _, h := range halves {
				d.server.Append(h.path, h.rest)
			}
			return
		case <-time.After(time.Duration(20+random.IntN(120)) * time.Millisecond):
		}
		fresh := fmt.Sprintf("%s%07d", strings.ToUpper(partner), n)
		references := []string{fresh}
		name := fmt.Sprintf("%07d.edi", n)
		switch k := random.IntN(10); {
		case k < 3 && len(recent) > 0: // the same again, under its old name or another
			references = []string{recent[random.IntN(len(recent))]}
			if random.IntN(2) == 0 {
				name = references[0] + ".edi"
			}
		case k < 5 && len(recent) > 1: // known and new ones in one file
			references = append(references, recent[random.IntN(len(recent))])
		case k < 8: // everything that is not urgent has one name, which is used again as soon as it is free
			name = "daily.edi"
		default:
			name = fresh + ".edi"
		}
		if random.IntN(20) == 0 {
			halves = append(halves, d.putHalf(partner+"/in/"+fresh+".slow.edi", fresh))
			continue
		}
		d.put(partner+"/in/"+name, references)
		recent = latest(append(recent, fresh))
		if len(halves) > 0 && time.Since(halves[0].at) > 4*time.Second {
			d.server.Append(halves[0].path, halves[0].rest)
			halves = halves[1:]
		}
	}
}

// half is a file that is written so slowly that it looks finished before it is.
type half struct {
	path, rest string
	at         time.Time
}

func (d *dropper) putHalf(path, reference string) half {
	whole := as2test.Orders(reference)
	d.note(path, reference)
	d.server.Put(path, whole[:len(whole)/2])
	d.puts.Add(1)
	return half{path, whole[len(whole)/2:], time.Now()}
}

// put writes a file by careful partners' rules: whole, and never over another one.
func (d *dropper) put(path string, references []string) {
	if _, err := os.Stat(d.server.Path(path)); err == nil {
		return
	}
	d.note(path, references...)
	d.server.Put(path, as2test.Orders(references...))
	d.puts.Add(1)
}

// note remembers what is put.
func (d *dropper) note(path string, references ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range references {
		d.content[sha256.Sum256([]byte(as2test.Orders(r)))] = r + " in " + path
	}
}

func (d *dropper) name(sum [32]byte) (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name, ok := d.content[sum]
	return name, ok
}

func (d *dropper) all() map[[32]byte]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.content)
}

func (d *dropper) known() int { return len(d.all()) }
