package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"

	"firstcopy/as2"
	"firstcopy/as2/smime"
	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/internal/failpoint"
	"firstcopy/mdn"
	"firstcopy/partners"
)

// Station is one of our own AS2 identities, an AS2-To of partners' messages.
type Station interface {
	// DecryptionKeys are the keys that may open messages now.
	DecryptionKeys(now time.Time) []smime.Key
	// SigningKey is the key that signs receipts now.
	SigningKey(now time.Time) (smime.Key, error)
}

// Limits bound what a partner may ask of the endpoint.
type Limits struct {
	Body        int64         // octets of a request body
	BodyIdle    time.Duration // between two reads of it
	BodyTotal   time.Duration // for all of it
	Concurrent  int           // requests under way; more are answered 503
	SpoolDir    string        // for payloads beyond SpoolMemory; "" for the system's
	SpoolMemory int           // octets
}

// decider decides deliveries: an [Ingester].
type decider interface {
	Ingest(ctx context.Context, d *Delivery) (Outcome, error)
}

// Endpoint is the AS2 channel: an http.Handler for the path partners post to.
type Endpoint struct {
	stations map[string]Station
	partners *partners.Directory
	ingest   decider
	limits   Limits
	places   *places
	late     *lateReceipts
	metrics  *Metrics
	log      *slog.Logger
}

// NewEndpoint makes the AS2 endpoint for the stations, by AS2 name.
func NewEndpoint(stations map[string]Station, directory *partners.Directory, ingest decider, limits Limits, metrics *Metrics, log *slog.Logger) *Endpoint {
	return &Endpoint{stations: stations, partners: directory, ingest: ingest, limits: limits, places: newPlaces(),
		late: newLateReceipts(log), metrics: metrics, log: log.With("component", "as2")}
}

// ServeHTTP takes one AS2 message. Probes by GET and HEAD are answered and recorded nowhere.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
	case http.MethodGet, http.MethodHead:
		plain(w, http.StatusOK, "This is an AS2 endpoint (RFC 4130). Post messages here.")
		return
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		plain(w, http.StatusMethodNotAllowed, "AS2 messages are posted.")
		return
	}
	x := &exchange{Endpoint: e, w: w, r: r, start: time.Now(), id: uuid.Must(uuid.NewV7()), outcome: "error",
		body: newBody(w, r, e.limits.Body, e.limits.BodyIdle, e.limits.BodyTotal)}
	defer x.finish()
	x.serve()
}

// exchange is one message and its answer.
type exchange struct {
	*Endpoint
	w       http.ResponseWriter
	r       *http.Request
	body    *body
	start   time.Time
	id      uuid.UUID // of the delivery this may become
	header  as2.Header
	partner *partners.Agreement // nil while unknown
	station Station             // nil while unknown
	opened  as2.Opened
	outcome string // for metrics and the log
	err     error
	attrs   []slog.Attr
}

const tooMany = "This sender has as many messages under way as it may have. Send it again."

// maxDrain is how much of a refused body is still read, so that the partner reads our answer instead of a reset.
const maxDrain = 1 << 20

func (x *exchange) serve() {
	if x.r.ContentLength > x.limits.Body {
		x.fail(&as2.Error{Kind: as2.KindTooLarge})
		return
	}
	if !x.places.take(everybody, x.limits.Concurrent) {
		x.busy("The gateway has as many messages under way as it takes. Send it again.")
		return
	}
	defer x.places.give(everybody)
	var err error
	x.header, err = as2.ParseHeader(x.r.Header)
	x.partner, x.station = x.agreement()
	owner, limit := strangers, x.limits.forStrangers()
	if x.partner != nil {
		owner, limit = claimed(x.partner.ID, x.r.RemoteAddr), x.partner.Limits.Concurrent
	}
	if !x.places.take(owner, limit) {
		x.busy(tooMany)
		return
	}
	defer x.places.give(owner)
	switch {
	case err != nil:
		x.fail(err)
	case x.header.From == x.header.To:
		x.fail(&as2.Error{Kind: as2.KindMalformed, Detail: "AS2-From and AS2-To are the same name."})
	case x.partner == nil:
		x.stranger()
	case encoded(x.r.Header):
		x.outcome = "malformed"
		x.body.drain(maxDrain)
		plain(x.w, http.StatusUnsupportedMediaType, "HTTP content encodings are not accepted; use AS2 compression.")
	default:
		x.receive()
	}
}

// encoded reports whether HTTP has encoded the content (RFC 9110 §8.4).
func encoded(h http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			return true
		}
	}
	return false
}

// agreement finds who posts to whom. Both stay nil for a pair that nobody agreed on.
func (x *exchange) agreement() (*partners.Agreement, Station) {
	partner, ok := x.partners.Lookup(x.header.From, x.header.To)
	if !ok {
		return nil, nil
	}
	station, ok := x.stations[x.header.To]
	if !ok {
		return nil, nil
	}
	return partner, station
}

// receive opens a known partner's message and has it decided.
func (x *exchange) receive() {
	spool := NewSpool(x.limits.SpoolDir, x.limits.SpoolMemory, x.maxPayload())
	defer spool.Close()
	ahead := scanEarly(spool)
	defer ahead.stop()
	if err := x.open(spool); err != nil {
		x.fail(err)
		return
	}
	own := place{owner: x.partner.ID}
	if !x.places.take(own, x.partner.Limits.Concurrent) {
		x.busy(tooMany)
		return
	}
	defer x.places.give(own)
	if x.opened.IsReceipt {
		x.takeReceipt()
		return
	}
	interchanges, origins, err := scan(spool, x.opened.Attachments, ahead)
	if err != nil {
		x.fail(err)
		return
	}
	// Not the request's context: that ends when the partner closes its sending side, as some do after the last octet, or
	// when the body's deadline passes meanwhile. A message that is here completely is decided; Ingest has its own deadline.
	outcome, err := x.ingest.Ingest(context.WithoutCancel(x.r.Context()), x.delivery(spool, interchanges, origins))
	if err != nil {
		x.fail(err)
		return
	}
	x.accepted(outcome, interchanges)
}

func (x *exchange) maxPayload() int64 {
	if x.partner.Limits.Payload > 0 {
		return int64(x.partner.Limits.Payload)
	}
	return x.limits.Body
}

func (x *exchange) open(spool *Spool) error {
	now := time.Now()
	var err error
	x.opened, err = as2.Open(x.header, x.body, spool, as2.Policy{
		Keys:             x.station.DecryptionKeys(now),
		Signers:          x.partner.VerifyCertificates(now),
		RequireSigned:    x.partner.AS2.Require.Signed,
		RequireEncrypted: x.partner.AS2.Require.Encrypted,
		Digests:          x.partner.AS2.Require.Digests,
		Ciphers:          x.partner.AS2.Require.Ciphers,
		DefaultMIC:       x.partner.AS2.DefaultMIC,
		MaxPayload:       x.maxPayload(),
		NewSpool:         x.scratch,
	})
	switch {
	case x.body.tooLarge() || errors.Is(err, ErrTooLarge):
		return &as2.Error{Kind: as2.KindTooLarge, Err: err}
	case x.body.err != nil:
		return &as2.Error{Kind: as2.KindRead, Err: x.body.err}
	}
	return err
}

// scratch is where decrypted content waits for its tag. It can be larger than the payload: signature and encoding are still
// around that.
func (x *exchange) scratch() (smime.Spool, error) {
	return newScratch(x.limits.SpoolDir, x.limits.SpoolMemory, 2*x.maxPayload()+1<<20), nil
}

func (x *exchange) delivery(spool *Spool, interchanges []interchange.Interchange, origins []Origin) *Delivery {
	d := &Delivery{
		ID: x.id, Partner: x.partner, Channel: AS2, TransportID: x.header.MessageID, ReceivedAt: x.start,
		RemoteAddress: x.r.RemoteAddr, FileName: x.opened.FileName, ContentType: oneLine(x.opened.ContentType), Payload: spool,
		Interchanges: interchanges, Origins: origins, Receipt: x.order(),
		Security: Security{Cipher: x.opened.Cipher},
	}
	if x.opened.Signer != nil {
		sum := sha256.Sum256(x.opened.Signer.Raw)
		d.Security.SignerFingerprint, d.Security.SignatureDigest = sum[:], mdn.NameOf(x.opened.Digest)
	}
	return d
}

// accepted answers a delivery that is committed.
func (x *exchange) accepted(outcome Outcome, interchanges []interchange.Interchange) {
	failpoint.Hit("as2.before-answer")
	x.outcome = "accepted"
	if outcome.Repeat {
		x.outcome = "repeat"
	}
	x.attrs = append(x.attrs, slog.Bool("repeat", outcome.Repeat), slog.Int("interchanges", len(interchanges)))
	for i, d := range outcome.Decisions {
		x.metrics.verdict(x.partner.Name, d.Verdict)
		logVerdict(x.r.Context(), x.log, x.partner.Name, outcome.Delivery, &interchanges[i], d)
	}
	x.send(outcome.Receipt)
	failpoint.Hit("as2.answered")
}

// logVerdict writes one line for each interchange; what is held is for an administrator to look at.
func logVerdict(ctx context.Context, log *slog.Logger, partner string, delivery uuid.UUID, i *interchange.Interchange, d dedup.Decision) {
	level := slog.LevelInfo
	if d.Verdict == dedup.Drift || d.Verdict == dedup.Stale || d.Late {
		level = slog.LevelWarn
	}
	log.LogAttrs(ctx, level, string(d.Verdict), append(lineageAttrs(d.Lineage), slog.String("delivery_id", delivery.String()),
		slog.String("partner", partner), slog.String("standard", string(i.Standard)), slog.String("reference", i.Control),
		slog.String("sender", i.Sender), slog.String("recipient", i.Recipient), slog.Int("epoch", d.Epoch),
		slog.Bool("late", d.Late), slog.String("document_id", d.Document.String()))...)
}

// lineageAttrs are what the verdict's line says of the documents inside.
func lineageAttrs(l *dedup.Lineage) []slog.Attr {
	if l == nil {
		return nil
	}
	var attrs []slog.Attr
	if len(l.Supersedes) > 0 {
		attrs = append(attrs, slog.Any("supersedes", l.Supersedes[:min(len(l.Supersedes), 16)]))
	}
	if len(l.Stale) > 0 {
		attrs = append(attrs, slog.Any("stale", l.Stale[:min(len(l.Stale), 16)]))
	}
	if len(l.Flags) > 0 {
		attrs = append(attrs, slog.Any("flags", l.Flags))
	}
	return attrs
}

// takeReceipt handles an MDN that was posted at the message URL: it is never forwarded, and never answered with an MDN.
func (x *exchange) takeReceipt() {
	x.outcome = "receipt"
	report := x.opened.Receipt
	x.log.LogAttrs(x.r.Context(), slog.LevelInfo, "receipt posted at the message address",
		slog.String("partner", x.partner.Name), slog.String("original_message_id", report.OriginalMessageID),
		slog.String("disposition", report.Disposition.String()), slog.Bool("signed", report.Signed))
	x.send(nil)
}

// finish recovers from a panic, which costs this message alone, and writes the one summary line of the exchange.
func (x *exchange) finish() {
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler {
			panic(p)
		}
		x.log.ErrorContext(x.r.Context(), "panic while receiving", "panic", p, "stack", string(debug.Stack()))
		x.outcome = "error"
		x.write(unavailable.status, "text/plain; charset=us-ascii", []byte(unavailable.text+"\r\n"))
	}
	x.metrics.delivery(x.name(), x.outcome, time.Since(x.start))
	level := slog.LevelInfo
	if x.err != nil {
		a, _ := answerTo(x.err)
		level = a.level
		x.attrs = append(x.attrs, slog.Any("error", x.err))
	}
	x.log.LogAttrs(x.r.Context(), level, "message handled", append([]slog.Attr{
		slog.String("outcome", x.outcome), slog.String("delivery_id", x.id.String()), slog.String("partner", x.name()),
		slog.String("as2_from", x.header.From), slog.String("as2_to", x.header.To),
		slog.String("message_id", x.header.MessageID), slog.String("remote_addr", x.r.RemoteAddr),
		slog.Int64("bytes", x.body.count), slog.Duration("duration", time.Since(x.start)),
	}, x.attrs...)...)
}

func (x *exchange) name() string {
	if x.partner == nil {
		return "unknown"
	}
	return x.partner.Name
}
