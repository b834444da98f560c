package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"firstcopy/internal/as2client"
)

// loadOutput is what became of many messages.
type loadOutput struct {
	Messages       int            `json:"messages"`
	Accepted       int            `json:"accepted"`
	Concurrency    int            `json:"concurrency"`
	PrepareSeconds float64        `json:"prepare_seconds"`
	Seconds        float64        `json:"seconds"` // from the first post to the last answer
	PerSecond      float64        `json:"messages_per_second"`
	BytesPerSecond float64        `json:"bytes_per_second"` // of HTTP bodies
	Latency        latencyOutput  `json:"latency_ms"`
	Outcomes       map[string]int `json:"outcomes"`
}

// latencyOutput is the time from sending to the answer, in milliseconds.
type latencyOutput struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// loadResult is what became of one message among many.
type loadResult struct {
	sent    bool
	pending bool
	outcome string
	took    time.Duration // 0: no answer
	answer  as2client.Answer
	err     error
}

// sendLoad sends many messages and reports on them together.
func (a *app) sendLoad(cmd *cobra.Command, s *sending, payloads variation) error {
	begun := time.Now()
	prepared, err := s.prepareAll(cmd.Context(), payloads)
	if err != nil {
		return err
	}
	out := loadOutput{Messages: s.flags.messages, Concurrency: s.flags.concurrency, PrepareSeconds: time.Since(begun).Seconds()}
	begun = time.Now()
	results := s.postAll(cmd.Context(), prepared)
	out.Seconds = time.Since(begun).Seconds()
	s.awaitAll(cmd.Context(), prepared, results)
	out.sum(prepared, results)
	if err := a.print(cmd, out, out.write); err != nil {
		return err
	}
	return loadFault(results)
}

// prepareAll builds all messages, on all processors, before any is sent.
func (s *sending) prepareAll(ctx context.Context, payloads variation) ([]as2client.Prepared, error) {
	prepared := make([]as2client.Prepared, s.flags.messages)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range prepared {
		g.Go(func() (err error) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			prepared[i], err = as2client.Prepare(s.partner, payloads.of(i), s.options)
			return err
		})
	}
	return prepared, g.Wait()
}

// postAll keeps as many messages under way as were asked for until all are
// answered. Each is sent once.
func (s *sending) postAll(ctx context.Context, prepared []as2client.Prepared) []loadResult {
	results := make([]loadResult, len(prepared))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(s.flags.concurrency, len(prepared)) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(prepared) {
					return
				}
				answer, err := s.post(ctx, prepared[i])
				results[i] = newLoadResult(answer, err)
			}
		})
	}
	workers.Wait()
	return results
}

// awaitAll waits for the receipts that come by themselves; the time for them
// begins when everything has been sent.
func (s *sending) awaitAll(ctx context.Context, prepared []as2client.Prepared, results []loadResult) {
	if s.listener == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.flags.timeout)
	defer cancel()
	for i := range results {
		if !results[i].pending {
			continue
		}
		took := results[i].took
		late, err := s.listener.Wait(ctx, prepared[i])
		results[i] = newLoadResult(late, err)
		if err != nil {
			results[i].outcome = "no receipt"
		}
		results[i].took = took
	}
}

func newLoadResult(a as2client.Answer, err error) loadResult {
	r := loadResult{sent: true, pending: a.Pending, took: a.Duration, err: cmp.Or(err, a.Err())}
	a.Raw, a.Header, a.Receipt.SignedContent, a.Receipt.Signature = nil, nil, nil, nil // there may be very many
	r.answer = a
	switch {
	case err != nil:
		r.outcome = "no answer"
	case a.HasReceipt:
		r.outcome = as2client.Outcome(a.Receipt.Disposition)
		if r.err != nil && a.Receipt.Disposition.Positive() {
			r.outcome += ", but the receipt is not valid"
		}
	case a.Pending:
		r.outcome = "receipt to come"
	case r.err != nil && a.Status < 300:
		r.outcome = "no receipt"
	default:
		r.outcome = fmt.Sprintf("HTTP %d", a.Status)
	}
	return r
}

func (o *loadOutput) sum(prepared []as2client.Prepared, results []loadResult) {
	o.Outcomes = map[string]int{}
	var octets int
	var took []time.Duration
	for i, r := range results {
		o.Outcomes[cmp.Or(r.outcome, "not sent")]++
		if r.sent && r.err == nil && !r.pending {
			o.Accepted++
		}
		if r.took > 0 {
			took = append(took, r.took)
			octets += len(prepared[i].Body)
		}
	}
	slices.Sort(took)
	o.PerSecond = float64(len(took)) / o.Seconds
	o.BytesPerSecond = float64(octets) / o.Seconds
	o.Latency = latencyOutput{P50: percentile(took, 50), P95: percentile(took, 95), P99: percentile(took, 99), Max: percentile(took, 100)}
}

// percentile is by nearest rank: a time that was really measured, in
// milliseconds; 0 if there is none.
func percentile(sorted []time.Duration, percent float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(percent / 100 * float64(len(sorted))))
	return float64(sorted[rank-1]) / float64(time.Millisecond)
}

func (o loadOutput) write(w io.Writer) error {
	t := newTable(w)
	t.row("Messages:", fmt.Sprintf("%d, %d at a time, prepared in %.2f s", o.Messages, o.Concurrency, o.PrepareSeconds))
	t.row("Throughput:", fmt.Sprintf("%.1f messages/s, %s/s, in %.2f s", o.PerSecond, size(int64(o.BytesPerSecond)), o.Seconds))
	t.row("Latency:", fmt.Sprintf("p50 %.1f ms, p95 %.1f ms, p99 %.1f ms, max %.1f ms", o.Latency.P50, o.Latency.P95, o.Latency.P99, o.Latency.Max))
	for _, outcome := range slices.Sorted(maps.Keys(o.Outcomes)) {
		t.row("Outcome:", fmt.Sprintf("%d × %s", o.Outcomes[outcome], outcome))
	}
	return t.flush()
}

// loadFault says how many messages went wrong, and what was wrong with the first.
func loadFault(results []loadResult) error {
	var first *loadResult
	bad := 0
	for i := range results {
		if r := &results[i]; !r.sent || r.err != nil {
			if bad++; first == nil || first.err == nil {
				first = r
			}
		}
	}
	switch {
	case bad == 0:
		return nil
	case first.err == nil:
		return fmt.Errorf("%d of %d messages were not sent", bad, len(results))
	}
	return sendFault(fmt.Errorf("%d of %d messages were not accepted; the first: %w", bad, len(results), first.err), first.answer)
}
