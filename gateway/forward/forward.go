// Package forward carries documents, asynchronous receipts and functional acknowledgements out of the gateway, at least once
// each, under a stable id.
//
// The outbox is River: a job is inserted in the ingest transaction and carries nothing but ids; the truth is in the
// document, receipt and acknowledgement tables. Every state change names the state it expects, so a job that runs twice
// changes nothing the second time. The package owns the tables document, payload_chunk, payload_stage and acknowledgement, with
// those beside it, and all of River's.
// An [Outbox] is safe for concurrent use.
package forward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"firstcopy/as2/smime"
	"firstcopy/partners"
)

// Config says how hard the outbox tries.
type Config struct {
	Workers    int           // documents under way at once, per node
	Attempts   int           // per document, receipt or acknowledgement
	Backoff    time.Duration // after the first failure; doubles with each
	BackoffMax time.Duration
	Timeout    time.Duration // per attempt
	Poll       time.Duration // how often the outbox looks for work; 100 ms if zero
	// SigningKey is the key with which a station of ours signs messages to partners now.
	SigningKey func(station string, now time.Time) (smime.Key, error)
	// AcknowledgementSinks are those of channels beside AS2, by the channel's name.
	AcknowledgementSinks map[string]AcknowledgementSink
	Channels             []Channel // that have jobs of their own
}

// Channel is work that other packages put into the outbox, in a queue of its own.
type Channel struct {
	Queue string
	Add   func(*river.Workers)
}

// Queues of the outbox. Receipts have their own, so that a dead sink cannot hold back an MDN, and so have acknowledgements.
const (
	documentQueue = "document"
	receiptQueue  = "receipt"
	upkeepQueue   = "upkeep"

	acknowledgementQueue = "acknowledgement"
)

// Observer is told what happened, for metrics. Calls come from many goroutines.
type Observer interface {
	Forwarded(partner string, took time.Duration)
	ForwardFailed(partner string, stuck bool)
	ReceiptDelivered(partner string, ok bool)
	Acknowledged(partner string, ok, stuck bool)
}

// Outbox inserts jobs and works them off.
type Outbox struct {
	config   Config
	client   *river.Client[pgx.Tx]
	pool     *pgxpool.Pool
	partners *partners.Directory
	log      *slog.Logger
	observer Observer
	node     string
	web      *webClient
	share    *share
	working  atomic.Bool

	acknowledgements *share
}

// Working reports whether jobs are being taken: from when the database has let the outbox start until it stops.
func (o *Outbox) Working() bool { return o.working.Load() }

// New makes an outbox on a pool of its own: River's statements may take longer than an ingest transaction is allowed.
func New(pool *pgxpool.Pool, directory *partners.Directory, config Config, node string, log *slog.Logger, observer Observer) (*Outbox, error) {
	o := &Outbox{config: config, pool: pool, partners: directory, log: log, observer: observer, node: node,
		web: newWebClient(), share: newShare(max(1, config.Workers/2)), acknowledgements: newShare(max(1, config.Workers/2))}
	workers := river.NewWorkers()
	river.AddWorker(workers, &documentWorker{outbox: o})
	river.AddWorker(workers, &receiptWorker{outbox: o})
	river.AddWorker(workers, &acknowledgementWorker{outbox: o})
	river.AddWorker(workers, &upkeepWorker{outbox: o})
	poll := config.Poll
	if poll == 0 {
		poll = 100 * time.Millisecond
	}
	queues := map[string]river.QueueConfig{
		documentQueue: {MaxWorkers: config.Workers},
		receiptQueue:  {MaxWorkers: config.Workers},
		upkeepQueue:   {MaxWorkers: 1},

		acknowledgementQueue: {MaxWorkers: config.Workers},
	}
	for _, c := range config.Channels {
		c.Add(workers)
		queues[c.Queue] = river.QueueConfig{MaxWorkers: config.Workers}
	}
	client, err := river.NewClient(quietDriver{riverpgxv5.New(pool)}, &river.Config{
		ID:                node + "/" + uuid.NewString()[:8],
		FetchCooldown:     min(poll, 20*time.Millisecond),
		FetchPollInterval: poll,
		PollOnly:          true,
		JobTimeout:        -1, // each worker names its own
		MaxAttempts:       config.Attempts,
		RetryPolicy:       backoff{config},
		// A job whose node died is taken up again after this; no attempt runs longer.
		RescueStuckJobsAfter: config.Timeout + 5*time.Second,
		Queues:               queues,
		PeriodicJobs: []*river.PeriodicJob{river.NewPeriodicJob(river.PeriodicInterval(10*time.Minute),
			func() (river.JobArgs, *river.InsertOpts) { return upkeepArgs{}, nil }, &river.PeriodicJobOpts{RunOnStart: true})},
		Workers: workers,
		Logger:  slog.New(atLeast{log.With("component", "outbox").Handler(), slog.LevelWarn}),
	})
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	o.client = client
	return o, nil
}

// quietDriver keeps River from sending a NOTIFY with each insert: it would take a lock that serialises all commits of the
// database, and a round trip. Polling ten times a second costs less.
type quietDriver struct{ *riverpgxv5.Driver }

func (quietDriver) SupportsListener() bool     { return false }
func (quietDriver) SupportsListenNotify() bool { return false }

// Run works jobs off until ctx ends, then stops taking new ones and waits for those under way, grace at most.
func (o *Outbox) Run(ctx context.Context, grace time.Duration) error {
	if !o.start(ctx) {
		return nil
	}
	o.working.Store(true)
	defer o.working.Store(false)
	<-ctx.Done()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := o.client.Stop(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		hard, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = o.client.StopAndCancel(hard)
	}
	o.web.CloseIdleConnections()
	return err
}

// start tries until River's services run, and reports false if ctx ends first: a database that goes away at this moment
// must not end the node, which would have outlived it a moment later.
func (o *Outbox) start(ctx context.Context) bool {
	for {
		err := o.client.Start(context.WithoutCancel(ctx))
		if err == nil {
			return true
		}
		o.log.WarnContext(ctx, "outbox not started", "retry_in", startAgain, "error", err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(startAgain):
		}
	}
}

// startAgain is how long a failed start waits for the next.
const startAgain = time.Second

// Jobs are the outbox's work of one delivery.
type Jobs struct {
	Documents        []uuid.UUID
	Receipt          *ReceiptJob // asynchronous; nil for none
	Acknowledgements []AcknowledgementJob
}

// Enqueue inserts the jobs of one delivery and returns their ids, in the order of the fields.
func (o *Outbox) Enqueue(ctx context.Context, tx pgx.Tx, jobs Jobs) ([]int64, error) {
	params := make([]river.InsertManyParams, 0, len(jobs.Documents)+1+len(jobs.Acknowledgements))
	for _, id := range jobs.Documents {
		params = append(params, river.InsertManyParams{Args: documentArgs{Document: id}})
	}
	if jobs.Receipt != nil {
		params = append(params, river.InsertManyParams{Args: *jobs.Receipt})
	}
	for _, a := range jobs.Acknowledgements {
		params = append(params, river.InsertManyParams{Args: a})
	}
	return o.Insert(ctx, tx, params)
}

// Insert inserts jobs, and returns their numbers in order.
func (o *Outbox) Insert(ctx context.Context, tx pgx.Tx, params []river.InsertManyParams) ([]int64, error) {
	if len(params) == 0 {
		return nil, nil
	}
	results, err := o.client.InsertManyTx(ctx, tx, params)
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	ids := make([]int64, len(results))
	for i, r := range results {
		ids[i] = r.Job.ID
	}
	return ids, nil
}

// backoff doubles from Backoff to BackoffMax, and spreads by a quarter so that a sink that comes back is not stormed.
type backoff struct{ Config }

func (b backoff) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().Add(b.delay(len(job.Errors) + 1))
}

func (b backoff) delay(failures int) time.Duration {
	d := b.Backoff
	for range failures - 1 {
		if d *= 2; d >= b.BackoffMax {
			d = b.BackoffMax
			break
		}
	}
	return d - d/8 + time.Duration(rand.Int64N(int64(d/4)+1))
}

// atLeast raises the level of a handler: River tells more of its life than an operator needs.
type atLeast struct {
	slog.Handler
	level slog.Level
}

func (h atLeast) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }
