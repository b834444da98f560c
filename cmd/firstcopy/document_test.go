package main

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

func TestDocumentList(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	stuck := squeeze(s.run(t, "document", "list", "--stuck").must(t))
	contains(t, stuck, "DOCUMENT STATE SINCE PARTNER REFERENCE MESSAGES SIZE ATTEMPTS LAST ERROR\n", document(s.stuck)+" stuck 20", " globex R2 INVOIC ", " B 1 ", "no such file")
	for flag, want := range map[string][]string{
		"--stuck": {document(s.stuck)}, "--held": {document(s.drift)}, "--pending": {}, "--limit=9": {document(s.stuck), document(s.drift)}, "--limit=1": {document(s.stuck)},
		"--partner=acme": {document(s.drift)},
	} {
		got := decode[[]documentOutput](t, s.run(t, "document", "list", "--json", flag).must(t))
		if len(got) != len(want) {
			t.Errorf("%s: %d documents, want %d", flag, len(got), len(want))
			continue
		}
		for i := range got {
			if got[i].ID.String() != want[i] {
				t.Errorf("%s: document %s, want %s", flag, got[i].ID, want[i])
			}
		}
	}
}

func TestDocumentShowAndCat(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := document(s.first)
	sum := sha256.Sum256([]byte(s.payload))
	contains(t, squeeze(s.run(t, "document", "show", id).must(t)), "Document "+id+" is forwarded\n", "partner acme\n", "reference R1, epoch 1\n", "verdict first\n",
		"interchange edifact UNOC:3 INVOIC\n", "from 4012345000009\n", "functions 9\n", "test no\n", "sha256 "+hex.EncodeToString(sum[:])+"\n",
		"delivery "+s.first.Delivery.String()+", number 1 of its interchanges\n", "forwarded 20", " to dir:"+s.dir+"/out/")
	out := decode[map[string]any](t, s.run(t, "document", "show", id, "--json").must(t))
	if out["raw_sha256"] != hex.EncodeToString(sum[:]) || out["state"] != "forwarded" || out["partner"] != "acme" {
		t.Errorf("got %v", out)
	}
	if got := s.run(t, "document", "cat", id).must(t); got != s.payload {
		t.Errorf("octets %q, want %q", got, s.payload)
	}
	for _, act := range []string{"show", "cat", "resend"} {
		r := s.run(t, "document", act, "0195ed6e-29f2-7dbc-a4a8-9a6b52b7a8a1")
		if r.code != exitFailed || r.out != "" {
			t.Errorf("%s: exit code %d, output %q", act, r.code, r.out)
		}
		contains(t, r.err, "error: document 0195ed6e-29f2-7dbc-a4a8-9a6b52b7a8a1: no such document", "hint: firstcopy document list")
	}
}

func TestDocumentResend(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := document(s.stuck)
	contains(t, s.run(t, "document", "resend", id, "--reason", "the folder is there now", "--as", "erin").must(t), "document "+id+" is on its way again\n")
	again := s.run(t, "document", "resend", id)
	if again.code != exitFailed {
		t.Errorf("exit code %d", again.code)
	}
	contains(t, again.err, "error: document "+id+" is pending: it cannot be resent", "hint: the outbox carries it")
	contains(t, s.run(t, "document", "resend", document(s.drift)).err, "is held: it cannot be resent", "hint: it is held for a decision: firstcopy drift release")
	s.mend(t)
	if got := s.history(t).forward(1); got[0] != "ok" {
		t.Fatalf("forwarding: %v", got)
	}
	contains(t, squeeze(s.run(t, "ledger", "show", "R2").must(t)), " stuck document "+id+"\n", "the last attempt failed: ",
		" resent document "+id+"\n", "by erin: the folder is there now, node ", " forwarded document "+id+"\n", "late/")
}

func TestDocumentResendStuck(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := document(s.stuck)
	contains(t, s.run(t, "document", "resend", "--stuck", "--partner", "acme").must(t), "no document is stuck\n")
	contains(t, s.run(t, "document", "resend", "--stuck", id).err, "error: ", id)
	contains(t, s.run(t, "document", "resend", id, "--partner", "globex").err, "--partner goes with --stuck")
	contains(t, s.run(t, "document", "resend").err, "needs a document's id, or --stuck")
	out := decode[[]deedOutput](t, s.run(t, "document", "resend", "--stuck", "--reason", "the folder is there now", "--as", "erin", "--json").must(t))
	if len(out) != 1 || out[0].Document.String() != id || out[0].State != "pending" || out[0].Who != "erin" {
		t.Errorf("got %+v", out)
	}
	s.mend(t)
	if got := s.history(t).forward(1); got[0] != "ok" {
		t.Fatalf("forwarding: %v", got)
	}
	contains(t, squeeze(s.run(t, "ledger", "show", "R2").must(t)), " resent document "+id+"\n", "by erin: the folder is there now, node ")
}

func TestDrift(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := document(s.drift)
	contains(t, squeeze(s.run(t, "drift", "list").must(t)), "DOCUMENT VERDICT HELD SINCE FOR PARTNER REFERENCE MESSAGES SIZE OCTETS\n", id+" drift 20", " acme R1 INVOIC ")
	out := decode[deedOutput](t, s.run(t, "drift", "release", id, "--reason", "corrected invoice", "--as", "frank", "--json").must(t))
	if out.Document.String() != id || out.State != "pending" || out.Who != "frank" || out.Reason != "corrected invoice" {
		t.Errorf("got %+v", out)
	}
	if held := decode[[]documentOutput](t, s.run(t, "drift", "list", "--json").must(t)); len(held) != 0 {
		t.Errorf("still held: %+v", held)
	}
	r := s.run(t, "drift", "discard", id, "--reason", "changed my mind")
	if r.code != exitFailed {
		t.Errorf("exit code %d", r.code)
	}
	contains(t, r.err, "error: document "+id+" is pending: it cannot be discarded", "hint: ")
	contains(t, squeeze(s.run(t, "ledger", "show", "R1").must(t)), " released document "+id+"\n", "by frank: corrected invoice, node ")
}

func TestDriftDiscard(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := document(s.drift)
	contains(t, s.run(t, "drift", "discard", id, "--reason", "sent by mistake").must(t), "document "+id+" is discarded; its octets and its account stay\n")
	contains(t, squeeze(s.run(t, "ledger", "show", "R1").must(t)), "becomes document "+id+", discarded\n", " discarded document "+id+"\n", ": sent by mistake, node ")
	page := s.run(t, "drift", "show", id).must(t)
	contains(t, page, "reference R1, arrived 20", " as drift, is now discarded\n", " as first, is now forwarded\n")
	if strings.Contains(page, "since") {
		t.Errorf("%s", page)
	}
}
