package gateway

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"firstcopy/as2"
	"firstcopy/dedup/interchange"
)

const followed = "UNA:+.? '\r\nUNB+UNOC:3+A+B+261201:1200+R1'\r\nUNH+1+INVOIC:D:96A:UN'\r\nBGM+380+1+9'\r\nUNT+3+1'\r\nUNZ+1+R1'\r\n" +
	"ISA*00*          *00*          *ZZ*A              *ZZ*B              *261201*1200*U*00401*000000007*0*P*>~IEA*0*000000007~\r\n"

// What is scanned while it arrives is what would be found afterwards, for a payload in memory and one that moves to a file.
func TestScanWhileWriting(t *testing.T) {
	t.Parallel()
	for _, memory := range []int{0, 100, 1 << 20} {
		payload := strings.Repeat(followed, 50)
		spool := NewSpool(t.TempDir(), memory, 1<<30)
		ahead := scanEarly(spool)
		for rest := payload; rest != ""; {
			n := min(len(rest), 777)
			if _, err := spool.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		want, err := interchange.Scan(strings.NewReader(payload))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := scan(spool, []as2.Attachment{{Start: 0, End: spool.Size()}}, ahead)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d octets in memory: %d interchanges, %v; want %d", memory, len(got), err, len(want))
		}
		if begun := ahead.follower != nil; begun != (memory < len(payload)) {
			t.Errorf("%d octets in memory: scanned early: %v", memory, begun)
		}
		ahead.stop()
		if err := spool.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A payload that is given up ends the scan, which may be waiting for more of it.
func TestScanOfWhatIsGivenUp(t *testing.T) {
	t.Parallel()
	spool := NewSpool(t.TempDir(), 0, 1<<30)
	ahead := scanEarly(spool)
	if _, err := io.WriteString(spool, followed[:100]); err != nil {
		t.Fatal(err)
	}
	ahead.stop()
	if _, known, err := ahead.result(); !known || !errors.Is(err, errNotNeeded) {
		t.Errorf("%v, %v", known, err)
	}
	if err := spool.Close(); err != nil {
		t.Error(err)
	}
}
