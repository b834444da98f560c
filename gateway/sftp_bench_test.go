package gateway_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firstcopy/gateway"
	"firstcopy/internal/as2test"
	"firstcopy/internal/sftptest"
	"firstcopy/partners"
)

// BenchmarkSFTPSmall takes 10,000 files of 4 KiB, from listing to committed and archived, beside OpenSSH's sftp that fetches
// the same over one connection.
func BenchmarkSFTPSmall(b *testing.B) {
	const files = 10000
	for _, roundTrip := range []time.Duration{0, 20 * time.Millisecond} {
		b.Run(fmt.Sprintf("rtt=%s", roundTrip), func(b *testing.B) {
			server := drops(b, sftptest.Options{})
			for i := range files {
				server.Append(fmt.Sprintf("in/%05d.edi", i), padded(fmt.Sprint(i), 4096))
			}
			address := server.Address
			if roundTrip > 0 { // without a delay, the line would cost whoever waits for each answer the most
				address = sftptest.StartDelay(b, address, roundTrip).Address
			}
			// Forwarding is not measured: it would go on behind the files' back, on the same cores.
			hub := as2test.Start(b, as2test.Options{Config: func(c *gateway.Config) { quick(c); c.Forward.Workers, c.Forward.Poll = 1, time.Minute }})
			for b.Loop() {
				// The other's rate is taken from a hundredth of the files where the line is long: it takes them one by one.
				part, pattern := files, "*"
				if roundTrip > 0 {
					part, pattern = files/100, "001*"
				}
				theirs := fetchByCommand(b, server, address, pattern, part) * time.Duration(files/part)
				start := time.Now()
				dropsAt(b, hub, "acme", server, func(a *partners.Agreement) {
					a.SFTP = terms(b, address, server.User, server.KeyFile, server.HostKeys...)
					a.SFTP.Folders = partners.Folders{In: server.Path("in"), Archive: server.Path("archive")}
					a.Limits.Concurrent = 32
				})
				for look := time.NewTicker(50 * time.Millisecond); len(server.Names("in")) > 0; <-look.C {
				}
				report(b, theirs, time.Since(start))
			}
		})
	}
}

// padded is an order of about a size.
func padded(reference string, size int) string {
	text := order(reference)
	line := "FTX+AAI+++" + strings.Repeat("X", 100) + "'"
	n := (size - len(text)) / len(line)
	text = strings.Replace(text, "UNS+S'", strings.Repeat(line, n)+"UNS+S'", 1)
	return strings.Replace(text, "UNT+5+", fmt.Sprintf("UNT+%d+", 5+n), 1)
}

func fetchByCommand(b *testing.B, server *sftptest.OpenSSH, address, pattern string, files int) time.Duration {
	b.Helper()
	target := b.TempDir()
	batch := filepath.Join(b.TempDir(), "batch")
	if err := os.WriteFile(batch, []byte("get "+server.Path("in")+"/"+pattern+" "+target+"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	port := address[strings.LastIndexByte(address, ':')+1:]
	arguments := server.Command("-q", "-b", batch, "-o", "Port="+port) // the first port counts
	start := time.Now()
	if out, err := exec.Command("sftp", arguments...).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	took := time.Since(start)
	entries, _ := os.ReadDir(target)
	if len(entries) != files {
		b.Fatalf("sftp fetched %d of %d files", len(entries), files)
	}
	return took
}

func report(b *testing.B, theirs, ours time.Duration) {
	b.ReportMetric(theirs.Seconds(), "s-sftp")
	b.ReportMetric(ours.Seconds(), "s-firstcopy")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "times-as-fast")
}
