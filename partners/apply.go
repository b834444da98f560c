package partners

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// ApplyOptions say how far Apply goes.
type ApplyOptions struct {
	// DryRun works everything out in the database, and takes it back.
	DryRun bool
	// Prune removes the live partners that are not among the given ones, in
	// the tenants that are.
	Prune bool
}

// errDryRun rolls a dry run back.
var errDryRun = errors.New("dry run")

// Apply makes the database say what the agreements say, in one transaction,
// and returns one change for each, in the given order, after those of pruned
// partners. What is equal already is not touched, and not recorded. who is
// recorded with every change.
//
// A name or a pair of AS2 identifiers that would belong to two partners is an
// error, and nothing is applied.
func (s *Store) Apply(ctx context.Context, who string, agreements []Agreement, opts ApplyOptions) ([]Change, error) {
	if err := checkWho(who); err != nil {
		return nil, err
	}
	for i := range agreements {
		if err := agreements[i].validate(); err != nil {
			return nil, err
		}
	}
	var changes []Change
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		w := &writer{tx: tx, who: who}
		if err := w.apply(ctx, agreements, opts.Prune); err != nil {
			return err
		}
		changes = w.changes
		if opts.DryRun {
			return errDryRun
		}
		return nil
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return nil, fmt.Errorf("applying agreements: %w", err)
	}
	return changes, nil
}

// writer changes agreements in a transaction that holds lockSQL.
type writer struct {
	tx      pgx.Tx
	who     string
	changes []Change
}

type key struct{ tenant, name string }

func (a *Agreement) key() key { return key{a.Tenant, a.Name} }

func (k key) String() string { return k.tenant + "/" + k.name }

func (w *writer) apply(ctx context.Context, wanted []Agreement, prune bool) error {
	if _, err := w.tx.Exec(ctx, lockSQL); err != nil {
		return fmt.Errorf("locking partners: %w", err)
	}
	rows, err := readRows(ctx, w.tx, query{all: true})
	if err != nil {
		return err
	}
	stored := make(map[key]*row, len(rows))
	for _, r := range rows {
		stored[r.key()] = r
	}
	var gone []*row
	if prune {
		gone = pruned(rows, wanted)
	}
	if err := conflicts(rows, gone, wanted); err != nil {
		return err
	}
	for _, r := range gone {
		if err := w.remove(ctx, r); err != nil {
			return err
		}
	}
	if _, err := w.tx.Exec(ctx, parkPartnersSQL, moving(stored, wanted)); err != nil {
		return fmt.Errorf("exchanging identifiers: %w", err)
	}
	for _, a := range wanted {
		change, err := w.put(ctx, stored[a.key()], a)
		if err != nil {
			return err
		}
		w.changes = append(w.changes, change)
	}
	return nil
}

// pruned are the live rows of the wanted tenants that nobody wants.
func pruned(rows []*row, wanted []Agreement) []*row {
	tenants, keys := map[string]bool{}, map[key]bool{}
	for _, a := range wanted {
		tenants[a.Tenant], keys[a.key()] = true, true
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r *row) bool {
		return r.removed || !tenants[r.Tenant] || keys[r.key()]
	})
}

// conflicts looks for two partners with one name or one pair of identifiers in
// what would be the result.
func conflicts(rows, gone []*row, wanted []Agreement) error {
	keys, pairs := map[key]bool{}, map[pair]string{}
	for _, a := range wanted {
		if keys[a.key()] {
			return fmt.Errorf("%s is given twice", a.key())
		}
		keys[a.key()] = true
	}
	for _, r := range rows {
		if !r.removed && r.HasAS2() && !keys[r.key()] && !slices.Contains(gone, r) {
			pairs[r.pair()] = r.key().String()
		}
	}
	for _, a := range wanted {
		if !a.HasAS2() {
			continue
		}
		if other, ok := pairs[a.pair()]; ok {
			return fmt.Errorf("AS2 identifier %q with station %q would belong to %s and %s", a.AS2.ID, a.AS2.Station, other, a.key())
		}
		pairs[a.pair()] = a.key().String()
	}
	return nil
}

// moving are the live partners that get another pair of identifiers.
func moving(stored map[key]*row, wanted []Agreement) []int64 {
	ids := []int64{}
	for _, a := range wanted {
		if r := stored[a.key()]; r != nil && !r.removed && r.pair() != a.pair() {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// put makes old, which may be nil or removed, into a, and records it.
func (w *writer) put(ctx context.Context, old *row, a Agreement) (Change, error) {
	change := Change{Tenant: a.Tenant, Name: a.Name, Action: Created}
	a.AS2.Certificates = slices.Clone(a.AS2.Certificates)
	sortCertificates(a.AS2.Certificates)
	var before []byte
	var err error
	if old != nil {
		change.PartnerID, change.Action = old.ID, Restored
		if !old.removed {
			change.Action = Changed
			if before, err = old.encoded(); err != nil {
				return Change{}, err
			}
		}
	}
	after, err := a.encoded()
	if err != nil {
		return Change{}, err
	}
	if change.Fields, err = compare(before, after); err != nil {
		return Change{}, err
	}
	if change.Action == Changed && len(change.Fields) == 0 {
		change.Action = Unchanged
		return change, nil
	}
	revision, err := w.write(ctx, &change.PartnerID, &a)
	if err != nil {
		return Change{}, fmt.Errorf("%s: %w", a.key(), err)
	}
	return change, w.record(ctx, change, revision, before, after)
}

func (a *Agreement) encoded() ([]byte, error) {
	d := a.whole()
	return encode(&d)
}

// write stores an agreement in all its tables; *id is 0 for a new one.
func (w *writer) write(ctx context.Context, id *int64, a *Agreement) (revision int, err error) {
	d := a.terms()
	terms, err := encode(&d)
	if err != nil {
		return 0, err
	}
	if *id == 0 {
		err = w.tx.QueryRow(ctx, insertPartnerSQL, a.Tenant, a.Name, a.AS2.ID, a.AS2.Station, terms).Scan(id, &revision)
	} else {
		err = w.tx.QueryRow(ctx, updatePartnerSQL, *id, a.AS2.ID, a.AS2.Station, terms).Scan(&revision)
	}
	if err != nil {
		return 0, fmt.Errorf("storing agreement: %w", err)
	}
	if err := writeWindows(ctx, w.tx, *id, a.Windows); err != nil {
		return 0, err
	}
	return revision, writeCertificates(ctx, w.tx, *id, a.AS2.Certificates)
}

// remove takes a partner out of service. Its certificates and windows stay
// with it.
func (w *writer) remove(ctx context.Context, r *row) error {
	change := Change{PartnerID: r.ID, Tenant: r.Tenant, Name: r.Name, Action: Removed}
	before, err := r.encoded()
	if err != nil {
		return err
	}
	if change.Fields, err = compare(before, nil); err != nil {
		return err
	}
	var revision int
	if err := w.tx.QueryRow(ctx, removePartnerSQL, r.ID).Scan(&revision); err != nil {
		return fmt.Errorf("removing %s: %w", r.key(), err)
	}
	w.changes = append(w.changes, change)
	return w.record(ctx, change, revision, before, nil)
}

func (w *writer) record(ctx context.Context, c Change, revision int, before, after []byte) error {
	_, err := w.tx.Exec(ctx, insertChangeSQL, w.who, c.PartnerID, c.Tenant, c.Name,
		revision, c.Action, before, after)
	if err != nil {
		return fmt.Errorf("recording the change: %w", err)
	}
	return nil
}
