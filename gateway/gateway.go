// Package gateway is the edge: it takes deliveries in, decides them in one Postgres transaction, answers the partner, and
// runs the node.
//
// [Ingester.Ingest] is the heart, the same for every channel. A receipt leaves only after the commit that holds the dedup
// rows, the octets, the outbox jobs and the receipt itself; where the outcome of that commit is not known, the error is
// [ErrUnavailable] and the partner's retry settles it. [Endpoint] is the AS2 channel (RFC 4130 over HTTP) in front of it.
//
// The package owns the tables delivery and receipt. Everything exported is safe for concurrent use.
package gateway

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/partners"
)

// Channels of a delivery.
const (
	AS2  = "as2"
	SFTP = "sftp"
)

// Delivery is one arrival over a channel, decoded and authenticated, about to be decided.
type Delivery struct {
	ID            uuid.UUID
	Partner       *partners.Agreement
	Channel       string // AS2 or SFTP
	TransportID   string // the Message-ID's octets; a file's identity
	ReceivedAt    time.Time
	RemoteAddress string
	Security      Security
	FileName      string
	ContentType   string
	Payload       *Spool // complete; Ingest does not close it
	Interchanges  []interchange.Interchange
	Origins       []Origin // of the interchanges, one each; nil: FileName and ContentType are theirs
	Receipt       ReceiptOrder
	// Record adds what the channel keeps to the delivery's own transaction, a repeat's included; it gets the delivery that
	// stands. Nil for nothing.
	Record func(batch *pgx.Batch, delivery uuid.UUID)
}

// Origin is the document of a multipart payload that an interchange came in.
type Origin struct{ FileName, ContentType string }

// record adds what the channel keeps to a batch.
func (d *Delivery) record(batch *pgx.Batch, delivery uuid.UUID) {
	if d.Record != nil {
		d.Record(batch, delivery)
	}
}

// origin is where interchange i came in.
func (d *Delivery) origin(i int) Origin {
	if d.Origins == nil {
		return Origin{d.FileName, d.ContentType}
	}
	return d.Origins[i]
}

// Security is what the layers around the payload proved.
type Security struct {
	SignerFingerprint []byte // SHA-256 of the pinned certificate that verified; nil when unsigned
	SignatureDigest   string // "sha-256" …; empty when unsigned
	Cipher            string // "aes-256-cbc" …; empty when not encrypted
}

// ReceiptOrder says which receipt the partner wants. The zero order wants none.
type ReceiptOrder struct {
	// Kind tells receipts of one delivery apart that are not interchangeable: signed or not, digest, where to.
	// A repeat that asks for the same kind gets the same octets.
	Kind     string
	AsyncURL string // where an asynchronous receipt goes; empty for one on the same connection
	// Compose makes and signs the positive receipt. Ingest calls it before its transaction, and only when no stored
	// receipt will do. duplicate is for partners that want to be warned of one.
	Compose func(duplicate bool) (Receipt, error)
}

// Receipt is a composed receipt as it is stored and sent.
type Receipt struct {
	MessageID   string
	Disposition string
	MIC         string
	Octets      []byte // header lines, blank line, body
}

// Outcome is what became of a delivery.
type Outcome struct {
	Delivery  uuid.UUID        // the delivery that stands in the database: the first of a repeat
	Repeat    bool             // the same transport id and octets have been taken before
	Receipt   []byte           // octets to answer with; nil when none was asked for on this connection
	Decisions []dedup.Decision // of the interchanges, in payload order; nil for a repeat
}
