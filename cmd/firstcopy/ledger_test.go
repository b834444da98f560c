package main

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"firstcopy/dedup"
	"firstcopy/mdn"
)

func TestLedgerShow(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	sum := sha256.Sum256([]byte(s.payload))
	octets, doc := hex.EncodeToString(sum[:]), document(s.first)
	signer := "signed sha-256 by CN=acme.example (" + fingerprintOf(t)[:12] + "), encrypted aes-256-cbc\n"
	page := squeeze(s.run(t, "ledger", "show", "R1").must(t))
	contains(t, page,
		"Reference R1 of partner acme\n", "standard edifact\n", "sender 4012345000009\n", "recipient 4098765000002\n", "messages INVOIC\n",
		"first copy ", " +02:00, document "+doc+"\n", "octets sha256 "+octets+"\n", "content sha256 ", "protected until ", ", for 14 days from now\n",
		"It arrived 4 times (1 first copy, 1 repeat of the same delivery, 1 duplicate, 1 copy with other content); one document was forwarded.\n",
		"TIME EVENT WHAT HAPPENED\n",
		" first copy message <1@acme>, node gw1\n",
		"delivery "+s.first.Delivery.String()+" from 192.0.2.1:4080\n",
		"octets "+octets[:12]+", "+signer,
		"not known before: becomes document "+doc+"\n",
		"answered with receipt <receipt-1@hub>\n", mdn.Processed.String()+", MIC bWlj, sha-256\n",
		" forwarded document "+doc+"\n", "handed to dir:"+s.dir+"/out/", ", node gw1\n",
		" repeat message <1@acme>, node gw1\n", "octets "+octets[:12]+", the same as delivery "+s.first.Delivery.String()+" brought\n",
		"not forwarded again\n", "answered with the stored receipt again, <receipt-1@hub>\n",
		" duplicate message <2@acme>, node gw1\n", "delivery "+s.duplicate.Delivery.String(), signer,
		"the octets of document "+doc+": not forwarded again\n", "answered with receipt <receipt-2@hub>\n",
		" drift message <3@acme>, node gw1\n", "other content inside the window: becomes document "+document(s.drift)+", held for a decision\n",
		"answered with receipt <receipt-3@hub>\n",
	)
	for line := range strings.Lines(page) {
		if strings.TrimRight(line, "\n") != strings.TrimRight(line, " \n") {
			t.Errorf("trailing spaces: %q", line)
		}
	}
}

func TestLedgerShowJSON(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	out := decode[[]struct {
		Partner   string
		Reference map[string]any
		Raw       string `json:"raw_sha256"`
		Content   string `json:"content_sha256"`
		FirstSeen string `json:"first_seen_at"`
		Expires   string `json:"expires_at"`
		Open      bool
		Document  string `json:"document_id"`
		Counts    countsOutput
		Account   []struct {
			At, Event, Node string
			Delivery        string `json:"delivery_id"`
			Raw             string `json:"raw_sha256"`
			Signer          string `json:"signer_sha256"`
			Receipt         *answerOutput
			Detail          map[string]any
		}
		Documents []struct {
			ID    string `json:"document_id"`
			State string
			Raw   string `json:"raw_sha256"`
		}
		Deliveries []struct {
			ID      string `json:"delivery_id"`
			Payload string `json:"payload_sha256"`
			Signer  string `json:"signer_sha256"`
			Repeats int
		}
	}](t, s.run(t, "ledger", "show", "R1", "--partner", "acme", "--json").must(t))
	if len(out) != 1 {
		t.Fatalf("%d references", len(out))
	}
	o, sum := out[0], sha256.Sum256([]byte(s.payload))
	raw := hex.EncodeToString(sum[:])
	if o.Partner != "acme" || o.Reference["control_reference"] != "R1" || o.Raw != raw || len(o.Content) != 64 || !o.Open || o.Document != document(s.first) {
		t.Errorf("reference %+v", o)
	}
	for _, at := range []string{o.FirstSeen, o.Expires, o.Account[0].At} {
		if parsed, err := time.Parse(time.RFC3339Nano, at); err != nil || parsed.Location() != time.UTC {
			t.Errorf("%q is not a time by RFC 3339 in UTC (%v)", at, err)
		}
	}
	if o.Counts.Arrivals != 4 || o.Counts.Forwarded != 1 || o.Counts.Kinds[dedup.Repeat] != 1 || o.Counts.Kinds["drift"] != 1 {
		t.Errorf("counts %+v", o.Counts)
	}
	var events []string
	for _, l := range o.Account {
		events = append(events, l.Event)
	}
	if got := strings.Join(events, " "); got != "first forwarded repeat duplicate drift" {
		t.Errorf("events %s", got)
	}
	first, repeat := o.Account[0], o.Account[2]
	if first.Raw != raw || first.Signer != fingerprintOf(t) || first.Receipt.MessageID != "<receipt-1@hub>" || first.Receipt.Stored || first.Node != "gw1" {
		t.Errorf("first copy %+v", first)
	}
	if repeat.Receipt == nil || repeat.Receipt.MessageID != "<receipt-1@hub>" || !repeat.Receipt.Stored || repeat.Delivery != s.first.Delivery.String() {
		t.Errorf("repeat %+v", repeat)
	}
	if len(o.Documents) != 2 || o.Documents[0].State != "forwarded" || o.Documents[0].Raw != raw || o.Documents[1].State != "held" {
		t.Errorf("documents %+v", o.Documents)
	}
	if len(o.Deliveries) != 3 || o.Deliveries[0].Repeats != 1 || o.Deliveries[0].Payload != raw || o.Deliveries[0].Signer != fingerprintOf(t) {
		t.Errorf("deliveries %+v", o.Deliveries)
	}
}

func TestLedgerShowOfNothing(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	r := s.run(t, "ledger", "show", "R2", "--partner", "acme")
	if r.code != exitFailed || r.out != "" {
		t.Errorf("exit code %d, output %q", r.code, r.out)
	}
	contains(t, r.err, `error: there is no reference "R2" in the ledger for partner acme`, "hint: firstcopy ledger search --partner acme --since 7d")
	contains(t, s.run(t, "ledger", "show", "R3").err, `error: there is no reference "R3" in the ledger`, "hint: firstcopy ledger search --since 7d")
}

func TestLedgerShowOfSeveral(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply(t, s.agreement("acme", "    windows: {x12: infinity}\n"), s.agreement("globex", ""))
	h := s.history(t)
	x12 := "ISA*00*          *00*          *01*123456789      *01*987654321      *260301*0930*U*00501*000000905*0*P*>~" +
		"GS*IN*A*B*20260301*0930*1*X*005010~ST*810*0001~BIG*20260301*1~SE*3*0001~GE*1*1~IEA*1*000000905~"
	h.receive("ACME", "<1@acme>", x12)
	h.receive("GLOBEX", "<1@globex>", x12)
	page := squeeze(s.run(t, "ledger", "show", "905").must(t))
	contains(t, page, "2 references have this control reference", "Reference 000000905 of partner acme\n", "sender 123456789 (qualifier 01)\n",
		"messages 810\n", "protected until for ever", "It arrived 1 time; nothing has been forwarded yet.\n", "────", "Reference 000000905 of partner globex\n")
}

func TestLedgerShowAfterTheWindow(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply(t, s.agreement("acme", ""))
	h := s.history(t)
	first := h.receive("ACME", "<1@acme>", invoice("R1", "100.00"))
	_, err := h.pool.Exec(t.Context(), "UPDATE dedup_key SET first_seen_at = now() - interval '9 days', expires_at = now() - interval '50 hours'")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, squeeze(s.run(t, "ledger", "show", "R1").must(t)), ", over since 2 days; copies of known content are still not forwarded\n")
	h.receive("ACME", "<2@acme>", "\r\n"+invoice("R1", "100.00"))
	reused := h.receive("ACME", "<3@acme>", invoice("R1", "200.00"))
	contains(t, squeeze(s.run(t, "ledger", "show", "R1").must(t)),
		"epoch 2: the reference has been used for other content before", "1 duplicate, 1 reuse after the window); nothing has been forwarded yet.\n",
		"the content of document "+document(first)+", in other octets, after the window: not forwarded again\n",
		"other content after the window, so the counter has wrapped: epoch 2, becomes document "+document(reused)+"\n")
}

func TestLedgerSearch(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	sum := sha256.Sum256([]byte(s.payload))
	octets := hex.EncodeToString(sum[:])
	table := squeeze(s.run(t, "ledger", "search").must(t))
	contains(t, table, "REFERENCE PARTNER STANDARD SENDER RECIPIENT MESSAGES TEST EPOCH FIRST SEEN PROTECTED UNTIL OCTETS\n",
		"R2 globex edifact 4012345000009 4098765000002 INVOIC no 1 20", "R1 acme edifact ", " +02:00 "+octets[:12]+"\n")
	for args, want := range map[string]int{
		"--partner acme":                           1,
		"--partner acme --reference R2":            0,
		"--hash " + octets:                         1,
		"--hash sha256:" + strings.ToUpper(octets): 1,
		"--hash " + strings.Repeat("0", 64):        0,
		"--since 1h":                               2,
		"--since 2999-01-01":                       0,
		"--since 2001-01-01T00:00:00Z":             2,
		"--limit 1":                                1,
	} {
		got := decode[[]keyOutput](t, s.run(t, append([]string{"ledger", "search", "--json"}, strings.Fields(args)...)...).must(t))
		if len(got) != want {
			t.Errorf("%s: %d references, want %d", args, len(got), want)
		}
	}
}
