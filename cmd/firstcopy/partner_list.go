package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"firstcopy/partners"
)

func newPartnerListCommand(a *app) *cobra.Command {
	var tenant string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the partners",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pool, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer pool.Close()
			all, err := partners.NewStore(pool).List(cmd.Context())
			if err != nil {
				return err
			}
			now := time.Now()
			out := []partnerOutput{}
			for i := range all {
				if tenant != "" && all[i].Tenant != tenant {
					continue
				}
				for _, w := range all[i].CertificateWarnings(now) {
					warn(cmd, "%s", w)
				}
				out = append(out, partnerOf(&all[i], now))
			}
			return a.print(cmd, out, func(w io.Writer) error { return listPartners(w, out) })
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "only the partners of this `TENANT`")
	return cmd
}

func listPartners(w io.Writer, all []partnerOutput) error {
	t := newTable(w, "PARTNER", "AS2 ID", "STATION", "SFTP", "WINDOW", "DRIFT", "CERTIFICATES", "SINK", "REVISION", "CHANGED")
	for _, p := range all {
		as2, server := as2Output{}, ""
		if p.AS2 != nil {
			as2 = *p.AS2
		}
		if p.SFTP != nil {
			server = p.SFTP.Host
		}
		t.row(display(p.Tenant, p.Name), as2.ID, as2.Station, server, p.Window, p.Drift, len(as2.Certificates), p.Sink, p.Revision, when(p.UpdatedAt))
	}
	return t.flush()
}
