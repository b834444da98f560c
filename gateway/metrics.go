package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"firstcopy/dedup"
	"firstcopy/gateway/forward"
	"firstcopy/partners"
)

// Metrics counts what the node does. Names and labels are listed in docs/operations.md.
type Metrics struct {
	registry  *prometheus.Registry
	received  *prometheus.CounterVec
	verdicts  *prometheus.CounterVec
	latency   *prometheus.HistogramVec
	ingest    prometheus.Histogram
	forwards  *prometheus.CounterVec
	forwardIn *prometheus.HistogramVec
	receipts  *prometheus.CounterVec
	polls     *prometheus.CounterVec
	pollTime  *prometheus.HistogramVec
	fetched   *prometheus.CounterVec
	setAside  *prometheus.CounterVec
	putBack   *prometheus.CounterVec
	answers   *prometheus.CounterVec
}

var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// NewMetrics makes the metrics in a registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		received: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "firstcopy_deliveries_total",
			Help: "Arrivals, by partner and by what became of them."}, []string{"partner", "outcome"}),
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "firstcopy_verdicts_total",
			Help: "Interchanges decided, by partner and verdict."}, []string{"partner", "verdict"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "firstcopy_answer_seconds",
			Help: "From the request to the written answer.", Buckets: seconds}, []string{"outcome"}),
		ingest: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "firstcopy_ingest_seconds",
			Help: "Deciding a delivery, its transaction included.", Buckets: seconds}),
		forwards: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "firstcopy_forwards_total",
			Help: "Attempts to forward a document, by partner and result."}, []string{"partner", "result"}),
		forwardIn: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "firstcopy_forward_seconds",
			Help: "One successful attempt to forward a document.", Buckets: seconds}, []string{"partner"}),
		receipts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "firstcopy_async_receipts_total",
			Help: "Attempts to deliver an asynchronous receipt, by partner and result."}, []string{"partner", "result"}),
		polls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "firstcopy_sftp_polls_total",
			Help: "Polls of partners' SFTP servers, by partner and by what went wrong; ok when nothing did."}, []string{"partner", "result"}),
		pollTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "firstcopy_sftp_poll_seconds",
			Help: "A good poll, from the lease to its end.", Buckets: seconds}, []string{"partner"}),
		fetched: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "firstcopy_sftp_fetched_bytes_total",
			Help: "Octets of the files that were taken."}, []string{"partner"}),
		setAside: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "firstcopy_sftp_set_aside_total",
			Help: "Files that were not taken, or not in time: incomplete, refused, failed, missed."}, []string{"partner", "reason"}),
		putBack: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "firstcopy_sftp_put_back_total",
			Help: "Post-actions and acknowledgement files, by what went wrong; ok when nothing did."}, []string{"partner", "result"}),
	}
	m.answers = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "firstcopy_acknowledgements_total",
		Help: "Attempts to send a functional acknowledgement, by partner and result."}, []string{"partner", "result"})
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.answers, m.received, m.verdicts, m.latency, m.ingest, m.forwards, m.forwardIn, m.receipts,
		m.polls, m.pollTime, m.fetched, m.setAside, m.putBack)
	return m
}

func (m *Metrics) delivery(partner, outcome string, took time.Duration) {
	m.received.WithLabelValues(partner, outcome).Inc()
	m.latency.WithLabelValues(outcome).Observe(took.Seconds())
}

func (m *Metrics) verdict(partner string, v dedup.Verdict) {
	m.verdicts.WithLabelValues(partner, string(v)).Inc()
}

// Forwarded, ForwardFailed and ReceiptDelivered make Metrics the outbox's observer.
func (m *Metrics) Forwarded(partner string, took time.Duration) {
	m.forwards.WithLabelValues(partner, "ok").Inc()
	m.forwardIn.WithLabelValues(partner).Observe(took.Seconds())
}

// ForwardFailed counts a failed attempt, and whether it was the last.
func (m *Metrics) ForwardFailed(partner string, stuck bool) {
	result := "failed"
	if stuck {
		result = "stuck"
	}
	m.forwards.WithLabelValues(partner, result).Inc()
}

// ReceiptDelivered counts an attempt to deliver an asynchronous receipt.
func (m *Metrics) ReceiptDelivered(partner string, ok bool) {
	result := "ok"
	if !ok {
		result = "failed"
	}
	m.receipts.WithLabelValues(partner, result).Inc()
}

// Acknowledged counts an attempt to send a functional acknowledgement, and whether it was the last.
func (m *Metrics) Acknowledged(partner string, ok, stuck bool) {
	result := "failed"
	switch {
	case ok:
		result = "ok"
	case stuck:
		result = "stuck"
	}
	m.answers.WithLabelValues(partner, result).Inc()
}

var _ forward.Observer = (*Metrics)(nil)

// backlog collects what only the database knows: how much waits, and for how long.
type backlog struct {
	pool             *pgxpool.Pool
	documents        *prometheus.Desc
	oldest           *prometheus.Desc
	acknowledgements *prometheus.Desc
}

func newBacklog(pool *pgxpool.Pool) backlog {
	return backlog{pool: pool,
		documents:        prometheus.NewDesc("firstcopy_documents", "Documents that are pending, stuck or held.", []string{"state"}, nil),
		oldest:           prometheus.NewDesc("firstcopy_documents_oldest_seconds", "Age of the oldest such document.", []string{"state"}, nil),
		acknowledgements: prometheus.NewDesc("firstcopy_acknowledgements", "Acknowledgements that are pending or stuck.", []string{"state"}, nil)}
}

func (b backlog) Describe(ch chan<- *prometheus.Desc) {
	ch <- b.documents
	ch <- b.oldest
	ch <- b.acknowledgements
}

func (b backlog) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	found, err := forward.Backlog(ctx, b.pool)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(b.documents, err)
		return
	}
	for _, f := range found {
		ch <- prometheus.MustNewConstMetric(b.documents, prometheus.GaugeValue, float64(f.Documents), string(f.State))
		ch <- prometheus.MustNewConstMetric(b.oldest, prometheus.GaugeValue, f.Oldest.Seconds(), string(f.State))
	}
	counts, err := forward.AcknowledgementBacklog(ctx, b.pool)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(b.acknowledgements, err)
		return
	}
	for state, n := range counts {
		ch <- prometheus.MustNewConstMetric(b.acknowledgements, prometheus.GaugeValue, float64(n), string(state))
	}
}

// expiry collects when certificates end, partners' and our own.
type expiry struct {
	directory *partners.Directory
	own       map[string][]*x509.Certificate // by station
	desc      *prometheus.Desc
}

func newExpiry(directory *partners.Directory, own map[string][]*x509.Certificate) expiry {
	return expiry{directory, own, prometheus.NewDesc("firstcopy_certificate_expiry_timestamp_seconds",
		"When a certificate ends.", []string{"owner", "serial", "sha256"}, nil)}
}

func (e expiry) Describe(ch chan<- *prometheus.Desc) { ch <- e.desc }

func (e expiry) Collect(ch chan<- prometheus.Metric) {
	type pin struct{ owner, fingerprint string }
	told := map[pin]bool{} // one told twice would spoil the whole page, and one may be pinned for each use
	tell := func(owner string, c *x509.Certificate) {
		sum := sha256.Sum256(c.Raw)
		p := pin{owner, hex.EncodeToString(sum[:8])} // serial numbers of self-signed certificates are often equal
		if !told[p] {
			told[p] = true
			ch <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, float64(c.NotAfter.Unix()), owner,
				c.SerialNumber.Text(16), p.fingerprint)
		}
	}
	for _, a := range e.directory.All() {
		for _, c := range a.AS2.Certificates {
			tell("partner/"+a.Name, c.X509)
		}
	}
	for name, list := range e.own {
		for _, c := range list {
			tell("station/"+name, c)
		}
	}
}
