package functional_test

import (
	"fmt"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
	"firstcopy/mdn/functional"

	"pgregory.net/rapid"
)

// A dialect is how a sender writes EDIFACT.
type dialect struct {
	una     string // component, element, decimal mark, release, repetition, terminator; "" for the default
	version string
	wrap    int // columns; 0 for none
}

var dialects = rapid.Custom(func(t *rapid.T) dialect {
	return dialect{
		una:     rapid.SampledFrom([]string{"", ":+.? '", ":+,?*'", ";*,! ~", "|^.\\%$", ":+.? \n"}).Draw(t, "una"),
		version: rapid.SampledFrom([]string{"1", "2", "3", "4"}).Draw(t, "version"),
		wrap:    rapid.SampledFrom([]int{0, 0, 35, 80}).Draw(t, "wrap"),
	}
})

// write joins values, marked by + and : between tokens, as the dialect has it.
func (d dialect) write(segments [][][]string) string {
	una := d.una
	if una == "" {
		una = ":+.? '"
		if d.version >= "4" {
			una = ":+.?*'"
		}
	}
	var b strings.Builder
	for _, s := range segments {
		for i, element := range s {
			if i > 0 {
				b.WriteByte(una[1])
			}
			for j, component := range element {
				if j > 0 {
					b.WriteByte(una[0])
				}
				for _, c := range []byte(component) {
					if strings.IndexByte(una[:2]+una[3:], c) >= 0 && c != ' ' {
						b.WriteByte(una[3])
					}
					b.WriteByte(c)
				}
			}
		}
		b.WriteByte(una[5])
	}
	body := b.String()
	if d.wrap > 0 && una[5] != '\n' {
		var wrapped strings.Builder
		for ; len(body) > d.wrap; body = body[d.wrap:] {
			wrapped.WriteString(body[:d.wrap] + "\r\n")
		}
		body = wrapped.String() + body
	}
	if d.una != "" {
		return "UNA" + d.una + body
	}
	return body
}

// values hold what needs a release somewhere.
var (
	value     = rapid.StringMatching(`[A-Z0-9?+:'*!~^$|;,.%\\ÄéÐ-][A-Z0-9 ?+:'*!~^$|;,.%\\ÄéÐ-]{0,9}[A-Z0-9?+:'*]`)
	qualifier = rapid.SampledFrom([]string{"", "14", "ZZ", "ZZZ"})
)

func one(s string) []string { return []string{s} }

// TestContrlOfAny: whatever the values, the service characters and the faults
// of an interchange, its CONTRL is read without a complaint, goes back to the
// sender, and is an acknowledgement.
func TestContrlOfAny(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := dialects.Draw(t, "dialect")
		control, sender, recipient := value.Draw(t, "control"), value.Draw(t, "sender"), value.Draw(t, "recipient")
		ref := func(of string) string { // in trailers, now and then another one
			return of + rapid.SampledFrom([]string{"", "", "", "X"}).Draw(t, "wrong reference")
		}
		count := func(n int) []string {
			return one(fmt.Sprint(n + rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "wrong count")))
		}
		s := [][][]string{{one("UNB"), {"UNOC", d.version}, {sender, qualifier.Draw(t, "qualifier"), value.Draw(t, "route")},
			{recipient, qualifier.Draw(t, "qualifier")}, {"261201", "1015"}, one(control), {}, {}, {}, one(rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "0031"))}}
		grouped := rapid.Bool().Draw(t, "groups")
		parts := rapid.IntRange(1, 3).Draw(t, "parts")
		for p := range parts {
			n := 1
			group := fmt.Sprint("G", p)
			if grouped {
				n = rapid.IntRange(0, 3).Draw(t, "messages")
				s = append(s, [][]string{one("UNG"), one("ORDERS"), {value.Draw(t, "S006"), "1"}, {value.Draw(t, "S007")}, {"261201", "1015"}, one(group)})
			}
			for range n {
				id := rapid.SampledFrom([]string{"1", "2", "A+B", "'"}).Draw(t, "0062")
				s = append(s, [][]string{one("UNH"), one(id), {"ORDERS", "D", "96A", "UN", value.Draw(t, "0057")[:2]}}, [][]string{one("BGM"), one("220"), one("1"), one("9")})
				if rapid.IntRange(0, 9).Draw(t, "no UNT") > 0 {
					s = append(s, [][]string{one("UNT"), count(3), one(ref(id))})
				}
			}
			if grouped {
				s = append(s, [][]string{one("UNE"), count(n), one(ref(group))})
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "no UNZ") > 0 {
			s = append(s, [][]string{one("UNZ"), count(parts), one(ref(control))})
		}
		payload := d.write(s)
		x := scanned(t, payload)
		drift := rapid.Bool().Draw(t, "drift")
		number := rapid.Int64Range(1, functional.MaxNumber(functional.CONTRL)).Draw(t, "number")
		a, err := functional.Compose(x, functional.CONTRL, functional.Options{Numbers: []int64{number}, At: at, Drift: drift})
		if err != nil {
			t.Fatalf("%q: %v", payload, err)
		}
		readBack(t, a, "CONTRL")
		if back := scanned(t, string(a.Octets)); back.Sender != text(recipient) || back.Recipient != text(sender) {
			t.Fatalf("%q\nof %q", a.Octets, payload)
		}
		positive := a.Outcome == functional.Accepted || a.Outcome == functional.Received && x.Faults == 0
		if wrong := drift || faulty(x); positive == wrong && !(x.ReceiptOnly && positive) {
			t.Fatalf("%q\nis %s:\n%s", payload, a.Outcome, a.Octets)
		}
	})
}

// faulty tells whether there is a fault on any level.
func faulty(x *interchange.Interchange) bool {
	all := x.Faults
	for i := range x.Groups {
		all |= x.Groups[i].Faults
	}
	for i := range x.Messages {
		all |= x.Messages[i].Faults
	}
	return all != 0
}

func text(s string) string { return interchange.Text([]byte(s)) }

// TestX12AcknowledgementOfAny is TestContrlOfAny for TA1, 997 and 999.
func TestX12AcknowledgementOfAny(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		separators := rapid.SampledFrom([]string{"*>~", "|:\n", "^<\x1C", "\x1D\x1F\x1C", "!%'"}).Draw(t, "separators")
		id := rapid.StringMatching(`[A-Z0-9@#][A-Z0-9 @#*~:^>|]{0,12}[A-Z0-9]`).Filter(func(s string) bool { return !strings.ContainsAny(s, separators) })
		sender, recipient := id.Draw(t, "sender"), id.Draw(t, "recipient")
		version := rapid.SampledFrom([]string{"00200", "00401", "00501"}).Draw(t, "version")
		release := map[string]string{"00200": "002040", "00401": "004010VICS", "00501": "005010X222A1"}[version]
		number := rapid.IntRange(1, 999_999_999).Draw(t, "number")
		wrong := func(n int) int { return n + rapid.SampledFrom([]int{0, 0, 0, 0, 1}).Draw(t, "wrong") }
		lines := []string{fmt.Sprintf("ISA*00*          *00*          *ZZ*%-15s*14*%-15s*261201*1015*U*%s*%09d*1*%s*>", sender, recipient, version, number,
			rapid.SampledFrom([]string{"P", "T", "I"}).Draw(t, "usage"))}
		groups := rapid.IntRange(0, 3).Draw(t, "groups")
		for g := range groups {
			n := rapid.IntRange(0, 3).Draw(t, "sets")
			lines = append(lines, fmt.Sprintf("GS*PO*%s*HUB*20261201*1015*%d*X*%s", rapid.SampledFrom([]string{"A", "B"}).Draw(t, "GS02"), g+1, release))
			for range n {
				st := rapid.SampledFrom([]string{"0001", "0002", "1", "ABC9"}).Draw(t, "ST02")
				lines = append(lines, "ST*850*"+st, "BEG*00*SA*1**20261201", fmt.Sprintf("SE*%d*%s", wrong(3), st))
			}
			if rapid.IntRange(0, 9).Draw(t, "no GE") > 0 {
				lines = append(lines, fmt.Sprintf("GE*%d*%d", wrong(n), wrong(g+1)))
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "no IEA") > 0 {
			lines = append(lines, fmt.Sprintf("IEA*%d*%09d", wrong(groups), number))
		}
		// The separators are put in last: identities may hold the usual ones.
		payload := ""
		for i, line := range lines {
			if i == 0 {
				line = strings.NewReplacer(sender, "\x00", recipient, "\x01").Replace(line)
			}
			line = strings.NewReplacer("*", separators[:1], ">", separators[1:2]).Replace(line)
			payload += strings.NewReplacer("\x00", sender, "\x01", recipient).Replace(line) + separators[2:]
		}
		x := scanned(t, payload)
		for _, kind := range functional.Due(x, functional.Terms{TA1: functional.Always, Groups: rapid.SampledFrom([]functional.Kind{"997", "999"}).Draw(t, "kind")}, false) {
			a := compose(t, x, kind, rapid.Bool().Draw(t, "drift"))
			readBack(t, a, string(map[functional.Kind]string{functional.TA1: "TA1", "997": "997", "999": "999"}[kind]))
			back := scanned(t, string(a.Octets))
			if back.Sender != text(recipient) || back.Recipient != text(sender) || back.SenderQualifier != "14" || back.Test != x.Test {
				t.Fatalf("%q\nof %q", a.Octets, payload)
			}
		}
	})
}

// FuzzCompose: no interchange of any payload is answered with anything but one
// acknowledgement that reads without a complaint.
func FuzzCompose(f *testing.F) {
	for _, seed := range []string{order, sets, contrl + "7'UNT+3+1'UNZ+1+41'", isa + "TA1*000004711*261201*1015*A*000~IEA*0*000000041~",
		strings.Replace(order, "UNT+3+2", "UNT+4+7", 1), "UNA;*,!@~UNB*UNOC;4*A?+:'B;14*C!;D;ZZ*261201;1015*R!~1!!*****1~UNZ*0*R!~1!!~",
		strings.ReplaceAll(sets, "~", "\r\n"), strings.Replace(sets, "GE*2", "GE*3", 1), "UNB+UNOB:1+A\\+B+1+1+\xFF'UNG+A'UNH+'UNT'UNZ+1+\xFF'"} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, payload string, drift bool) {
		found, err := interchange.Scan(strings.NewReader(payload))
		if err != nil {
			t.Fatal(err)
		}
		terms := functional.Terms{CONTRL: functional.Always, TA1: functional.Always, Groups: functional.FunctionalAcknowledgement, RejectDrift: true}
		for i := range found {
			x := &found[i]
			due := functional.Due(x, terms, drift)
			if terms.Groups = functional.Implementation; !drift {
				due = append(due, functional.Due(x, terms, false)...)
			}
			for _, kind := range due {
				numbers := make([]int64, functional.Numbers(x, kind))
				for n := range numbers {
					numbers[n] = int64(n + 1)
				}
				a, err := functional.Compose(x, kind, functional.Options{Numbers: numbers, At: at, Drift: drift})
				if err == nil {
					readBack(t, a, map[functional.Kind]string{functional.CONTRL: "CONTRL", functional.TA1: "TA1", "997": "997", "999": "999"}[kind])
				}
			}
		}
	})
}
