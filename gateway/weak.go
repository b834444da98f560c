package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"firstcopy/dedup"
	"firstcopy/partners"
)

// weakness collects how many references of each partner are too weak to be keys. The look through the account is not for every
// scrape: what it finds is kept for a while.
type weakness struct {
	pool      *pgxpool.Pool
	directory *partners.Directory
	desc      *prometheus.Desc
	mu        sync.Mutex
	found     []dedup.Weakness
	at        time.Time
}

// lookAgain is how long a scrape is answered with what an earlier one has found.
const lookAgain = 5 * time.Minute

func newWeakness(pool *pgxpool.Pool, directory *partners.Directory) *weakness {
	return &weakness{pool: pool, directory: directory, desc: prometheus.NewDesc("firstcopy_weak_references",
		"References that came again and again with other content, by partner.", []string{"partner"}, nil)}
}

func (w *weakness) Describe(ch chan<- *prometheus.Desc) { ch <- w.desc }

func (w *weakness) Collect(ch chan<- prometheus.Metric) {
	found, err := w.look()
	if err != nil {
		ch <- prometheus.NewInvalidMetric(w.desc, err)
		return
	}
	for _, f := range found {
		if a, ok := w.directory.ByID(f.Partner); ok {
			ch <- prometheus.MustNewConstMetric(w.desc, prometheus.GaugeValue, float64(f.References), a.Name)
		}
	}
}

func (w *weakness) look() ([]dedup.Weakness, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.at) < lookAgain {
		return w.found, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	found, err := dedup.Weak(ctx, w.pool, 0)
	if err != nil {
		return nil, err
	}
	w.found, w.at = found, time.Now()
	return found, nil
}

// warnOfWeakReferences writes a line for each partner whose agreement should name another key.
func (n *Node) warnOfWeakReferences(ctx context.Context) {
	found, err := dedup.Weak(ctx, n.work, 0)
	if err != nil {
		n.log.WarnContext(ctx, "weak references not looked for", "error", err)
		return
	}
	for _, w := range found {
		if a, ok := n.directory.ByID(w.Partner); ok {
			n.log.WarnContext(ctx, "partner's references are too weak to be keys", "partner", a.Name, "warning", w.String(),
				"references", w.References, "key_by", string(a.Key.By), "advice", string(a.Key.Stronger(w.Daily)))
		}
	}
}
