package partners_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"firstcopy/internal/pgtest"
	"firstcopy/partners"

	"github.com/jackc/pgx/v5/pgxpool"
)

// agreement is a whole one, as ParseFile would make it.
func agreement(t testing.TB, name, id string) partners.Agreement {
	t.Helper()
	all, _, err := partners.ParseFile(folder(t), []byte(strings.NewReplacer("name: acme", "name: "+name, "id: ACME", "id: "+id).Replace(least)))
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

func apply(t testing.TB, s *partners.Store, opts partners.ApplyOptions, all ...partners.Agreement) []partners.Change {
	t.Helper()
	changes, err := s.Apply(t.Context(), "test", all, opts)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func actions(changes []partners.Change) string {
	var all []string
	for _, c := range changes {
		all = append(all, string(c.Action)+" "+c.Name)
	}
	return strings.Join(all, ", ")
}

func TestApplyStoresWhatWasParsed(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	file := `partners:
  - name: acme
    tenant: north
    as2:
      id: 'A "quoted\ one'
      station: HUB
      certificates: [{file: acme-2025.pem, until: 2026-02-28}, {file: ec.pem, from: 2026-01-15}]
      require: {signed: true, encrypted: false, digests: [sha-256], ciphers: [aes-128-cbc]}
      async_urls: ["http://127.0.0.1:8080/mdn"]
      url: http://127.0.0.1:8080/as2?from=hub
      allow_private: true
      default_mic: sha1
    window: 6d
    windows: {x12: infinity, edifact: 30d}
    key: {by: date, message_types: false}
    drift: discard
    stale: discard
    same_document: suppress
    on_duplicate: warning
    acknowledge: {edifact: none, x12: [ta1, 999], on_drift: reject}
    sink: https://erp.example/in
    sink_secret_file: /etc/firstcopy/acme
    limits: {payload: 10MB, concurrent: 3}
`
	parsed, _, err := partners.ParseFile(dir, []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	store := partners.NewStore(pgtest.New(t))
	changes := apply(t, store, partners.ApplyOptions{}, parsed...)
	got, err := store.Get(t.Context(), "north", "acme")
	if err != nil {
		t.Fatal(err)
	}
	if got.ID == 0 || got.ID != changes[0].PartnerID || got.Revision != 1 || got.CreatedAt.IsZero() || got.CreatedAt != got.UpdatedAt {
		t.Errorf("stored as %+v after %+v", got, changes)
	}
	want := parsed[0]
	want.ID, want.Revision, want.CreatedAt, want.UpdatedAt = got.ID, got.Revision, got.CreatedAt, got.UpdatedAt
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("\n got %+v\nwant %+v", *got, want)
	}
	list, err := store.List(t.Context())
	if err != nil || len(list) != 1 || !reflect.DeepEqual(list[0], want) {
		t.Errorf("List: %+v, %v", list, err)
	}
	if again := apply(t, store, partners.ApplyOptions{}, parsed...); actions(again) != "unchanged acme" {
		t.Errorf("second time: %v", again)
	}
	if history, err := store.Changes(t.Context(), "north", "acme"); err != nil || len(history) != 1 {
		t.Errorf("history %v, %v", history, err)
	}
}

func TestApplyShowsEachField(t *testing.T) {
	t.Parallel()
	store := partners.NewStore(pgtest.New(t))
	a := agreement(t, "acme", "ACME")
	created := apply(t, store, partners.ApplyOptions{}, a)[0]
	if created.Action != partners.Created || !strings.HasPrefix(created.String(), "created default/acme\n  as2.allow_private: + false\n") {
		t.Fatalf("created: %s", created)
	}
	b := agreement(t, "acme", "ACME2") // with another certificate
	b.Windows.Default = partners.Window{Infinite: true}
	b.Limits.Concurrent = 2
	changed := apply(t, store, partners.ApplyOptions{}, b)[0]
	var fields []string
	for _, f := range changed.Fields {
		fields = append(fields, f.String())
	}
	if len(fields) != 5 || changed.Action != partners.Changed {
		t.Fatalf("%s", changed)
	}
	for i, want := range []string{"as2.certificates.sha256:", "as2.certificates.sha256:", "as2.id: ACME → ACME2", "limits.concurrent: 8 → 2", "window: 14d → infinity"} {
		if !strings.HasPrefix(fields[i], want) {
			t.Errorf("field %d is %q, want %q", i, fields[i], want)
		}
	}
	history, err := store.Changes(t.Context(), "default", "acme")
	if err != nil || len(history) != 2 {
		t.Fatalf("history %v, %v", history, err)
	}
	last := history[1]
	if !reflect.DeepEqual(last.Change, changed) || last.Who != "test" || last.Revision != 2 || last.At.IsZero() || last.ID <= history[0].ID {
		t.Errorf("recorded %+v, want %+v", last, changed)
	}
}

func TestUnpinnedCertificateStaysOnRecord(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := partners.NewStore(pool)
	a, b := agreement(t, "acme", "ACME"), agreement(t, "acme", "ACME")
	apply(t, store, partners.ApplyOptions{}, a)
	apply(t, store, partners.ApplyOptions{}, b)
	count := func(want string) {
		t.Helper()
		var got string
		const sql = `SELECT count(*) FILTER (WHERE removed_at IS NULL) || ' pinned, ' || count(removed_at) || ' not' FROM partner_certificate`
		if err := pool.QueryRow(t.Context(), sql).Scan(&got); err != nil || got != want {
			t.Errorf("%s (%v), want %s", got, err, want)
		}
	}
	count("1 pinned, 1 not")
	apply(t, store, partners.ApplyOptions{}, a) // pinned again
	count("1 pinned, 1 not")
	got, err := store.Get(t.Context(), "default", "acme")
	if err != nil || len(got.AS2.Certificates) != 1 || got.AS2.Certificates[0].Fingerprint() != a.AS2.Certificates[0].Fingerprint() {
		t.Errorf("pinned: %v, %v", got, err)
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	store := partners.NewStore(pgtest.New(t))
	changes := apply(t, store, partners.ApplyOptions{DryRun: true}, agreement(t, "acme", "ACME"))
	if actions(changes) != "created acme" {
		t.Errorf("changes %v", changes)
	}
	if all, err := store.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("stored: %v, %v", all, err)
	}
	if history, err := store.Changes(t.Context(), "default", "acme"); err != nil || len(history) != 0 {
		t.Errorf("recorded: %v, %v", history, err)
	}
}

func TestPruneRemovesAndKeepsTheRow(t *testing.T) {
	t.Parallel()
	store := partners.NewStore(pgtest.New(t))
	acme, globex := agreement(t, "acme", "ACME"), agreement(t, "globex", "GLOBEX")
	other := agreement(t, "other", "OTHER")
	other.Tenant = "south"
	created := apply(t, store, partners.ApplyOptions{}, acme, globex, other)
	if got := actions(apply(t, store, partners.ApplyOptions{}, globex)); got != "unchanged globex" {
		t.Fatalf("without Prune: %s", got)
	}
	if got := actions(apply(t, store, partners.ApplyOptions{Prune: true}, globex)); got != "removed acme, unchanged globex" {
		t.Fatalf("with Prune: %s", got)
	}
	if _, err := store.Get(t.Context(), "default", "acme"); !errors.Is(err, partners.ErrNotFound) {
		t.Errorf("removed and still there: %v", err)
	}
	if _, err := store.Get(t.Context(), "south", "other"); err != nil {
		t.Errorf("another tenant's partner: %v", err)
	}
	// Its identifiers are free, and its name brings back its id.
	successor := agreement(t, "successor", "ACME")
	apply(t, store, partners.ApplyOptions{}, successor)
	if _, err := store.Apply(t.Context(), "test", []partners.Agreement{acme}, partners.ApplyOptions{}); err == nil ||
		!strings.Contains(err.Error(), `"ACME" with station "HUB" would belong to default/successor and default/acme`) {
		t.Errorf("identifiers of another: %v", err)
	}
	back := apply(t, store, partners.ApplyOptions{Prune: true}, globex, acme)
	if actions(back) != "removed successor, unchanged globex, restored acme" || back[2].PartnerID != created[0].PartnerID {
		t.Errorf("restored: %v", back)
	}
	history, err := store.Changes(t.Context(), "default", "acme")
	if err != nil || len(history) != 3 || history[1].Action != partners.Removed || history[2].Revision != 3 {
		t.Errorf("history %v, %v", history, err)
	}
}

func TestIdentifiersCanBeExchanged(t *testing.T) {
	t.Parallel()
	store := partners.NewStore(pgtest.New(t))
	apply(t, store, partners.ApplyOptions{}, agreement(t, "acme", "ONE"), agreement(t, "globex", "TWO"))
	apply(t, store, partners.ApplyOptions{}, agreement(t, "acme", "TWO"), agreement(t, "globex", "ONE"))
	acme, err := store.Get(t.Context(), "default", "acme")
	if err != nil || acme.AS2.ID != "TWO" {
		t.Errorf("%v, %v", acme, err)
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	store := partners.NewStore(pgtest.New(t))
	acme, globex := agreement(t, "acme", "ACME"), agreement(t, "globex", "ACME")
	unbounded := agreement(t, "acme", "ACME")
	unbounded.Limits = partners.Limits{}
	open := agreement(t, "acme", "ACME")
	open.Windows.Default = partners.Window{}
	for _, test := range []struct {
		who  string
		all  []partners.Agreement
		says string
	}{
		{"", []partners.Agreement{acme}, "who makes the change"},
		{"test", []partners.Agreement{acme, acme}, "default/acme is given twice"},
		{"test", []partners.Agreement{acme, globex}, "would belong to default/acme and default/globex"},
		{"test", []partners.Agreement{unbounded}, "limits must be at least 1"},
		{"test", []partners.Agreement{open}, "a window is a positive number"},
	} {
		if _, err := store.Apply(t.Context(), test.who, test.all, partners.ApplyOptions{}); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("got %v, want an error saying %q", err, test.says)
		}
	}
	if all, err := store.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("stored all the same: %v, %v", all, err)
	}
}

func TestSetWindow(t *testing.T) {
	t.Parallel()
	store := partners.NewStore(pgtest.New(t))
	file := agreement(t, "acme", "ACME")
	apply(t, store, partners.ApplyOptions{}, file)
	set := func(standard string, w partners.Window) partners.Change {
		t.Helper()
		change, err := store.SetWindow(t.Context(), "op", "default", "acme", standard, w)
		if err != nil {
			t.Fatal(err)
		}
		return change
	}
	if got := set("", partners.Window{Duration: 30 * day}).String(); got != "changed default/acme\n  window: 14d → 30d" {
		t.Errorf("default: %s", got)
	}
	if got := set("x12", partners.Window{Infinite: true}).String(); got != "changed default/acme\n  windows.x12: + infinity" {
		t.Errorf("standard: %s", got)
	}
	if got := set("x12", partners.Window{Infinite: true}).Action; got != partners.Unchanged {
		t.Errorf("the same again: %s", got)
	}
	stored, err := store.Get(t.Context(), "default", "acme")
	if err != nil || stored.Window("edifact").Duration != 30*day || !stored.Window("x12").Infinite || stored.Revision != 3 {
		t.Errorf("stored %+v, %v", stored, err)
	}
	back := apply(t, store, partners.ApplyOptions{}, file)[0]
	if got := back.String(); got != "changed default/acme\n  window: 30d → 14d\n  windows.x12: - infinity" {
		t.Errorf("the file again: %s", got)
	}
	for says, err := range map[string]error{
		"no such partner: default/nobody": second(store.SetWindow(t.Context(), "op", "default", "nobody", "", partners.Window{Duration: day})),
		"one of as4, cii, content, cxml, edifact, epcis, gs1, hl7, sbdh, tradacoms, ubl, vda, x12": second(store.SetWindow(t.Context(), "op", "default", "acme", "X12", partners.Window{Duration: day})),
		"positive number of whole": second(store.SetWindow(t.Context(), "op", "default", "acme", "", partners.Window{})),
		"who makes the change":     second(store.SetWindow(t.Context(), "", "default", "acme", "", partners.Window{Duration: day})),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want an error saying %q", err, says)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestEditedRowsAreNotTrusted(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"no terms":   `UPDATE partner SET agreement = '{}'`,
		"odd limits": `UPDATE partner SET agreement = jsonb_set(agreement, '{limits,payload}', '"much"')`,
		"no window":  `DELETE FROM partner_window`,
		"garbage":    `INSERT INTO partner_certificate (partner_id, fingerprint, certificate, uses) SELECT partner_id, sha256('x'), 'x', '{verify}' FROM partner`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			store := partners.NewStore(pool)
			acme := agreement(t, "acme", "ACME")
			apply(t, store, partners.ApplyOptions{}, acme)
			edit(t, pool, sql)
			if _, err := store.Get(t.Context(), "default", "acme"); err == nil {
				t.Error("Get accepts it")
			}
			if _, err := store.List(t.Context()); err == nil {
				t.Error("List accepts it")
			}
			if _, err := store.SetWindow(t.Context(), "op", "default", "acme", "x12", partners.Window{Duration: day}); err == nil {
				t.Error("SetWindow accepts it")
			}
		})
	}
}

func edit(t testing.TB, pool *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := pool.Exec(context.WithoutCancel(t.Context()), sql); err != nil {
		t.Fatal(err)
	}
}
