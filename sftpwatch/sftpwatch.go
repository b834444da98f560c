// Package sftpwatch fetches partners' files by SFTP (version 3, draft-ietf-secsh-filexfer-02) and hands each of them to the
// gateway once it is whole.
//
// A [Watcher] polls the folders of all partners whose agreements have SFTP terms. A poll lists the folder, once, and takes the
// files that have come to rest: unchanged over two polls and a quiet time, or vouched for by a done file. A taken file is
// claimed in Postgres, looked at, read, counted, looked at again, and its envelope must be whole; then it is decided like
// every other delivery, and what is due afterwards (archive, delete) is a job of the same transaction. Nothing that is done
// at the server guards against taking a file twice: its delivery does, and behind it the ledger.
//
// Servers may be slow, dead or hostile. Every call has a deadline, after which the connection is closed; panics of the
// libraries are contained; memory does not depend on what is sent; and what one partner's server does costs that partner
// alone. Host keys are pinned, and nothing is believed at first sight.
//
// Not done: folders below the agreed one, symbolic links, versions of SFTP after 3, resuming a broken read.
//
// The package owns the tables sftp_poll and sftp_file. A Watcher is safe for concurrent use, and any number of nodes may run
// one on the same database.
package sftpwatch

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"firstcopy/dedup/interchange"
	"firstcopy/partners"
)

// Gateway is what decides files.
type Gateway interface {
	// Spool makes room for the octets of one file, limit at most.
	Spool(limit int64) Payload
	// Ingest decides a file. When it returns without error, everything is committed. An error means that the outcome is not
	// known, and the file stays where it is.
	Ingest(ctx context.Context, f *Arrival) (Outcome, error)
}

// Payload holds the octets of a file. It is written once, then read any number of times.
type Payload interface {
	io.Writer
	Size() int64
	Sum() [32]byte // SHA-256
	Section(start, end int64) io.Reader
	// Interchanges finds what is in it, once it is complete.
	Interchanges() ([]interchange.Interchange, error)
	Close() error
}

// Arrival is a file that has been read whole.
type Arrival struct {
	ID            uuid.UUID // for its delivery
	Partner       *partners.Agreement
	TransportID   string // what tells this version of the file from others of its name
	FileName      string // made displayable
	RemoteAddress string
	ReceivedAt    time.Time
	Payload       Payload
	Interchanges  []interchange.Interchange
	// Record adds what the channel keeps to the transaction, a repeat's included; it gets the delivery that stands.
	Record func(batch *pgx.Batch, delivery uuid.UUID)
}

// Outcome is what became of an arrival.
type Outcome struct {
	Delivery uuid.UUID // the delivery that stands: the first of a repeat
	Repeat   bool      // the same version of the file with the same octets has been taken before
}

// Outbox inserts jobs.
type Outbox interface {
	Insert(ctx context.Context, tx pgx.Tx, jobs []river.InsertManyParams) ([]int64, error)
}

// Observer is told what happened, for metrics. Calls come from many goroutines.
type Observer interface {
	Polled(partner string, kind Kind, took time.Duration) // kind is empty for a good poll
	Fetched(partner string, octets int64)
	SetAside(partner string, why string) // incomplete, refused, changed, failed …
	PutBack(partner string, kind Kind)   // post-actions and acknowledgements; kind is empty when done
}

// Config says how hard the watcher works. What is zero gets a default.
type Config struct {
	Partners int           // polled at once; 1024: one that is silent must cost the others no place
	Look     time.Duration // how often due polls are looked for; 250 ms
	Lease    time.Duration // after which another node takes over from one that has died; 30 s
	Stop     time.Duration // for an orderly stop: files under way may end; 5 s
}

func (c Config) withDefaults() Config {
	return Config{Partners: cmp.Or(c.Partners, 1024), Look: cmp.Or(c.Look, 250*time.Millisecond),
		Lease: cmp.Or(c.Lease, 30*time.Second), Stop: cmp.Or(c.Stop, 5*time.Second)}
}

// Watcher polls the partners.
type Watcher struct {
	config   Config
	partners *partners.Directory
	gateway  Gateway
	outbox   Outbox
	store    *store
	links    *links
	log      *slog.Logger
	observer Observer
	seen     *memory
}

// New makes a watcher. Its jobs are worked by the outbox that [Watcher.AddWorkers] has been called for.
func New(pool *pgxpool.Pool, directory *partners.Directory, config Config, node string, log *slog.Logger, observer Observer) *Watcher {
	log = log.With("component", "sftpwatch")
	config = config.withDefaults()
	return &Watcher{config: config, partners: directory, log: log, observer: observer, links: newLinks(log), seen: newMemory(),
		store: &store{pool: pool, owner: node + "/" + uuid.NewString()[:8], lease: config.Lease}}
}

// Connect gives the watcher what decides its files and takes its jobs, which in their turn may need the watcher.
func (w *Watcher) Connect(gateway Gateway, outbox Outbox) { w.gateway, w.outbox = gateway, outbox }
