package partners

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// Serialises changes of agreements. It lets readers and the row locks of
	// foreign keys pass.
	lockSQL = `LOCK TABLE partner IN SHARE ROW EXCLUSIVE MODE`

	selectPartnersSQL = `
		SELECT p.partner_id, p.tenant, p.name, p.as2_id, p.station, p.agreement, p.revision,
			p.created_at, p.updated_at, p.removed_at IS NOT NULL,
			(SELECT jsonb_object_agg(w.standard, w.seconds) FROM partner_window w WHERE w.partner_id = p.partner_id)
		FROM partner p
		WHERE ($1 OR p.removed_at IS NULL) AND ($2 = '' OR (p.tenant = $2 AND p.name = $3))
		ORDER BY p.tenant, p.name`

	selectCertificatesSQL = `
		SELECT partner_id, certificate, uses, valid_from, valid_until
		FROM partner_certificate
		WHERE removed_at IS NULL AND partner_id = ANY($1)
		ORDER BY partner_id, fingerprint`

	insertPartnerSQL = `
		INSERT INTO partner (tenant, name, as2_id, station, agreement)
		VALUES ($1, $2, $3, $4, $5)
		RETURNING partner_id, revision`

	// Also brings back a removed partner.
	updatePartnerSQL = `
		UPDATE partner SET as2_id = $2, station = $3, agreement = $4,
			revision = revision + 1, updated_at = now(), removed_at = NULL
		WHERE partner_id = $1
		RETURNING revision`

	removePartnerSQL = `
		UPDATE partner SET revision = revision + 1, updated_at = now(), removed_at = now()
		WHERE partner_id = $1 AND removed_at IS NULL
		RETURNING revision`

	// Takes partners out of partner_pair_key for the rest of the transaction,
	// so that two of them can exchange their identifiers.
	parkPartnersSQL = `UPDATE partner SET removed_at = now() WHERE partner_id = ANY($1) AND removed_at IS NULL`

	deleteWindowsSQL = `DELETE FROM partner_window WHERE partner_id = $1`

	insertWindowsSQL = `
		INSERT INTO partner_window (partner_id, standard, seconds)
		SELECT $1, standard, seconds FROM unnest($2::text[], $3::bigint[]) AS w (standard, seconds)`

	unpinCertificatesSQL = `
		UPDATE partner_certificate SET removed_at = now()
		WHERE partner_id = $1 AND removed_at IS NULL AND fingerprint <> ALL ($2)`

	pinCertificateSQL = `
		INSERT INTO partner_certificate (partner_id, fingerprint, certificate, uses, valid_from, valid_until)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT ON CONSTRAINT partner_certificate_pkey DO UPDATE
		SET uses = excluded.uses, valid_from = excluded.valid_from, valid_until = excluded.valid_until, removed_at = NULL`

	insertChangeSQL = `
		INSERT INTO partner_change (who, partner_id, tenant, name, revision, action, before, after)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

	selectChangesSQL = `
		SELECT change_id, at, who, partner_id, tenant, name, revision, action, before, after
		FROM partner_change WHERE tenant = $1 AND name = $2
		ORDER BY change_id`
)

// row is a partner as stored. A row that does not make a valid agreement has
// a fault; its identity is there all the same.
type row struct {
	Agreement
	removed bool
	fault   error
}

// query narrows what is read: with all, removed partners too; with a tenant,
// the one partner of that name.
type query struct {
	all          bool
	tenant, name string
}

// readRows reads partners with their windows and certificates. Its two
// statements must see one state: tx is REPEATABLE READ, or holds lockSQL.
func readRows(ctx context.Context, tx pgx.Tx, q query) ([]*row, error) {
	rows, err := tx.Query(ctx, selectPartnersSQL, q.all, q.tenant, q.name)
	if err != nil {
		return nil, fmt.Errorf("reading partners: %w", err)
	}
	all, err := pgx.CollectRows(rows, scanPartner)
	if err != nil {
		return nil, fmt.Errorf("reading partners: %w", err)
	}
	byID := make(map[int64]*row, len(all))
	ids := make([]int64, len(all))
	for i, r := range all {
		byID[r.ID], ids[i] = r, r.ID
	}
	rows, err = tx.Query(ctx, selectCertificatesSQL, ids)
	if err != nil {
		return nil, fmt.Errorf("reading certificates: %w", err)
	}
	_, err = pgx.CollectRows(rows, func(cr pgx.CollectableRow) (struct{}, error) {
		return struct{}{}, scanCertificate(cr, byID)
	})
	if err != nil {
		return nil, fmt.Errorf("reading certificates: %w", err)
	}
	for _, r := range all {
		r.fault = errors.Join(r.fault, r.validate())
	}
	return all, nil
}

func scanPartner(cr pgx.CollectableRow) (*row, error) {
	r := &row{}
	var terms []byte
	var windows map[string]*int64
	err := cr.Scan(&r.ID, &r.Tenant, &r.Name, &r.AS2.ID, &r.AS2.Station, &terms, &r.Revision,
		&r.CreatedAt, &r.UpdatedAt, &r.removed, &windows)
	if err != nil {
		return nil, err
	}
	r.CreatedAt, r.UpdatedAt = r.CreatedAt.UTC(), r.UpdatedAt.UTC()
	r.Windows = windowsOf(windows)
	r.fault = r.setTerms(terms)
	return r, nil
}

func scanCertificate(cr pgx.CollectableRow, partners map[int64]*row) error {
	var id int64
	var der []byte
	var uses []Use
	var from, until *time.Time
	if err := cr.Scan(&id, &der, &uses, &from, &until); err != nil {
		return err
	}
	r := partners[id]
	x, err := x509.ParseCertificate(der)
	if err != nil {
		r.fault = errors.Join(r.fault, fmt.Errorf("stored certificate: %w", err))
		return nil
	}
	c := Certificate{X509: x, Uses: uses}
	if from != nil {
		c.From = from.UTC()
	}
	if until != nil {
		c.Until = until.UTC()
	}
	r.AS2.Certificates = append(r.AS2.Certificates, c)
	return nil
}

// writeWindows replaces a partner's windows.
func writeWindows(ctx context.Context, tx pgx.Tx, id int64, w Windows) error {
	if _, err := tx.Exec(ctx, deleteWindowsSQL, id); err != nil {
		return fmt.Errorf("replacing windows: %w", err)
	}
	standards, seconds := w.rows()
	if _, err := tx.Exec(ctx, insertWindowsSQL, id, standards, seconds); err != nil {
		return fmt.Errorf("replacing windows: %w", err)
	}
	return nil
}

// writeCertificates pins exactly the given certificates.
func writeCertificates(ctx context.Context, tx pgx.Tx, id int64, all []Certificate) error {
	prints := make([][]byte, len(all))
	for i, c := range all {
		f := c.Fingerprint()
		prints[i] = f[:]
	}
	if _, err := tx.Exec(ctx, unpinCertificatesSQL, id, prints); err != nil {
		return fmt.Errorf("unpinning certificates: %w", err)
	}
	for i, c := range all {
		_, err := tx.Exec(ctx, pinCertificateSQL, id, prints[i], c.X509.Raw, c.Uses, nullTime(c.From), nullTime(c.Until))
		if err != nil {
			return fmt.Errorf("pinning certificate %s: %w", c.short(), err)
		}
	}
	return nil
}

func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
