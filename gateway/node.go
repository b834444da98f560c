package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"firstcopy/as2/smime"
	"firstcopy/gateway/forward"
	"firstcopy/migrations"
	"firstcopy/partners"
	"firstcopy/sftpwatch"
)

// Config is all that a node needs.
type Config struct {
	Version      string
	Node         string // its name in events and logs
	DatabaseURL  string
	Connections  int // of the ingest pool; the outbox has as many of its own as it has workers
	Listen       Listen
	Operator     string // address of the operator's listener
	Stations     map[string]Station
	Certificates map[string][]*x509.Certificate // of the stations, for their expiry
	Limits       Limits
	Transaction  Transaction
	Forward      forward.Config
	SFTP         sftpwatch.Config
	Grace        time.Duration // for an orderly stop
}

// Listen is the partners' listener.
type Listen struct {
	Address       string
	TLS           *tls.Config // nil: plain HTTP, behind a terminating proxy
	Connections   int         // at once, idle ones included; 0 is no limit
	Path          string
	HeaderLimit   int           // octets
	HeaderTimeout time.Duration // from the connection's first octet to the header's end
	IdleTimeout   time.Duration // between two requests of a connection
}

// Node is one gateway process: listeners, workers, and the followed agreements. Any number of nodes share one database.
type Node struct {
	config    Config
	log       *slog.Logger
	ingest    *pgxpool.Pool
	work      *pgxpool.Pool
	directory *partners.Directory
	outbox    *forward.Outbox
	endpoint  *Endpoint
	watcher   *sftpwatch.Watcher
	operator  *operator
	public    net.Listener
	private   net.Listener
}

// Open connects, checks the schema, loads the agreements and listens. Nothing is served before [Node.Run].
func Open(ctx context.Context, c Config, log *slog.Logger) (n *Node, err error) {
	n = &Node{config: c, log: log}
	opened := n // a return of nil, err clears n
	defer func() {
		if err != nil {
			opened.close()
		}
	}()
	if n.ingest, err = OpenPool(ctx, c.DatabaseURL, c.Connections, c.Transaction); err != nil {
		return nil, err
	}
	if n.work, err = openWorkPool(ctx, c.DatabaseURL, c.Forward.Workers+4); err != nil {
		return nil, err
	}
	if err = migrations.Check(ctx, n.work); err != nil {
		return nil, fmt.Errorf("database schema: %w", err)
	}
	if _, err = n.work.Exec(ctx, `SELECT ledger_event_ensure(3)`); err != nil {
		return nil, fmt.Errorf("making the account's months: %w", err)
	}
	n.directory = partners.NewDirectory(n.work, log)
	if err = n.directory.Load(ctx); err != nil {
		return nil, err
	}
	metrics := NewMetrics()
	metrics.registry.MustRegister(newBacklog(n.work), newExpiry(n.directory, c.Certificates), newWeakness(n.work, n.directory),
		newPolled(n.work))
	c.Forward.SigningKey = signingKey(c.Stations)
	n.watcher = sftpwatch.New(n.work, n.directory, c.SFTP, c.Node, log, metrics)
	c.Forward.Channels = append(c.Forward.Channels, forward.Channel{Queue: sftpwatch.Queue, Add: n.watcher.AddWorkers})
	c.Forward.AcknowledgementSinks = map[string]forward.AcknowledgementSink{SFTP: putting{n.watcher}}
	if n.outbox, err = forward.New(n.work, n.directory, c.Forward, c.Node, log, metrics); err != nil {
		return nil, err
	}
	decide := timed{NewIngester(n.ingest, n.outbox, c.Transaction, c.Node), metrics}
	n.endpoint = NewEndpoint(c.Stations, n.directory, decide, c.Limits, metrics, log)
	n.watcher.Connect(newFetching(decide, c.Limits, c.Connections, metrics, log), n.outbox)
	n.operator = &operator{pool: n.work, metrics: metrics, version: c.Version, working: n.outbox.Working}
	if n.public, err = net.Listen("tcp", c.Listen.Address); err != nil {
		return nil, fmt.Errorf("partners' listener: %w", err)
	}
	n.public = limit(n.public, c.Listen.Connections)
	if n.private, err = net.Listen("tcp", c.Operator); err != nil {
		return nil, fmt.Errorf("operator's listener: %w", err)
	}
	return n, nil
}

// signingKey is how the outbox signs messages of our stations.
func signingKey(stations map[string]Station) func(string, time.Time) (smime.Key, error) {
	return func(name string, now time.Time) (smime.Key, error) {
		station, ok := stations[name]
		if !ok {
			return smime.Key{}, fmt.Errorf("this node has no station %q", name)
		}
		return station.SigningKey(now)
	}
}

// timed measures what ingest takes.
type timed struct {
	decider
	metrics *Metrics
}

func (t timed) Ingest(ctx context.Context, d *Delivery) (Outcome, error) {
	start := time.Now()
	defer func() { t.metrics.ingest.Observe(time.Since(start).Seconds()) }()
	return t.decider.Ingest(ctx, d)
}

func openWorkPool(ctx context.Context, url string, connections int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database address: %w", err)
	}
	config.MaxConns = int32(connections)
	config.ConnConfig.RuntimeParams["application_name"] = "firstcopy outbox"
	config.AfterConnect = insistOnDurability
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return pool, nil
}

// Address is where partners post to; OperatorAddress where the operator's listener is.
func (n *Node) Address() string { return n.public.Addr().String() }

// OperatorAddress is the address of the operator's listener.
func (n *Node) OperatorAddress() string { return n.private.Addr().String() }

// Reload takes over the agreements as they are in the database now. Run does so by itself when they change.
func (n *Node) Reload(ctx context.Context) error { return n.directory.Load(ctx) }

// Run serves until ctx ends, then stops in order: the listener takes no more, messages under way are answered, the
// outbox finishes its jobs, the pools close.
func (n *Node) Run(ctx context.Context) error {
	defer n.close()
	public, private := n.servers()
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	group, failed := errgroup.WithContext(ctx)
	group.Go(func() error { return serve(public, n.public, n.config.Listen.TLS) })
	group.Go(func() error { return serve(private, n.private, nil) })
	group.Go(func() error { return n.directory.Run(work) })
	group.Go(func() error { return n.outbox.Run(work, n.config.Grace) })
	group.Go(func() error {
		defer n.watcher.Close()
		return n.watcher.Run(failed)
	})
	group.Go(func() error { n.watchPartners(work); return nil })
	group.Go(func() error {
		<-failed.Done()
		return n.stop(ctx, public, private, stopWork)
	})
	n.log.InfoContext(ctx, "gateway started", "node", n.config.Node, "version", n.config.Version, "address", n.Address(),
		"path", n.config.Listen.Path, "operator", n.OperatorAddress(), "partners", len(n.directory.All()))
	err := group.Wait()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	n.log.InfoContext(context.WithoutCancel(ctx), "gateway stopped", "node", n.config.Node)
	return err
}

func (n *Node) stop(ctx context.Context, public, private *http.Server, stopWork func()) error {
	n.operator.leaving.Store(true)
	soft, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.config.Grace)
	defer cancel()
	stopWork() // no new jobs; those under way end beside the last messages
	err := public.Shutdown(soft)
	if errors.Is(err, context.DeadlineExceeded) { // partners who are still sending get no receipt, and retry
		err = public.Close()
	}
	n.endpoint.late.close()
	return errors.Join(err, private.Close())
}

// watchPartners warns every day of partners' certificates that have ended, or soon will, and of references that are no keys.
func (n *Node) watchPartners(ctx context.Context) {
	day := time.NewTicker(24 * time.Hour)
	defer day.Stop()
	for {
		for _, a := range n.directory.All() {
			for _, w := range a.CertificateWarnings(time.Now()) {
				n.log.WarnContext(ctx, "partner's certificate needs attention", "partner", w.Partner, "warning", w.Text)
			}
		}
		n.warnOfWeakReferences(ctx)
		select {
		case <-ctx.Done():
			return
		case <-day.C:
		}
	}
}

func (n *Node) servers() (public, private *http.Server) {
	c := n.config.Listen
	router := chi.NewRouter()
	router.Use(spelling)
	router.Handle(cleanPath(c.Path), n.endpoint)
	errorLog := slog.NewLogLogger(n.log.With("component", "http").Handler(), slog.LevelWarn) // refusals before any handler
	public = &http.Server{Handler: router, MaxHeaderBytes: c.HeaderLimit, ReadHeaderTimeout: c.HeaderTimeout,
		IdleTimeout: c.IdleTimeout, ErrorLog: errorLog, TLSConfig: c.TLS}
	private = &http.Server{Handler: n.operator.handler(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: errorLog}
	return public, private
}

// spelling accepts //as2 and /as2/ for /as2, without a redirect, which AS2 clients rarely follow.
func spelling(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path, r.URL.RawPath = cleanPath(r.URL.Path), ""
		next.ServeHTTP(w, r)
	})
}

func serve(server *http.Server, listener net.Listener, secure *tls.Config) error {
	if secure != nil {
		listener = tls.NewListener(listener, secure)
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (n *Node) close() {
	for _, l := range []net.Listener{n.public, n.private} {
		if l != nil {
			l.Close()
		}
	}
	for _, pool := range []*pgxpool.Pool{n.ingest, n.work} {
		if pool != nil {
			pool.Close()
		}
	}
}
