package dedup_test

import (
	"context"
	"fmt"
	"os"
	command "os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/dedup/interchange"
	"firstcopy/internal/localpg"
	"firstcopy/internal/pgtest"
	"firstcopy/migrations"
)

// BenchmarkRegister compares registering one reference with its event, in a transaction of its own, with a bare INSERT …
// ON CONFLICT of the same row, in turns on the same durable server. pgbench drives both for x-pgbench; x-pgbench-go is
// Register called from Go, whose client takes more of the processor that the server shares with it.
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
	exec(b, pool, `CREATE TABLE bare (LIKE dedup_key INCLUDING ALL)`)
	// Keys are ordered by time, as those of a gateway are.
	const key = `encode(int8send((extract(epoch from clock_timestamp()) * 1e6)::bigint) || substr(uuid_send(gen_random_uuid()), 1, 8), 'hex')::uuid`
	bare := script(b, `INSERT INTO bare VALUES (gen_random_uuid()::text, 1, 'edifact', '4012345000009', '', '5412345000013', '', '{INVOIC}', false, '',
		`+key+`, 1, sha256('x'), sha256('x'), 1, gen_random_uuid(), now(), now() + interval '14 days') ON CONFLICT DO NOTHING;`)
	for _, clients := range []int{8, 32} {
		for _, kind := range []struct{ name, control, seen, lineage string }{
			{"new", "gen_random_uuid()::text", "false", "NULL"},
			{"hot duplicate", "'HOT'", "true", "NULL"},
			{"numbered", "gen_random_uuid()::text", "false", `jsonb_build_object('documents', jsonb_build_array(jsonb_build_object('number',
				gen_random_uuid(), 'family', 'INVOIC', 'revision', '', 'date', '20261201', 'effect', 'new', 'function', '9', 'digest',
				repeat('ab', 32), 'place', 1)), 'plain', true, 'others', 0, 'sent', '202612011015', 'stale', 'held', 'same', 'accepted')`},
		} {
			ours := script(b, `SELECT ledger_decide(1, '01a23169-b99f-7781-95aa-4ade402e61c0', 'n', 'held', 1::smallint, '{}', `+kind.control+`,
				'edifact', '4012345000009', '', '5412345000013', '', '{INVOIC}', false, '', sha256('x'), sha256('x'),
				`+key+`, gen_random_uuid(), gen_random_uuid(), interval '14 days', `+kind.seen+`, `+kind.lineage+`);`)
			b.Run(fmt.Sprintf("%s/clients=%d", kind.name, clients), func(b *testing.B) {
				for range b.N {
					var rates [3]float64
					for range 3 {
						rates[0] += pgbench(b, url, bare, clients)
						rates[1] += pgbench(b, url, ours, clients)
						rates[2] += registerFor(b, pool, clients, kind.name, 3*time.Second)
					}
					b.ReportMetric(rates[0]/3, "bare/s")
					b.ReportMetric(rates[1]/3, "registered/s")
					b.ReportMetric(rates[1]/rates[0], "x-pgbench")
					b.ReportMetric(rates[2]/rates[0], "x-pgbench-go")
					b.ReportMetric(0, "ns/op")
				}
			})
		}
	}
}

// script writes a pgbench script of one statement.
func script(b *testing.B, sql string) string {
	b.Helper()
	f, err := os.CreateTemp(b.TempDir(), "*.sql")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join(strings.Fields(sql), " ")); err != nil {
		b.Fatal(err)
	}
	return f.Name()
}

var sequence atomic.Int64

// registerFor registers with so many clients for so long and returns the rate.
func registerFor(tb testing.TB, pool *pgxpool.Pool, clients int, kind string, d time.Duration) float64 {
	var done atomic.Int64
	var wait sync.WaitGroup
	start := time.Now()
	for range clients {
		wait.Go(func() {
			for time.Since(start) < d {
				control := "HOT"
				if kind != "hot duplicate" {
					control = strconv.FormatInt(sequence.Add(1)*2654435761%1e12, 10)
				}
				r := registration(1, entry(reference(control), "x", "x", fortnight))
				r.Entries[0].Seen = kind == "hot duplicate"
				if kind == "numbered" {
					r.Entries[0].Messages = []interchange.Message{{Type: "INVOIC", Number: control, Date: "20261201", Function: "9", Effect: interchange.New}}
				}
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
