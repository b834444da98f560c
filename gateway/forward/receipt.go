package forward

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"firstcopy/dedup"
	"firstcopy/internal/failpoint"
	"firstcopy/mdn"
	"firstcopy/partners"
)

// ReceiptJob posts the stored receipt of a delivery to where the partner asked for it (RFC 4130 §7.2). A repeat of the
// delivery inserts another such job, which sends the same octets.
type ReceiptJob struct {
	Delivery    uuid.UUID `json:"delivery_id"`
	ReceiptKind string    `json:"receipt"`
}

func (ReceiptJob) Kind() string                 { return "send_receipt" }
func (ReceiptJob) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: receiptQueue} }

type receiptWorker struct {
	river.WorkerDefaults[ReceiptJob]
	outbox *Outbox
}

func (w *receiptWorker) Timeout(*river.Job[ReceiptJob]) time.Duration { return w.outbox.config.Timeout }

type storedReceipt struct {
	partner int64
	url     string
	octets  []byte
	message string
}

// Work posts the receipt once.
func (w *receiptWorker) Work(ctx context.Context, job *river.Job[ReceiptJob]) error {
	o := w.outbox
	r, err := o.receipt(ctx, job.Args)
	if err != nil {
		return err
	}
	if !o.share.take(-r.partner) { // receipts have a share of their own
		return o.stepBack(ctx, job.ID)
	}
	defer o.share.give(-r.partner)
	failpoint.Hit("receipt.loaded")
	name, err := o.postReceipt(ctx, r)
	last := job.Attempt >= job.MaxAttempts
	if err != nil {
		o.observer.ReceiptDelivered(name, false)
		level := slog.LevelWarn
		if last {
			level = slog.LevelError
			err = errors.Join(err, o.receiptEvent(ctx, job.Args, r, dedup.ReceiptFailed, err.Error()))
		}
		o.log.Log(ctx, level, "asynchronous receipt not delivered", "delivery_id", job.Args.Delivery, "partner", name,
			"url", r.url, "attempt", job.Attempt, "error", err)
		return err
	}
	failpoint.Hit("receipt.delivered")
	o.observer.ReceiptDelivered(name, true)
	o.log.InfoContext(ctx, "asynchronous receipt delivered", "delivery_id", job.Args.Delivery, "partner", name, "url", r.url,
		"attempt", job.Attempt)
	if err := o.receiptDone(ctx, job.Args, r); err != nil {
		return err
	}
	failpoint.Hit("receipt.committed")
	return nil
}

// receiptDone records the delivery and its event, in one transaction of one round trip.
func (o *Outbox) receiptDone(ctx context.Context, job ReceiptJob, r storedReceipt) error {
	var batch pgx.Batch
	batch.Queue(`UPDATE receipt SET delivered_at = now() WHERE delivery_id = $1 AND kind = $2 AND delivered_at IS NULL`,
		[16]byte(job.Delivery), job.ReceiptKind)
	dedup.QueueEvent(&batch, o.receiptLine(job, r, dedup.ReceiptDelivered, ""))
	return o.pool.SendBatch(ctx, &batch).Close()
}

func (o *Outbox) receipt(ctx context.Context, job ReceiptJob) (r storedReceipt, err error) {
	err = o.pool.QueryRow(ctx, `SELECT d.partner_id, r.async_url, r.octets, r.message_id
		FROM receipt r JOIN delivery d USING (delivery_id) WHERE r.delivery_id = $1 AND r.kind = $2`,
		[16]byte(job.Delivery), job.ReceiptKind).Scan(&r.partner, &r.url, &r.octets, &r.message)
	if err != nil {
		return r, fmt.Errorf("reading the receipt of %s: %w", job.Delivery, err)
	}
	return r, nil
}

func (o *Outbox) postReceipt(ctx context.Context, r storedReceipt) (partner string, err error) {
	agreement, ok := o.partners.ByID(r.partner)
	if !ok {
		return "", errors.New("the partner has no live agreement")
	}
	return agreement.Name, PostReceipt(ctx, agreement, r.url, r.octets)
}

// PostReceipt sends a marshalled receipt to where its partner asked for it, if the agreement allows that address. The
// status of the answer is all that counts (RFC 4130 §7.6).
func PostReceipt(ctx context.Context, partner *partners.Agreement, url string, octets []byte) error {
	if err := partner.AllowsAsync(url); err != nil {
		return err
	}
	entity, err := mdn.UnmarshalReceipt(octets)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(entity.Body))
	if err != nil {
		return err
	}
	for _, f := range entity.Header {
		req.Header[f.Name] = []string{f.Value} // names keep their spelling: some receivers compare case
	}
	resp, err := partnerClient(partner.AS2.AllowPrivate).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("partner answered %s", resp.Status)
	}
	return nil
}

func (o *Outbox) receiptEvent(ctx context.Context, job ReceiptJob, r storedReceipt, kind, text string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return pgx.BeginFunc(ctx, o.pool, func(tx pgx.Tx) error { return event(ctx, tx, o.receiptLine(job, r, kind, text)) })
}

func (o *Outbox) receiptLine(job ReceiptJob, r storedReceipt, kind, text string) dedup.Event {
	detail := map[string]any{"url": r.url, "receipt": r.message}
	if text != "" {
		detail["error"] = text
	}
	return dedup.Event{Partner: r.partner, Kind: kind, Delivery: job.Delivery, Node: o.node, Detail: dedup.Detail(detail)}
}

// Two clients for what goes to partners: the address in a Receipt-Delivery-Option comes from outside, and a name may lead
// anywhere, so the connection itself is checked, after name resolution, against what the agreement permits.
var (
	publicPartners  = newPartnerClient(false)
	privatePartners = newPartnerClient(true)
)

func partnerClient(private bool) *http.Client {
	if private {
		return privatePartners
	}
	return publicPartners
}

func newPartnerClient(private bool) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return partners.AddressAllowed(target.Addr(), private)
	}}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second,
			ResponseHeaderTimeout: 30 * time.Second, IdleConnTimeout: 30 * time.Second, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
