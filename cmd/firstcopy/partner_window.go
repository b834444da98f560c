package main

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"firstcopy/partners"
)

func newPartnerWindowCommand(a *app) *cobra.Command {
	var tenant, standard string
	var who actor
	cmd := &cobra.Command{
		Use:   "window NAME WINDOW",
		Short: "Change how long a partner's references are protected",
		Long: "Sets the retry window, like 14d, 36h, 1w2d or infinity: of one standard, or the partner's default. It counts for\n" +
			"references seen from now on. The next apply of a file that says otherwise undoes it, so change the file too.",
		Example: "  firstcopy partner window acme 14d\n  firstcopy partner window acme --standard x12 30d",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%s needs a partner's name and a window, like 14d", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			window, err := partners.ParseWindow(args[1])
			if err != nil {
				return usagef("%v", err)
			}
			if standard != "" && !slices.Contains(partners.Standards(), standard) {
				return usagef("--standard %q: one of %s", standard, strings.Join(partners.Standards(), ", "))
			}
			pool, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer pool.Close()
			store := partners.NewStore(pool)
			change, err := store.SetWindow(cmd.Context(), who.name(), tenant, args[0], standard, window)
			if errors.Is(err, partners.ErrNotFound) {
				return unknownPartner(cmd.Context(), store, tenant, args[0])
			}
			if err != nil {
				return err
			}
			if !window.Infinite && window.Duration < partners.MinimumAS2 {
				warn(cmd, "AS2 asks for at least %s: a later retry would be forwarded again", partners.Window{Duration: partners.MinimumAS2})
			}
			out := changeOf(change)
			return a.print(cmd, out, func(w io.Writer) error { out.write(w); return nil })
		},
	}
	tenantFlag(cmd, &tenant)
	cmd.Flags().StringVar(&standard, "standard", "", "only for this `STANDARD`: "+strings.Join(partners.Standards(), ", "))
	who.flag(cmd)
	return cmd
}
