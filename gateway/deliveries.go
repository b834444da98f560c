package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// DeliveryView is a delivery as an administrator sees it.
type DeliveryView struct {
	ID              uuid.UUID `json:"delivery_id"`
	PartnerID       int64     `json:"partner_id"`
	Channel         string    `json:"channel"`
	TransportID     string    `json:"transport_id"` // Message-ID, or a file's identity
	PayloadHash     []byte    `json:"-"`            // SHA-256 of the decoded payload
	PayloadSize     int64     `json:"payload_size"`
	ReceivedAt      time.Time `json:"received_at"`
	Node            string    `json:"node"`
	RemoteAddress   string    `json:"remote_address"`
	Signer          []byte    `json:"-"` // SHA-256 of the certificate that verified; nil when unsigned
	SignatureDigest string    `json:"signature_digest"`
	Cipher          string    `json:"cipher"`
	FileName        string    `json:"file_name"`
	ContentType     string    `json:"content_type"`
	Interchanges    int       `json:"interchanges"`
	ReusedID        bool      `json:"reused_transport_id"` // other octets had come under the transport id before
	Repeats         int64     `json:"repeats"`             // times it came again, octet for octet
}

// ReceiptView is one stored receipt of a delivery.
type ReceiptView struct {
	Kind        string    `json:"kind"`
	MessageID   string    `json:"message_id"`
	Disposition string    `json:"disposition"`
	MIC         string    `json:"mic"`
	AsyncURL    string    `json:"async_url,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	DeliveredAt time.Time `json:"delivered_at,omitzero"` // of an asynchronous receipt
	Octets      []byte    `json:"-"`
}

// DeliveryQuery narrows a list; zero fields do not.
type DeliveryQuery struct {
	Partner     int64
	TransportID string
	Since       time.Time
	Limit       int // 100 if zero
}

// ErrNoDelivery is returned for a delivery that does not exist.
var ErrNoDelivery = errors.New("no such delivery")

const deliveryColumns = `d.delivery_id, d.partner_id, d.channel, d.transport_id, d.payload_hash, d.payload_size, d.received_at,
	d.node, d.remote_address, d.signer_fingerprint, d.signature_digest, d.cipher, d.file_name, d.content_type, d.interchanges,
	d.reused_id`

// Deliveries lists accepted deliveries, the newest first. Repeats are not counted there; see [GetDelivery].
func Deliveries(ctx context.Context, pool *pgxpool.Pool, q DeliveryQuery) ([]DeliveryView, error) {
	if q.Limit == 0 {
		q.Limit = 100
	}
	return deliveries(ctx, pool, `SELECT `+deliveryColumns+`, 0 FROM delivery d
WHERE ($1 = 0 OR d.partner_id = $1) AND ($2 = '' OR d.transport_id = $2) AND d.received_at >= $3
ORDER BY d.received_at DESC LIMIT $4`, q.Partner, q.TransportID, q.Since, q.Limit)
}

// GetDelivery reads one delivery and its receipts.
func GetDelivery(ctx context.Context, pool *pgxpool.Pool, id uuid.UUID) (DeliveryView, []ReceiptView, error) {
	found, err := deliveries(ctx, pool, `SELECT `+deliveryColumns+`,
	(SELECT count(DISTINCT e.at) FROM ledger_event e
	 WHERE e.delivery_id = d.delivery_id AND e.kind = 'repeat' AND e.at >= d.received_at - interval '1 hour')
FROM delivery d WHERE d.delivery_id = $1`, [16]byte(id))
	if err != nil {
		return DeliveryView{}, nil, err
	}
	if len(found) == 0 {
		return DeliveryView{}, nil, fmt.Errorf("delivery %s: %w", id, ErrNoDelivery)
	}
	receipts, err := Receipts(ctx, pool, id)
	return found[0], receipts, err
}

// Receipts reads the stored receipts of a delivery.
func Receipts(ctx context.Context, pool *pgxpool.Pool, delivery uuid.UUID) ([]ReceiptView, error) {
	rows, err := pool.Query(ctx, `SELECT kind, message_id, disposition, mic, async_url, created_at,
	coalesce(delivered_at, '0001-01-01'), octets FROM receipt WHERE delivery_id = $1 ORDER BY created_at`, [16]byte(delivery))
	if err != nil {
		return nil, fmt.Errorf("reading receipts: %w", err)
	}
	receipts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ReceiptView])
	if err != nil {
		return nil, fmt.Errorf("reading receipts: %w", err)
	}
	return receipts, nil
}

func deliveries(ctx context.Context, pool *pgxpool.Pool, sql string, args ...any) ([]DeliveryView, error) {
	rows, err := pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("reading deliveries: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d DeliveryView, err error) {
		err = row.Scan((*[16]byte)(&d.ID), &d.PartnerID, &d.Channel, &d.TransportID, &d.PayloadHash, &d.PayloadSize,
			&d.ReceivedAt, &d.Node, &d.RemoteAddress, &d.Signer, &d.SignatureDigest, &d.Cipher, &d.FileName, &d.ContentType,
			&d.Interchanges, &d.ReusedID, &d.Repeats)
		return d, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading deliveries: %w", err)
	}
	return found, nil
}
