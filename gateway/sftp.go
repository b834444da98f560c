package gateway

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"firstcopy/dedup/interchange"
	"firstcopy/gateway/forward"
	"firstcopy/partners"
	"firstcopy/sftpwatch"
)

// fetching is the SFTP channel's way to ingest.
type fetching struct {
	decide  decider
	limits  Limits
	metrics *Metrics
	log     *slog.Logger
	places  chan struct{} // for files being decided

	mutex  sync.Mutex
	shares map[int64]chan struct{} // of these places, by partner
}

// newFetching lets files have half of the ingest pool's connections: nobody waits for a file, but somebody does for a receipt.
func newFetching(decide decider, limits Limits, connections int, metrics *Metrics, log *slog.Logger) *fetching {
	return &fetching{decide: decide, limits: limits, metrics: metrics, log: log, places: make(chan struct{}, max(1, connections/2)),
		shares: map[int64]chan struct{}{}}
}

// share is half of the places, which one partner's files may take: a full folder must not make all others wait.
func (f *fetching) share(partner int64) chan struct{} {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.shares[partner] == nil {
		f.shares[partner] = make(chan struct{}, max(1, cap(f.places)/2))
	}
	return f.shares[partner]
}

// Spool makes room for a file.
func (f *fetching) Spool(limit int64) sftpwatch.Payload {
	spool := NewSpool(f.limits.SpoolDir, f.limits.SpoolMemory, limit)
	return &fetched{Spool: spool, ahead: scanEarly(spool)}
}

// fetched is a file's payload, which is scanned while it arrives.
type fetched struct {
	*Spool
	ahead *early
}

func (f *fetched) Interchanges() ([]interchange.Interchange, error) {
	if found, known, err := f.ahead.result(); known {
		return found, err
	}
	return interchange.Scan(f.Section(0, f.Size()))
}

// Close ends the scan first.
func (f *fetched) Close() error {
	f.ahead.stop()
	return f.Spool.Close()
}

// Ingest decides a file. The server's pinned key and our login are what authenticates it.
func (f *fetching) Ingest(ctx context.Context, a *sftpwatch.Arrival) (sftpwatch.Outcome, error) {
	for _, places := range []chan struct{}{f.share(a.Partner.ID), f.places} {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-ctx.Done():
			return sftpwatch.Outcome{}, &ErrUnavailable{Err: context.Cause(ctx)}
		}
	}
	start := time.Now()
	d := &Delivery{ID: a.ID, Partner: a.Partner, Channel: SFTP, TransportID: a.TransportID, ReceivedAt: a.ReceivedAt,
		RemoteAddress: a.RemoteAddress, FileName: a.FileName, Payload: a.Payload.(*fetched).Spool, Interchanges: a.Interchanges,
		Record: a.Record}
	outcome, err := f.decide.Ingest(ctx, d)
	if err != nil {
		f.metrics.delivery(a.Partner.Name, unavailable.outcome, time.Since(start))
		return sftpwatch.Outcome{}, err
	}
	word := "accepted"
	if outcome.Repeat {
		word = "repeat"
	}
	f.metrics.delivery(a.Partner.Name, word, time.Since(start))
	for i, decision := range outcome.Decisions {
		f.metrics.verdict(a.Partner.Name, decision.Verdict)
		logVerdict(ctx, f.log, a.Partner.Name, outcome.Delivery, &a.Interchanges[i], decision)
	}
	return sftpwatch.Outcome{Delivery: outcome.Delivery, Repeat: outcome.Repeat}, nil
}

// putting sends acknowledgements as files.
type putting struct{ watcher *sftpwatch.Watcher }

// Send puts the acknowledgement under a name of its own, the same for every attempt and every transmission of it: what the
// partner has not taken away yet is not put twice.
func (p putting) Send(ctx context.Context, a *partners.Agreement, s *forward.Sending) (forward.Evidence, error) {
	ack := &s.Acknowledgement
	name := string(ack.Kind) + "_" + ack.Control + "_" + ack.ID.String() + ".edi"
	err := p.watcher.Put(ctx, a, name, ack.Octets)
	return forward.Evidence{Where: "sftp:" + name, Detail: map[string]any{"file": name}}, err
}

var _ forward.AcknowledgementSink = putting{}

// Polled, Fetched, SetAside and PutBack make Metrics the watcher's observer.
func (m *Metrics) Polled(partner string, kind sftpwatch.Kind, took time.Duration) {
	m.polls.WithLabelValues(partner, resultOf(kind)).Inc()
	if kind == "" {
		m.pollTime.WithLabelValues(partner).Observe(took.Seconds())
	}
}

// Fetched counts the octets of a file that was taken.
func (m *Metrics) Fetched(partner string, octets int64) {
	m.fetched.WithLabelValues(partner).Add(float64(octets))
}

// SetAside counts a file that was not taken.
func (m *Metrics) SetAside(partner, why string) { m.setAside.WithLabelValues(partner, why).Inc() }

// PutBack counts a post-action, or an acknowledgement file.
func (m *Metrics) PutBack(partner string, kind sftpwatch.Kind) {
	m.putBack.WithLabelValues(partner, resultOf(kind)).Inc()
}

func resultOf(kind sftpwatch.Kind) string {
	if kind == "" {
		return "ok"
	}
	return string(kind)
}

var _ sftpwatch.Observer = (*Metrics)(nil)

// polled collects how the partners' folders stand, which only the database knows.
type polled struct {
	pool                              *pgxpool.Pool
	lastGood, waiting, oldest, states *prometheus.Desc
}

func newPolled(pool *pgxpool.Pool) polled {
	return polled{pool: pool,
		lastGood: prometheus.NewDesc("firstcopy_sftp_last_good_poll_timestamp_seconds", "When a partner's folder was last read without fault.", []string{"partner"}, nil),
		waiting:  prometheus.NewDesc("firstcopy_sftp_waiting_files", "Files of the folder that have not been taken yet.", []string{"partner"}, nil),
		oldest:   prometheus.NewDesc("firstcopy_sftp_oldest_waiting_seconds", "Since when the oldest of them lies there.", []string{"partner"}, nil),
		states:   prometheus.NewDesc("firstcopy_sftp_files", "Files in work: incomplete, taken (a post-action is due), refused, stuck.", []string{"partner", "state"}, nil)}
}

func (p polled) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.lastGood, p.waiting, p.oldest, p.states} {
		ch <- d
	}
}

func (p polled) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	all, err := sftpwatch.Statuses(ctx, p.pool)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(p.waiting, err)
		return
	}
	for _, s := range all {
		if !s.LastGood.IsZero() {
			ch <- prometheus.MustNewConstMetric(p.lastGood, prometheus.GaugeValue, float64(s.LastGood.UnixMilli())/1000, s.Partner)
		}
		ch <- prometheus.MustNewConstMetric(p.waiting, prometheus.GaugeValue, float64(s.Waiting), s.Partner)
		ch <- prometheus.MustNewConstMetric(p.oldest, prometheus.GaugeValue, s.OldestAge(time.Now()).Seconds(), s.Partner)
		for state, n := range map[string]int{"incomplete": s.Incomplete, "taken": s.Due, "refused": s.Refused, "stuck": s.Stuck} {
			ch <- prometheus.MustNewConstMetric(p.states, prometheus.GaugeValue, float64(n), s.Partner, state)
		}
	}
}
