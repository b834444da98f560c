package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"firstcopy/internal/as2client/receivertest"
	"firstcopy/mdn"
)

func TestSendLoad(t *testing.T) {
	t.Parallel()
	s := newSendStage(t, &receivertest.Receiver{})
	code, out, errs := s.send(t, "--count", "7", "--concurrency", "3", "--vary", "REF0000001", "--vary-start", "42")
	if code != exitOK {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	wantLines(t, "output", out, "7, 3 at a time", "messages/s", "p50 ", "p95 ", "p99 ", "7 × processed\n")
	var ids, references []string
	for _, h := range s.receiver.Requests() {
		ids = append(ids, h.Get("Message-ID"))
	}
	for _, payload := range s.receiver.Payloads() {
		if len(payload) != len(sendInvoice) || strings.Count(string(payload), "+00000000") != 2 {
			t.Errorf("payload %q", payload)
		}
		references = append(references, string(payload[len(payload)-11:len(payload)-1]))
	}
	slices.Sort(ids)
	slices.Sort(references)
	if len(slices.Compact(ids)) != 7 || len(references) != 7 || references[0] != "0000000042" || references[6] != "0000000048" {
		t.Errorf("Message-IDs %q, references %q", ids, references)
	}
}

func TestSendLoadCountsOutcomes(t *testing.T) {
	t.Parallel()
	n := 0
	s := newSendStage(t, &receivertest.Receiver{Alter: func(r *mdn.Report) {
		if n++; n%2 == 0 {
			r.Disposition = mdn.InsufficientMessageSecurity
		}
	}})
	code, out, errs := s.send(t, "--count", "5", "--json")
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	var got loadOutput
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Accepted != 3 || got.Outcomes["processed"] != 3 || got.Outcomes["processed/error: insufficient-message-security"] != 2 ||
		got.PerSecond <= 0 || got.Latency.P50 <= 0 || got.Latency.P50 > got.Latency.P99 || got.Latency.P99 > got.Latency.Max {
		t.Errorf("output %s", out)
	}
	wantLines(t, "standard error", errs, "2 of 5 messages were not accepted; the first: the receipt is negative", "hint: the agreement demands more")
}

func TestSendLoadAsynchronous(t *testing.T) {
	t.Parallel()
	s := newSendStage(t, &receivertest.Receiver{})
	code, out, errs := s.send(t, "--count", "4", "--concurrency", "2", "--async-listen", "127.0.0.1:0")
	if code != exitOK || !strings.Contains(out, "4 × processed\n") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

func TestVariationIsAnotherEveryRun(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 4 {
		v, err := newVariation("REF0000001", -1, 2, []byte(sendInvoice))
		if err != nil {
			t.Fatal(err)
		}
		seen[string(v.of(0))] = true
	}
	if len(seen) == 1 {
		t.Error("four runs send the same interchange")
	}
	v, err := newVariation("0001", -1, 10_000, []byte("<0001>"))
	if err != nil || string(v.of(0)) != "<0000>" || string(v.of(9999)) != "<9999>" {
		t.Errorf("all numbers of four digits: %v, from %q to %q", err, v.of(0), v.of(9999))
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var took []time.Duration
	for i := range 200 {
		took = append(took, time.Duration(i+1)*time.Millisecond)
	}
	for percent, want := range map[float64]float64{50: 100, 95: 190, 99: 198, 100: 200} {
		if got := percentile(took, percent); got != want {
			t.Errorf("p%v of 1…200: %v, want %v", percent, got, want)
		}
	}
	if one := percentile(took[:1], 50); one != 1 {
		t.Errorf("p50 of one: %v", one)
	}
	if none := percentile(nil, 99); none != 0 {
		t.Errorf("p99 of none: %v", none)
	}
}
