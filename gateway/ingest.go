package gateway

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/dedup"
	"firstcopy/gateway/forward"
	"firstcopy/internal/failpoint"
	"firstcopy/partners"
)

// outbox is where forwarding work is put, inside the ingest transaction.
type outbox interface {
	Enqueue(ctx context.Context, tx pgx.Tx, jobs forward.Jobs) ([]int64, error)
}

// Ingester decides deliveries.
type Ingester struct {
	pool   *pgxpool.Pool
	outbox outbox
	bounds Transaction
	node   string
	recent *dedup.Recent
}

// NewIngester makes an ingester on a pool from [OpenPool].
func NewIngester(pool *pgxpool.Pool, outbox outbox, bounds Transaction, node string) *Ingester {
	return &Ingester{pool: pool, outbox: outbox, bounds: bounds, node: node, recent: dedup.NewRecent()}
}

// Ingest decides a delivery: which of its interchanges are first copies, to be forwarded, and what the partner is
// answered. When it returns without error, everything is committed. Every error is an [ErrUnavailable].
func (g *Ingester) Ingest(ctx context.Context, d *Delivery) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, g.bounds.Deadline+stagingTime(d.Payload.Size()))
	defer cancel()
	work := newWork(g, d)
	defer work.dropUnneeded(ctx)
	outcome, err := work.ingest(ctx)
	if err != nil {
		return Outcome{}, &ErrUnavailable{Err: err}
	}
	return outcome, nil
}

// stagingTime is what large octets may take to be staged, which happens before the transaction: a second for 4 MiB.
func stagingTime(size int64) time.Duration { return time.Duration(size/(4<<20)) * time.Second }

// maxClaims bounds how often a lost claim is looked up again. A claim is lost only to a committed delivery, so twice would
// do unless deliveries are purged at the same moment.
const maxClaims = 5

func (w *work) ingest(ctx context.Context) (Outcome, error) {
	failpoint.Hit("ingest.spooled")
	for range maxClaims {
		outcome, err := w.attempt(ctx)
		if !errors.Is(err, errClaimed) {
			return outcome, err
		}
	}
	return Outcome{}, errClaimed
}

func (w *work) attempt(ctx context.Context) (Outcome, error) {
	prior, err := w.prior(ctx, w.Delivery)
	if err != nil {
		return Outcome{}, err
	}
	if prior.delivery != uuid.Nil {
		return w.repeat(ctx, prior)
	}
	w.reusedID = prior.reusedID
	if err := w.prepare(ctx); err != nil {
		return Outcome{}, err
	}
	return w.commit(ctx)
}

// errClaimed says that the same delivery has been committed by somebody else meanwhile.
var errClaimed = errors.New("the same delivery is being taken elsewhere")

// work is one delivery on its way through the transaction.
type work struct {
	*Ingester
	*Delivery
	registration dedup.Registration
	receipt      Receipt
	reusedID     bool
	staged       map[uuid.UUID]bool
	due          []due
	numbered     bool
}

func newWork(g *Ingester, d *Delivery) *work {
	w := &work{Ingester: g, Delivery: d, staged: map[uuid.UUID]bool{}}
	w.registration = dedup.Registration{Partner: d.Partner.ID, Delivery: d.ID, Node: g.node, Drift: versionState(d.Partner.Drift),
		Stale: versionState(d.Partner.Stale), SameDocument: sameState(d.Partner.SameDocument), Entries: make([]dedup.Entry, len(d.Interchanges))}
	for i := range d.Interchanges {
		e := entry(d.Partner, &d.Interchanges[i])
		e.Document, e.Seen = uuid.Must(uuid.NewV7()), g.recent.Seen(d.Partner.ID, &e.Reference)
		w.registration.Entries[i] = e
	}
	return w
}

// prepare does what must not happen inside the transaction: it composes and signs the receipt, draws control numbers, and
// stages large octets.
func (w *work) prepare(ctx context.Context) error {
	known, err := w.look(ctx)
	if err != nil {
		return err
	}
	if w.Receipt.Compose != nil && w.receipt.Octets == nil {
		if w.receipt, err = w.Receipt.Compose(all(known)); err != nil {
			return fmt.Errorf("composing the receipt: %w", err)
		}
	}
	w.registration.Detail = w.detail()
	failpoint.Hit("ingest.composed")
	if err := w.number(ctx); err != nil {
		return err
	}
	for i, e := range w.registration.Entries {
		if x := &w.Interchanges[i]; x.End-x.Start > forward.MaxInline && !known[i] && !w.staged[e.Document] {
			if err := forward.Stage(ctx, w.pool, e.Document, w.Payload.Section(x.Start, x.End)); err != nil {
				return err
			}
			w.staged[e.Document] = true
		}
	}
	failpoint.Hit("ingest.staged")
	return nil
}

// look asks beforehand what is known already, where that decides anything: whether large octets need staging, and the
// receipt of a partner who wants to be warned of duplicates. What it says is not binding.
func (w *work) look(ctx context.Context) ([]bool, error) {
	if w.Payload.Size() > forward.MaxInline || w.Partner.OnDuplicate == partners.AnswerWarning {
		return dedup.Known(ctx, w.pool, &w.registration)
	}
	return make([]bool, len(w.Interchanges)), nil
}

func all(flags []bool) bool {
	for _, f := range flags {
		if !f {
			return false
		}
	}
	return len(flags) > 0
}

// detail goes into every event: with it the account alone shows which delivery was answered with which receipt.
func (w *work) detail() string {
	fields := map[string]any{"channel": w.Channel, "transport_id": w.TransportID}
	if w.receipt.MessageID != "" {
		fields["receipt"], fields["disposition"], fields["mic"] = w.receipt.MessageID, w.receipt.Disposition, w.receipt.MIC
	}
	if w.Security.SignerFingerprint != nil {
		fields["signer"] = hex.EncodeToString(w.Security.SignerFingerprint)
	}
	return dedup.Detail(fields)
}

// commit is the one transaction. Round trips: claim and register; the outbox; documents, octets, receipt and COMMIT.
func (w *work) commit(ctx context.Context) (Outcome, error) {
	var claimed bool
	var batch pgx.Batch
	batch.Queue(beginSQL)
	w.queueClaim(&batch, &claimed)
	w.registration.Queue(&batch)
	tx, err := begin(ctx, w.pool, &batch)
	if err != nil {
		return Outcome{}, err
	}
	defer tx.Rollback(ctx)
	if !claimed {
		return Outcome{}, errClaimed
	}
	failpoint.Hit("ingest.registered")
	decisions := w.registration.Decisions
	documents := w.documents(decisions)
	if err := w.settle(ctx, tx, decisions); err != nil {
		return Outcome{}, err
	}
	todo := forward.Jobs{Documents: pending(documents), Receipt: w.receiptJob(), Acknowledgements: w.acknowledge(decisions)}
	jobs, err := w.outbox.Enqueue(ctx, tx, todo)
	if err != nil {
		return Outcome{}, err
	}
	failpoint.Hit("ingest.enqueued")
	if err := w.writeUnstaged(ctx, tx, documents); err != nil {
		return Outcome{}, err
	}
	last, err := w.writeDocuments(ctx, tx, documents, jobs)
	if err != nil {
		return Outcome{}, err
	}
	w.queueReceipt(last)
	w.record(last, w.ID)
	w.queueAcknowledgements(last, decisions, jobs[len(jobs)-len(todo.Acknowledgements):])
	failpoint.Hit("ingest.before-commit")
	if err := tx.commitWith(ctx, last); err != nil {
		return Outcome{}, err
	}
	failpoint.Hit("ingest.committed")
	return Outcome{Delivery: w.ID, Receipt: w.syncReceipt(w.receipt.Octets), Decisions: decisions}, nil
}

// documents lists what is to be kept: all but copies of what is kept already.
func (w *work) documents(decisions []dedup.Decision) []forward.Document {
	var docs []forward.Document
	for i, decision := range decisions {
		if !decision.Fresh() {
			continue
		}
		x, origin := &w.Interchanges[i], w.origin(i)
		docs = append(docs, forward.Document{
			ID: w.registration.Entries[i].Document, Delivery: w.ID, PartnerID: w.Partner.ID, Key: decision.Key,
			Epoch: decision.Epoch, Ordinal: i + 1, Verdict: string(decision.Verdict), State: documentState(decision.State),
			Standard: string(x.Standard), Version: x.Version, Sender: x.AsWritten.Sender, Recipient: x.AsWritten.Recipient,
			Reference: w.registration.Entries[i].Reference.Control, MessageTypes: x.Types(), Functions: x.Functions(), Test: x.Test, Irregular: x.Irregular,
			Raw: x.Raw[:], Content: x.Content[:], Size: x.End - x.Start, FileName: text(origin.FileName), ContentType: text(origin.ContentType), Lineage: decision.Lineage,
		})
	}
	return docs
}

func pending(docs []forward.Document) []uuid.UUID {
	var ids []uuid.UUID
	for i := range docs {
		if docs[i].State == forward.Pending {
			ids = append(ids, docs[i].ID)
		}
	}
	return ids
}

// writeUnstaged writes large octets that the look beforehand took for known.
func (w *work) writeUnstaged(ctx context.Context, tx pgx.Tx, docs []forward.Document) error {
	for i := range docs {
		d := &docs[i]
		if d.Size <= forward.MaxInline || w.staged[d.ID] {
			continue
		}
		x := &w.Interchanges[d.Ordinal-1]
		if err := forward.WriteOctets(ctx, tx, d.ID, w.Payload.Section(x.Start, x.End)); err != nil {
			return err
		}
	}
	return nil
}

// maxBatch bounds the octets that one batch holds in memory.
const maxBatch = 4 << 20

// writeDocuments sends the documents with their octets, in as many batches as keep memory bounded, all but the last.
func (w *work) writeDocuments(ctx context.Context, tx pgx.Tx, docs []forward.Document, jobs []int64) (*pgx.Batch, error) {
	batch, held, next := &pgx.Batch{}, 0, 0
	for i := range docs {
		d := &docs[i]
		var job int64
		if d.State == forward.Pending {
			job, next = jobs[next], next+1
		}
		forward.QueueInsert(batch, d, job)
		switch {
		case w.staged[d.ID]:
			forward.QueueUnstage(batch, d.ID)
		case d.Size <= forward.MaxInline:
			x := &w.Interchanges[d.Ordinal-1]
			octets, err := w.Payload.Octets(x.Start, x.End)
			if err != nil {
				return nil, fmt.Errorf("reading spooled octets: %w", err)
			}
			forward.QueueOctets(batch, d.ID, octets)
			held += len(octets)
		}
		if held >= maxBatch && i < len(docs)-1 {
			if err := tx.SendBatch(ctx, batch).Close(); err != nil {
				return nil, err
			}
			batch, held = &pgx.Batch{}, 0
		}
	}
	return batch, nil
}

// dropUnneeded removes the stages that no document has made visible, whatever became of the delivery: a partner who is
// answered 503 comes again, and would fill the disk just when the database is in trouble. The sweeper gets what a crash
// leaves here.
func (w *work) dropUnneeded(ctx context.Context) {
	if len(w.staged) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for id := range w.staged {
		_ = forward.DropStage(ctx, w.pool, id)
	}
}
