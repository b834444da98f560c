package crashtest_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/internal/localpg"
	"firstcopy/internal/pgtest"
)

// BenchmarkGateway posts signed and encrypted messages of 10 KiB to the program and looks at what they cost its process:
// everything from the socket to the forwarded file. The figure to look at is x-rsa: CPU time per message by that of the
// two private-key operations it cannot do without, an RSA-2048 decryption and a signature, measured before and after.
// All cores are busy then as well as under the load: where two share their units, a busy one slows the other.
func BenchmarkGateway(b *testing.B) {
	server := pgtest.Server(b, localpg.Options{Fsync: true, Settings: map[string]string{"synchronous_commit": "on"}})
	database, err := server.EnsureDatabase(b.Context(), "bench")
	if err != nil {
		b.Fatal(err)
	}
	w := newWorld(b, program(b, ""), database)
	g := w.start("bench")
	w.sender.URL = g.url
	const clients, warm, counted = 4, 200, 1200
	messages := make([]as2client.Prepared, warm+counted)
	prepareAll(b, w.sender, messages)
	postAll(b, messages[:warm], clients)
	b.ResetTimer()
	for range b.N {
		rsaBefore := rsaTime(b)
		start, before, beforeDatabase := time.Now(), cpuTime(b, g.cmd.Process.Pid), databaseTime(b, database)
		postAll(b, messages[warm:], clients)
		took, spent := time.Since(start), cpuTime(b, g.cmd.Process.Pid)-before
		b.ReportMetric(float64((databaseTime(b, database)-beforeDatabase).Microseconds())/counted, "database-cpu-µs/message")
		per, private := spent/counted, (rsaBefore+rsaTime(b))/2
		b.ReportMetric(float64(per.Microseconds()), "cpu-µs/message")
		b.ReportMetric(float64(private.Microseconds()), "rsa-µs")
		b.ReportMetric(float64(per)/float64(private), "x-rsa")
		b.ReportMetric(counted/took.Seconds(), "messages/s")
		b.ReportMetric(0, "ns/op")
	}
	b.StopTimer()
	if err := g.stop(); err != nil {
		b.Error(err)
	}
}

// prepareAll builds a message of 10 KiB in each place, each with a reference of its own.
func prepareAll(b *testing.B, sender as2client.Partner, messages []as2client.Prepared) {
	filler := strings.Repeat("FTX+AAI+++goods are delivered in returnable packaging, see agreement'\r\n", 130)
	var wait sync.WaitGroup
	for worker := range 2 {
		wait.Go(func() {
			for i := worker; i < len(messages); i += 2 {
				invoice := strings.Replace(as2test.Invoice(fmt.Sprintf("B%012d", i), "1"), "LIN+1", filler+"LIN+1", 1)
				prepared, err := as2client.Prepare(sender, []byte(invoice), as2client.Options{})
				if err != nil {
					b.Error(err)
					return
				}
				messages[i] = prepared
			}
		})
	}
	wait.Wait()
}

func postAll(b *testing.B, messages []as2client.Prepared, clients int) {
	b.Helper()
	next := make(chan as2client.Prepared)
	client := as2client.Client{HTTP: as2client.NewHTTP(clients)}
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for m := range next {
				if answer, err := client.Post(context.Background(), m); err != nil || !answer.Positive() {
					b.Errorf("%v, %v", err, answer.Problems)
				}
			}
		})
	}
	for _, m := range messages {
		next <- m
	}
	close(next)
	wait.Wait()
}

// cpuTime is what a process and its ended children have used so far, user and system (proc(5), stat fields 14 to 17, in
// hundredths of seconds).
func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	ticks := 0
	for _, field := range fields[11:15] {
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// databaseTime is what the database server's processes have used, those of ended connections included.
func databaseTime(b *testing.B, url string) time.Duration {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(b.Context())
	var file string
	if err := conn.QueryRow(b.Context(), `SELECT pg_read_file('postmaster.pid')`).Scan(&file); err != nil {
		b.Fatal(err)
	}
	line, _, _ := strings.Cut(file, "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		b.Fatal(err)
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		b.Fatal(err)
	}
	total := cpuTime(b, pid)
	for _, child := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			total += cpuTime(b, pid)
		}
	}
	return total
}

// rsaTime is the CPU time of one RSA-2048 decryption and one signature.
func rsaTime(b *testing.B) time.Duration {
	b.Helper()
	key := as2test.Key(b, "hub").Private.(*rsa.PrivateKey)
	//lint:ignore SA1019 it is what AS2 encryption costs: RFC 4130 knows no other key transport
	sealed, err := rsa.EncryptPKCS1v15(rand.Reader, &key.PublicKey, make([]byte, 32))
	if err != nil {
		b.Fatal(err)
	}
	digest := sha256.Sum256(nil)
	const rounds = 300
	before := ownCPU(b)
	var wait sync.WaitGroup
	for range runtime.NumCPU() {
		wait.Go(func() {
			for range rounds {
				//lint:ignore SA1019 as above
				if _, err := rsa.DecryptPKCS1v15(nil, key, sealed); err != nil {
					b.Error(err)
				}
				if _, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:]); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
	return (ownCPU(b) - before) / time.Duration(rounds*runtime.NumCPU())
}

func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
