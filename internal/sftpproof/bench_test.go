package sftpproof_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"firstcopy/internal/as2test"
	"firstcopy/internal/sftptest"
	"firstcopy/partners"
)

var roundTrips = []time.Duration{0, 20 * time.Millisecond}

// BenchmarkLarge takes one file of 1 GiB beside OpenSSH's sftp that fetches it over the same line. s-read is until its octets
// have come; s-committed also has them all in the database.
func BenchmarkLarge(b *testing.B) {
	const size = 1 << 30
	for _, roundTrip := range roundTrips {
		b.Run(fmt.Sprintf("rtt=%s", roundTrip), func(b *testing.B) {
			hub, s := startHub(b), startReal(b, sftptest.Options{})
			line := sftptest.StartDelay(b, s.Address, roundTrip)
			terms := openssh(s).with(patient)
			terms.address = line.Address
			var theirs, read, committed time.Duration
			var heap uint64
			n := 0
			for b.Loop() {
				n++
				writeLarge(b, s.Path("large"), fmt.Sprintf("L%d", n), size)
				theirs += fetch(b, s, line.Address, s.Path("large"))
				if err := os.Rename(s.Path("large"), s.Path("in/large.edi")); err != nil {
					b.Fatal(err)
				}
				passed := line.Passed()
				limited(b, hub, fmt.Sprintf("acme%d", n), terms)
				as2test.Eventually(b, "the transfer to begin", func() bool { return line.Passed() > passed+1<<20 })
				start := time.Now()
				for line.Passed() < passed+size {
					heap = max(heap, heapInUse())
					<-time.After(20 * time.Millisecond)
				}
				read += time.Since(start)
				for hub.Count(`SELECT count(*) FROM delivery`) < n {
					heap = max(heap, heapInUse())
					<-time.After(20 * time.Millisecond)
				}
				committed += time.Since(start)
			}
			b.ReportMetric(theirs.Seconds()/float64(n), "s-sftp")
			b.ReportMetric(read.Seconds()/float64(n), "s-read")
			b.ReportMetric(committed.Seconds()/float64(n), "s-committed")
			b.ReportMetric(theirs.Seconds()/read.Seconds(), "times-as-fast")
			b.ReportMetric(float64(heap)/(1<<20), "MiB-heap")
		})
	}
}

// patient terms do not give a long transfer up.
func patient(terms *partners.SFTP) {
	minutes := partners.Period(10 * time.Minute)
	terms.Timeouts = partners.Timeouts{Connect: minutes, Request: minutes, List: minutes, File: minutes}
}

// limited agrees as agree does, with room for large files.
func limited(b *testing.B, hub *as2test.Hub, name string, s server) {
	b.Helper()
	hub.Agree(name, func(a *partners.Agreement) {
		a.AS2, a.SFTP, a.Limits.Payload = partners.AS2{}, s.terms(b), 2<<30
	})
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// writeLarge writes an interchange of a size.
func writeLarge(b *testing.B, path, reference string, size int) {
	b.Helper()
	const text = "FTX+AAI+++nobody will ever read these words, which are here to fill a gibibyte'\r\n"
	count := size / len(text)
	whole := as2test.Invoice(reference, "100.00")
	head, tail, _ := strings.Cut(strings.Replace(whole, "UNT+8+", fmt.Sprintf("UNT+%d+", 8+count), 1), "LIN+1")
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriterSize(file, 1<<20)
	fmt.Fprint(out, head)
	for range count {
		fmt.Fprint(out, text)
	}
	fmt.Fprint(out, "LIN+1", tail)
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
}

// fetch has OpenSSH's client get one file.
func fetch(b *testing.B, s *sftptest.OpenSSH, address, path string) time.Duration {
	b.Helper()
	_, port, _ := strings.Cut(address, ":")
	cmd := exec.Command("sftp", s.Command("-q", "-b", "-", "-o", "Port="+port)...) // the first port counts
	cmd.Stdin = strings.NewReader("get " + path + " " + filepath.Join(b.TempDir(), "fetched") + "\n")
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("sftp: %v\n%s", err, out)
	}
	return time.Since(start)
}

// BenchmarkHugeFolder polls a folder of 100,000 files that are kept, and takes 100 new ones from it. s-poll is a poll without
// anything new, KiB-poll what it sends and gets; s-new is from putting the new files to the commit of the last, the two seconds
// included that kept files are let lie.
func BenchmarkHugeFolder(b *testing.B) {
	const kept, fresh = 99_900, 100
	for _, roundTrip := range roundTrips {
		b.Run(fmt.Sprintf("rtt=%s", roundTrip), func(b *testing.B) {
			hub, s := startHub(b), startReal(b, sftptest.Options{})
			line := sftptest.StartDelay(b, s.Address, roundTrip)
			terms := openssh(s).with(func(terms *partners.SFTP) {
				patient(terms)
				terms.After = partners.AfterKeep
			})
			terms.address = line.Address
			for i := range kept {
				if err := os.WriteFile(s.Path(fmt.Sprintf("in/%06d.edi", i)), []byte("taken long ago"), 0o644); err != nil {
					b.Fatal(err)
				}
			}
			agree(b, hub, "acme", terms)
			remember(b, hub, s)
			once(b, hub)
			n := 0
			var poll, taken time.Duration
			var octets int64
			for b.Loop() {
				once(b, hub) // or the first would be counted in part
				passed, start := line.Passed(), time.Now()
				once(b, hub)
				poll += time.Since(start)
				octets += line.Passed() - passed
				start = time.Now()
				for range fresh {
					n++
					s.Put(fmt.Sprintf("in/new%d.edi", n), invoice(n))
				}
				for hub.Count(`SELECT count(*) FROM delivery`) < n {
					<-time.After(20 * time.Millisecond)
				}
				taken += time.Since(start)
			}
			rounds := float64(n / fresh)
			b.ReportMetric(poll.Seconds()/rounds, "s-poll")
			b.ReportMetric(float64(octets)/1024/rounds, "KiB-poll")
			b.ReportMetric(taken.Seconds()/rounds, "s-new")
			b.ReportMetric(float64(heapInUse())/(1<<20), "MiB-heap")
		})
	}
}

// once waits until a poll has ended.
func once(b *testing.B, hub *as2test.Hub) {
	b.Helper()
	const last = `SELECT coalesce(max(last_poll_at), '-infinity')::text FROM sftp_poll`
	for before := hub.Strings(last)[0]; hub.Strings(last)[0] == before; {
		<-time.After(5 * time.Millisecond)
	}
}

// remember has the database know the files in the folder as taken.
func remember(b *testing.B, hub *as2test.Hub, s *sftptest.OpenSSH) {
	b.Helper()
	entries, err := os.ReadDir(s.Path("in"))
	if err != nil {
		b.Fatal(err)
	}
	names, dates := make([][]byte, len(entries)), make([]int64, len(entries))
	for i, e := range entries {
		info, err := e.Info()
		if err != nil {
			b.Fatal(err)
		}
		names[i], dates[i] = []byte(e.Name()), info.ModTime().Unix()
	}
	as2test.Eventually(b, "the partner to be known", func() bool { return hub.Count(`SELECT count(*) FROM sftp_poll`) == 1 })
	_, err = hub.Pool.Exec(b.Context(), `
		INSERT INTO sftp_file (partner_id, name, size, mtime, state, owner, fence, expires_at, delivery_id)
		SELECT p.partner_id, f.name, 14, f.mtime, 'kept', '', 0, now(), gen_random_uuid()
		FROM sftp_poll p, unnest($1::bytea[], $2::bigint[]) AS f (name, mtime)
		ON CONFLICT ON CONSTRAINT sftp_file_pkey DO UPDATE SET state = 'kept', delivery_id = excluded.delivery_id`, names, dates)
	if err != nil {
		b.Fatal(err)
	}
}
