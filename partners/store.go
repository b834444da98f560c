package partners

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Store reads and changes the agreements in the database. Every exported
// method is one transaction.
type Store struct{ pool *pgxpool.Pool }

// NewStore works on pool, whose schema package migrations has made.
func NewStore(pool *pgxpool.Pool) *Store { return &Store{pool} }

// snapshot is a transaction in which all statements see one state.
var snapshot = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// List reads all live agreements, by tenant and name.
func (s *Store) List(ctx context.Context) ([]Agreement, error) {
	rows, err := readLive(ctx, s.pool, query{})
	if err != nil {
		return nil, err
	}
	all := make([]Agreement, len(rows))
	for i, r := range rows {
		if r.fault != nil {
			return nil, r.fault
		}
		all[i] = r.Agreement
	}
	return all, nil
}

// Get reads one live agreement; ErrNotFound, wrapped, if there is none.
func (s *Store) Get(ctx context.Context, tenant, name string) (*Agreement, error) {
	rows, err := readLive(ctx, s.pool, query{tenant: tenant, name: name})
	if err != nil {
		return nil, err
	}
	if tenant == "" || len(rows) == 0 {
		return nil, fmt.Errorf("%w: %s/%s", ErrNotFound, tenant, name)
	}
	if rows[0].fault != nil {
		return nil, rows[0].fault
	}
	return &rows[0].Agreement, nil
}

func readLive(ctx context.Context, pool *pgxpool.Pool, q query) (rows []*row, err error) {
	err = pgx.BeginTxFunc(ctx, pool, snapshot, func(tx pgx.Tx) error {
		rows, err = readRows(ctx, tx, q)
		return err
	})
	return rows, err
}

// SetWindow changes one window of a partner: of a standard, or with "" the
// default. It is an ordinary change of the agreement: recorded, and undone by
// the next Apply of a file that says otherwise. References that are protected
// already keep the window they were given.
func (s *Store) SetWindow(ctx context.Context, who, tenant, name, standard string, w Window) (Change, error) {
	if err := checkWho(who); err != nil {
		return Change{}, err
	}
	if standard != "" {
		if err := oneOf(standard, Standards()...); err != nil {
			return Change{}, fmt.Errorf("standard %w", err)
		}
	}
	if err := w.valid(); err != nil {
		return Change{}, err
	}
	var change Change
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockSQL); err != nil {
			return fmt.Errorf("locking partners: %w", err)
		}
		rows, err := readRows(ctx, tx, query{tenant: tenant, name: name})
		if err != nil {
			return err
		}
		if tenant == "" || len(rows) == 0 {
			return fmt.Errorf("%w: %s/%s", ErrNotFound, tenant, name)
		}
		if rows[0].fault != nil {
			return rows[0].fault
		}
		wanted := rows[0].Agreement
		wanted.Windows = wanted.Windows.with(standard, w)
		change, err = (&writer{tx: tx, who: who}).put(ctx, rows[0], wanted)
		return err
	})
	if err != nil {
		return Change{}, fmt.Errorf("setting window: %w", err)
	}
	return change, nil
}

// with is a copy of w in which one window is replaced.
func (w Windows) with(standard string, one Window) Windows {
	if standard == "" {
		w.Default = one
		return w
	}
	w.Standard = maps.Clone(w.Standard)
	if w.Standard == nil {
		w.Standard = map[string]Window{}
	}
	w.Standard[standard] = one
	return w
}

// Changes is the history of a partner, oldest first, also of one that has been
// removed. It is empty for a name that never was.
func (s *Store) Changes(ctx context.Context, tenant, name string) ([]Record, error) {
	rows, err := s.pool.Query(ctx, selectChangesSQL, tenant, name)
	if err != nil {
		return nil, fmt.Errorf("reading changes: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(cr pgx.CollectableRow) (r Record, err error) {
		var before, after []byte
		scan := cr.Scan(&r.ID, &r.At, &r.Who, &r.PartnerID, &r.Tenant, &r.Name, &r.Revision, &r.Action, &before, &after)
		r.At = r.At.UTC()
		r.Fields, err = compare(before, after)
		return r, errors.Join(scan, err)
	})
	if err != nil {
		return nil, fmt.Errorf("reading changes: %w", err)
	}
	return all, nil
}
