package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"firstcopy/partners"
)

func newPartnerCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "partner",
		Short: "Agreements with trading partners: apply, list, show, test, window",
	},
		newPartnerApplyCommand(a),
		newPartnerListCommand(a),
		newPartnerShowCommand(a),
		newPartnerTestCommand(a),
		newPartnerWindowCommand(a),
	)
}

// tenantFlag adds --tenant to a command that names one partner.
func tenantFlag(cmd *cobra.Command, tenant *string) {
	cmd.Flags().StringVar(tenant, "tenant", partners.DefaultTenant, "`TENANT` of the partner")
}

// display is a partner's name as shown; the default tenant goes without saying.
func display(tenant, name string) string {
	if tenant == partners.DefaultTenant {
		return name
	}
	return tenant + "/" + name
}

// chosen are the flags that narrow a command to one partner, or to none.
type chosen struct{ tenant, name string }

func (c *chosen) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.name, "partner", "", "only of the partner called `NAME`")
	tenantFlag(cmd, &c.tenant)
}

// id is the partner's, removed ones included, since their account stays; 0 if
// no partner was named.
func (c *chosen) id(ctx context.Context, store *partners.Store) (int64, error) {
	if c.name == "" {
		return 0, nil
	}
	agreement, err := store.Get(ctx, c.tenant, c.name)
	if err == nil {
		return agreement.ID, nil
	}
	if !errors.Is(err, partners.ErrNotFound) {
		return 0, err
	}
	history, err := store.Changes(ctx, c.tenant, c.name)
	if err != nil {
		return 0, err
	}
	if len(history) == 0 {
		return 0, unknownPartner(ctx, store, c.tenant, c.name)
	}
	return history[0].PartnerID, nil
}

// unknownPartner names those there are, the most alike first.
func unknownPartner(ctx context.Context, store *partners.Store, tenant, name string) error {
	err := fmt.Errorf("there is no partner %q in tenant %q", name, tenant)
	all, listErr := store.List(ctx)
	if listErr != nil {
		return err
	}
	if len(all) == 0 {
		return withHint(err, "there are no partners at all: firstcopy partner apply -f FILE")
	}
	slices.SortStableFunc(all, func(x, y partners.Agreement) int {
		return cmp.Compare(distance(tenant, name, &x), distance(tenant, name, &y))
	})
	var names []string
	for _, a := range all[:min(len(all), 5)] {
		names = append(names, display(a.Tenant, a.Name))
	}
	hint := "the nearest are " + strings.Join(names, ", ") + "; names are case-sensitive, and firstcopy partner list shows all"
	if len(names) == 1 {
		hint = "the only partner is " + names[0]
	}
	return withHint(err, "%s", hint)
}

func distance(tenant, name string, a *partners.Agreement) int {
	d := edits(strings.ToLower(name), strings.ToLower(a.Name))
	if a.Tenant != tenant {
		d++
	}
	return d
}

// edits is the Levenshtein distance: insertions, deletions and substitutions
// of octets.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substituted := diagonal
			if a[i] != b[j] {
				substituted++
			}
			diagonal = row[j+1]
			row[j+1] = min(substituted, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// registry knows partners by the number that the ledger has.
type registry map[int64]*partners.Agreement

// partnersByID reads all agreements. Pages about the ledger must not fail for
// an agreement that cannot be read: partners then go by their number.
func partnersByID(cmd *cobra.Command, pool *pgxpool.Pool) registry {
	all, err := partners.NewStore(pool).List(cmd.Context())
	if err != nil {
		warn(cmd, "partners are shown by number: %v", err)
	}
	r := registry{}
	for i := range all {
		r[all[i].ID] = &all[i]
	}
	return r
}

func (r registry) name(id int64) string {
	if a, ok := r[id]; ok {
		return display(a.Tenant, a.Name)
	}
	return fmt.Sprintf("#%d", id)
}

// signer names a certificate by its fingerprint, and by its subject if it is
// one of the partner's.
func (r registry) signer(partner int64, fingerprint hash) string {
	if a, ok := r[partner]; ok {
		for _, c := range a.AS2.Certificates {
			if f := c.Fingerprint(); slices.Equal(f[:], fingerprint) {
				return fmt.Sprintf("%s (%s)", c.X509.Subject, fingerprint.short())
			}
		}
	}
	return "certificate " + fingerprint.short()
}
