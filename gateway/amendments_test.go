package gateway_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"firstcopy/dedup"
	"firstcopy/gateway/forward"
	"firstcopy/internal/as2test"
	"firstcopy/partners"
)

// verdicts are those of a hub so far, in order.
func verdicts(hub *as2test.Hub) []string {
	return hub.Strings(`SELECT kind FROM ledger_event WHERE kind IN ('first', 'duplicate', 'amendment', 'reuse', 'drift', 'stale') ORDER BY at, event_id`)
}

// texts are the FTX of a partner's forwarded documents, in any order.
func texts(hub *as2test.Hub, partner string) []string {
	var found []string
	for _, content := range hub.Forwarded(partner) {
		_, rest, _ := strings.Cut(content, "FTX+AAI+++")
		text, _, _ := strings.Cut(rest, "'")
		found = append(found, text)
	}
	slices.Sort(found)
	return found
}

func expect(t *testing.T, hub *as2test.Hub, wantVerdicts, wantForwarded string) {
	t.Helper()
	if got := strings.Join(verdicts(hub), " "); got != wantVerdicts {
		t.Errorf("verdicts %q, want %q", got, wantVerdicts)
	}
	if got := strings.Join(texts(hub, "acme"), " "); got != wantForwarded {
		t.Errorf("forwarded %q, want %q", got, wantForwarded)
	}
}

// sidecar is what stands beside the forwarded file with the given text.
func sidecar(t *testing.T, hub *as2test.Hub, text string) (d struct {
	ID      uuid.UUID     `json:"document_id"`
	Verdict string        `json:"verdict"`
	Lineage dedup.Lineage `json:"lineage"`
}) {
	t.Helper()
	hub.Forwarded("acme")
	dir := filepath.Join(hub.Inbox, "acme")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name(), ".json") || !strings.Contains(string(content), "+++"+text+"'") {
			continue
		}
		description, err := os.ReadFile(filepath.Join(dir, e.Name()+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(description, &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Fatalf("no forwarded file says %q", text)
	return d
}

// desk is an administrator's.
func desk(t *testing.T, hub *as2test.Hub) (*forward.Desk, forward.Document) {
	t.Helper()
	held, err := forward.InState(t.Context(), hub.Pool, forward.HeldState, 0, 10)
	if err != nil || len(held) != 1 {
		t.Fatalf("held: %v, %v; want one document", held, err)
	}
	d, err := forward.NewDesk(hub.Pool, 3, "test")
	if err != nil {
		t.Fatal(err)
	}
	return d, held[0]
}

// A verified gross mass is corrected twice: the same function each time, and both corrections count.
func TestGrossMassCorrectedTwice(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	vgm := as2test.Document{Reference: "V1", Type: "VERMAS", Number: "MSCU1234567", Function: "9", Date: "20261201", Text: "21400"}
	processed(t, as2test.Send(t, acme, vgm.String()))
	vgm.Reference, vgm.Function, vgm.Text, vgm.Date = "V2", "5", "21900", "20261202"
	processed(t, as2test.Send(t, acme, vgm.String()))
	vgm.Reference, vgm.Text, vgm.Date = "V3", "21350", "20261203" // lower, and yet newer
	processed(t, as2test.Send(t, acme, vgm.String()))
	expect(t, hub, "first amendment amendment", "21350 21400 21900")
	for text, before := range map[string]string{"21900": "21400", "21350": "21900"} {
		got := sidecar(t, hub, text)
		want := []dedup.Superseded{{Document: sidecar(t, hub, before).ID, Number: "MSCU1234567"}}
		if got.Verdict != "amendment" || !slices.Equal(got.Lineage.Supersedes, want) {
			t.Errorf("%s: %s of %v, want an amendment of %v", text, got.Verdict, got.Lineage.Supersedes, want)
		}
	}
	processed(t, as2test.Send(t, acme, vgm.String()))
	expect(t, hub, "first amendment amendment duplicate", "21350 21400 21900")
}

// A bill of lading is amended under the reference it came under, as some systems do, and under a new one.
func TestBillOfLadingAmended(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"IFTMIN", "IFTMCS"} {
		for _, reference := range []string{"B1", "B2"} {
			t.Run(kind+" under "+reference, func(t *testing.T) {
				t.Parallel()
				hub := as2test.Start(t, as2test.Options{})
				acme := hub.Agree("acme", nil)
				bill := as2test.Document{Reference: "B1", Type: kind, Number: "HLCU4711", Function: "9", Text: "draft"}
				processed(t, as2test.Send(t, acme, bill.String()))
				bill.Reference, bill.Function, bill.Text = reference, "5", "final"
				processed(t, as2test.Send(t, acme, bill.String()))
				processed(t, as2test.Send(t, acme, bill.String())) // its retry
				expect(t, hub, "first amendment duplicate", "draft final")
				if l := sidecar(t, hub, "final").Lineage; len(l.Supersedes) != 1 || l.Supersedes[0].Document != sidecar(t, hub, "draft").ID {
					t.Errorf("the amendment supersedes %v", l.Supersedes)
				}
			})
		}
	}
}

// A cancel comes before its original: the cancel is forwarded and flagged, the original waits for a person.
func TestCancelBeforeItsOriginal(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	processed(t, as2test.Send(t, acme, as2test.Document{Reference: "C2", Type: "IFTMIN", Number: "BK1", Function: "1", Date: "20261201", Text: "cancel"}.String()))
	processed(t, as2test.Send(t, acme, as2test.Document{Reference: "C1", Type: "IFTMIN", Number: "BK1", Function: "9", Date: "20261201", Text: "original"}.String()))
	expect(t, hub, "first stale", "cancel")
	if l := sidecar(t, hub, "cancel").Lineage; !l.Has(dedup.TargetUnknown) {
		t.Errorf("the cancel is told as %+v", l)
	}
	desk, held := desk(t, hub)
	if held.Verdict != "stale" || held.Lineage == nil || !slices.Equal(held.Lineage.Stale, []string{"BK1"}) {
		t.Errorf("held as %s: %+v", held.Verdict, held.Lineage)
	}
	if err := desk.Release(t.Context(), held.ID, "admin", "the cancel was meant for another booking"); err != nil {
		t.Fatal(err)
	}
	expect(t, hub, "first stale", "cancel original")
}

// The original comes again after its amendment: under its own reference it is a duplicate, under a new one it is stale.
func TestOriginalReplayedAfterItsAmendment(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	original := as2test.Document{Reference: "R1", Type: "INVOIC", Number: "RE-1", Function: "9", Date: "20261201", Text: "original"}
	amended := original
	amended.Reference, amended.Function, amended.Text = "R2", "5", "amended"
	again := original
	again.Reference, again.Sent = "R3", "261207:0800"
	for _, d := range []as2test.Document{original, amended, original, again} {
		processed(t, as2test.Send(t, acme, d.String()))
	}
	expect(t, hub, "first amendment duplicate stale", "amended original")
}

func TestStalePolicy(t *testing.T) {
	t.Parallel()
	for policy, forwarded := range map[partners.Drift]string{partners.DriftHold: "new original", partners.DriftForward: "new old original", partners.DriftDiscard: "new original"} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			hub := as2test.Start(t, as2test.Options{})
			acme := hub.Agree("acme", func(a *partners.Agreement) { a.Stale = policy })
			d := as2test.Document{Type: "IFTMIN", Number: "BK1"}
			for i, step := range [][3]string{{"9", "20261201", "original"}, {"5", "20261205", "new"}, {"5", "20261203", "old"}} {
				d.Reference, d.Function, d.Date, d.Text = fmt.Sprint("S", i), step[0], step[1], step[2]
				processed(t, as2test.Send(t, acme, d.String()))
			}
			expect(t, hub, "first amendment stale", forwarded)
			if n := hub.Count(`SELECT count(*) FROM payload_chunk`); n != 3 {
				t.Errorf("octets of %d documents are kept, want 3", n)
			}
		})
	}
}

// Only an interchange of nothing but stale documents is stale; another is forwarded, and names them.
func TestPartlyStaleInterchange(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	processed(t, as2test.Send(t, acme, as2test.Document{Reference: "P1", Type: "INVOIC", Number: "RE-1", Function: "5", Date: "20261205", Text: "amended"}.String()))
	two := "UNB+UNOC:3+4012345000009:14+5412345000013:14+261201:1015+P2'" +
		"UNH+1+INVOIC:D:96A:UN'BGM+380+RE-1+9'DTM+137:20261201:102'FTX+AAI+++late'UNT+5+1'" +
		"UNH+2+INVOIC:D:96A:UN'BGM+380+RE-2+9'DTM+137:20261201:102'UNT+4+2'UNZ+2+P2'"
	processed(t, as2test.Send(t, acme, two))
	expect(t, hub, "first first", "amended late")
	if l := sidecar(t, hub, "late").Lineage; !slices.Equal(l.Stale, []string{"RE-1"}) {
		t.Errorf("told as %+v", l)
	}
}

// The same invoice in two interchanges: forwarded and flagged, held, or suppressed.
func TestSameDocumentPolicy(t *testing.T) {
	t.Parallel()
	for policy, want := range map[partners.SameDocument][3]string{
		partners.SameForward:  {"first first", "bill bill", "forwarded"},
		partners.SameHold:     {"first duplicate", "bill", "held"},
		partners.SameSuppress: {"first duplicate", "bill", "discarded"},
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			hub := as2test.Start(t, as2test.Options{})
			acme := hub.Agree("acme", func(a *partners.Agreement) { a.SameDocument = policy })
			d := as2test.Document{Reference: "1", Type: "INVOIC", Number: "RE-1", Function: "9", Text: "bill"}
			processed(t, as2test.Send(t, acme, d.String()))
			d.Reference, d.Sent = "2", "261202:0900"
			processed(t, as2test.Send(t, acme, d.String()))
			processed(t, as2test.Send(t, acme, d.String()))
			expect(t, hub, want[0]+" duplicate", want[1])
			if got := hub.Strings(`SELECT state FROM document WHERE control_reference = '2' AND lineage->'flags' ? 'same_document'`); !slices.Equal(got, want[2:]) {
				t.Errorf("the second is %v, want %s", got, want[2])
			}
		})
	}
}

// What an interchange supersedes, and its flags, are CloudEvents attributes of an https sink.
func TestWebhookTellsTheLineage(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	hook := newMailbox(t)
	acme := hub.Agree("acme", func(a *partners.Agreement) { a.Sink = hook.URL })
	d := as2test.Document{Reference: "1", Type: "IFTMIN", Number: "BK,1", Function: "9"}
	processed(t, as2test.Send(t, acme, d.String()))
	hub.Forwarded("acme")
	d.Reference, d.Function, d.Text = "2", "1", "cancelled"
	processed(t, as2test.Send(t, acme, d.String()))
	hub.Forwarded("acme")
	d.Reference, d.Function, d.Text = "3", "5", "after all"
	processed(t, as2test.Send(t, acme, d.String()))
	hub.Forwarded("acme")
	letters := hook.letters()
	if len(letters) != 3 {
		t.Fatalf("%d posts", len(letters))
	}
	for name, want := range map[string]string{"ce-type": "firstcopy.document.amendment", "ce-supersedes": letters[1].head.Get("ce-id"),
		"ce-supersedesnumbers": "BK%252C1", "ce-flags": "after_cancel", "ce-stalenumbers": ""} {
		if got := letters[2].head.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := letters[0].head.Get("ce-supersedes") + letters[0].head.Get("ce-flags"); got != "" {
		t.Errorf("the original says %q", got)
	}
}

// A partner whose counter begins anew every day, one whose references mean nothing, and one that counts over all message types.
func TestKeyOptions(t *testing.T) {
	t.Parallel()
	one := as2test.Document{Reference: "1", Type: "DESADV", Number: "D1", Function: "9", Text: "monday"}
	two := as2test.Document{Reference: "1", Type: "DESADV", Number: "D2", Function: "9", Text: "tuesday", Sent: "261202:1015"}
	three := as2test.Document{Reference: "1", Type: "INVOIC", Number: "D3", Function: "9", Text: "invoice", Sent: "20261202:1016"}
	for _, c := range []struct {
		name                string
		key                 partners.Key
		verdicts, forwarded string
	}{
		{"by reference", partners.Key{}, "first drift first duplicate", "invoice monday"},
		{"by date", partners.Key{By: partners.KeyDate}, "first first first duplicate", "invoice monday tuesday"},
		{"by hash", partners.Key{By: partners.KeyHash}, "first first first duplicate", "invoice monday tuesday"},
		{"over all message types", partners.Key{AnyMessageType: true}, "first drift drift duplicate", "monday"},
		{"by date over all message types", partners.Key{By: partners.KeyDate, AnyMessageType: true}, "first first drift duplicate", "monday tuesday"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			hub := as2test.Start(t, as2test.Options{})
			acme := hub.Agree("acme", func(a *partners.Agreement) { a.Key = c.key })
			for _, d := range []as2test.Document{one, two, three, one} {
				processed(t, as2test.Send(t, acme, d.String()))
			}
			expect(t, hub, c.verdicts, c.forwarded)
		})
	}
}
