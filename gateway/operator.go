package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"firstcopy/migrations"
)

// operator serves those who run the node, on a listener of its own: liveness, readiness, metrics.
type operator struct {
	pool    *pgxpool.Pool
	metrics *Metrics
	version string
	working func() bool // the outbox takes jobs
	leaving atomic.Bool // an orderly stop has begun
}

func (o *operator) handler() http.Handler {
	r := chi.NewRouter()
	r.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "alive, firstcopy "+o.version) })
	r.Get("/readyz", o.ready)
	// What one collector cannot tell, such as the backlog while the database is away, must not hide the rest.
	r.Handle("/metrics", promhttp.HandlerFor(o.metrics.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	return r
}

// ready answers 200 when every check passes, else 503, and names each check either way.
func (o *operator) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
	defer cancel()
	checks := map[string]string{
		"database":   verdictOf(o.pool.Ping(ctx)),
		"migrations": verdictOf(o.schema(ctx)),
		"account":    verdictOf(o.months(ctx)),
		"workers":    verdictOf(o.workers()),
	}
	status := http.StatusOK
	for _, v := range checks {
		if v != "ok" {
			status = http.StatusServiceUnavailable
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(checks)
}

func verdictOf(err error) string {
	if err != nil {
		return err.Error()
	}
	return "ok"
}

// schema lets a node stay ready while the next release's migrations have been applied: each release runs on the schema before
// and after them, and a rolling upgrade must not take all old nodes out at once.
func (o *operator) schema(ctx context.Context) error {
	err := migrations.Check(ctx, o.pool)
	if errors.Is(err, migrations.ErrNewer) {
		return nil
	}
	return err
}

func (o *operator) workers() error {
	if o.leaving.Load() {
		return fmt.Errorf("the node is stopping")
	}
	if !o.working() {
		return fmt.Errorf("the outbox is not running")
	}
	return nil
}

// months checks that the account can be written now and for a week to come: a missing partition would refuse every ingest.
func (o *operator) months(ctx context.Context) error {
	var missing string
	err := o.pool.QueryRow(ctx, `
SELECT coalesce(min(month), '') FROM (
	SELECT 'ledger_event_' || to_char(t AT TIME ZONE 'UTC', 'YYYYMM') AS month FROM (VALUES (now()), (now() + interval '7 days')) v (t)) m
WHERE to_regclass(month) IS NULL`).Scan(&missing)
	if err != nil {
		return err
	}
	if missing != "" {
		return fmt.Errorf("partition %s is missing", missing)
	}
	return nil
}
