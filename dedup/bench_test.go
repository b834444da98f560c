package dedup_test

import (
	"context"
	"fmt"
	"os"
	command "os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/internal/localpg"
	"firstcopy/internal/pgtest"
	"firstcopy/migrations"
)

// BenchmarkRegister compares registering one reference with its event, in a transaction of its own, with pgbench doing a
// bare single-row INSERT ON CONFLICT, in turns on the same durable server. The figure to look at is x-pgbench.
func BenchmarkRegister(b *testing.B) {
	server := pgtest.Server(b, localpg.Options{Fsync: true, Settings: map[string]string{"synchronous_commit": "on", "shared_buffers": "256MB", "max_wal_size": "4GB"}})
	url := server.URL("postgres")
	pool, err := pgxpool.New(context.Background(), url+"&pool_max_conns=40")
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	if err := migrations.Up(context.Background(), pool); err != nil {
		b.Fatal(err)
	}
	exec(b, pool, `CREATE TABLE bare (k text COLLATE "C" PRIMARY KEY, v bytea)`)
	script := filepath.Join(b.TempDir(), "bare.sql")
	if err := os.WriteFile(script, []byte(`INSERT INTO bare VALUES (gen_random_uuid()::text, '\x00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff') ON CONFLICT DO NOTHING;`), 0o644); err != nil {
		b.Fatal(err)
	}
	for _, clients := range []int{8, 32} {
		for _, kind := range []string{"new", "hot duplicate"} {
			b.Run(fmt.Sprintf("%s/clients=%d", kind, clients), func(b *testing.B) {
				var ours, bare float64
				for range b.N {
					const turns = 3
					for range turns {
						bare += pgbench(b, url, script, clients)
						ours += registerFor(b, pool, clients, kind == "hot duplicate", 3*time.Second)
					}
					ours, bare = ours/turns, bare/turns
				}
				b.ReportMetric(ours, "registered/s")
				b.ReportMetric(bare, "pgbench/s")
				b.ReportMetric(ours/bare, "x-pgbench")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

var sequence atomic.Int64

// registerFor registers with so many clients for so long and returns the rate.
func registerFor(tb testing.TB, pool *pgxpool.Pool, clients int, hot bool, d time.Duration) float64 {
	var done atomic.Int64
	var wait sync.WaitGroup
	start := time.Now()
	for range clients {
		wait.Go(func() {
			for time.Since(start) < d {
				control := "HOT"
				if !hot {
					control = strconv.FormatInt(sequence.Add(1)*2654435761%1e12, 10)
				}
				r := registration(1, entry(reference(control), "x", "x", fortnight))
				if _, err := r.Register(context.Background(), pool); err != nil {
					tb.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	wait.Wait()
	return float64(done.Load()) / time.Since(start).Seconds()
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

func pgbench(tb testing.TB, url, script string, clients int) float64 {
	out, err := command.Command("pgbench", "-n", "-f", script, "-c", strconv.Itoa(clients), "-j", "2", "-T", "3", "-M", "prepared", url).CombinedOutput()
	if err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	found := tps.FindSubmatch(out)
	if found == nil {
		tb.Fatalf("no rate in %s", out)
	}
	rate, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		tb.Fatal(err)
	}
	return rate
}
