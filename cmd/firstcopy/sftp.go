package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firstcopy/partners"
	"firstcopy/sftpwatch"
)

func newSFTPCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "sftp",
		Short: "Partners' SFTP folders: status",
	},
		newSFTPStatusCommand(a),
	)
}

type sftpOutput struct {
	Partners []sftpwatch.Status     `json:"partners"`
	Files    []sftpwatch.FileStatus `json:"files"`
}

func newSFTPStatusCommand(a *app) *cobra.Command {
	var partner chosen
	var limit int
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how the polls stand, and the files in work",
		Long: "Shows the last poll of each partner's folder and what it found, and the files that are being taken, wait for the\n" +
			"rest of their content, or were taken and not yet archived or deleted. A partner's server can be tried with\n" +
			"firstcopy partner test NAME.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			pool, err := a.open(ctx)
			if err != nil {
				return err
			}
			defer pool.Close()
			id, err := partner.id(ctx, partners.NewStore(pool))
			if err != nil {
				return err
			}
			all, err := sftpwatch.Statuses(ctx, pool)
			if err != nil {
				return err
			}
			files, err := sftpwatch.Files(ctx, pool, id, limit)
			if err != nil {
				return err
			}
			out := sftpOutput{Partners: []sftpwatch.Status{}, Files: files}
			for _, s := range all {
				if id == 0 || s.Partner == partner.name && s.Tenant == partner.tenant {
					out.Partners = append(out.Partners, s)
				}
			}
			return a.print(cmd, out, func(w io.Writer) error { return writeSFTP(w, out, time.Now()) })
		},
	}
	partner.flags(cmd)
	cmd.Flags().IntVar(&limit, "limit", 100, "show at most `N` files")
	return cmd
}

func writeSFTP(w io.Writer, out sftpOutput, now time.Time) error {
	var rows bytes.Buffer
	t := newTable(&rows, "PARTNER", "NODE", "LAST POLL", "LAST GOOD POLL", "NEXT POLL", "LAST FILE", "LISTED", "WAITING", "OLDEST", "INCOMPLETE",
		"TO PUT BACK", "REFUSED", "STUCK")
	for _, s := range out.Partners {
		oldest := ""
		if !s.Oldest.IsZero() {
			oldest = s.OldestAge(now).Round(time.Second).String()
		}
		next := when(s.DueAt)
		if s.Polling {
			next = "now"
		}
		t.row(display(s.Tenant, s.Partner), s.Node, when(s.LastPoll), when(s.LastGood), next, when(s.LastFile), s.Listed, s.Waiting, oldest,
			s.Incomplete, s.Due, s.Refused, s.Stuck)
	}
	if err := t.flush(); err != nil {
		return err
	}
	for i, line := range strings.Split(strings.TrimSuffix(rows.String(), "\n"), "\n") {
		fmt.Fprintln(w, line)
		if i > 0 && out.Partners[i-1].Error != "" { // below its row, and in no column: those end at a line without cells
			s := out.Partners[i-1]
			fmt.Fprintf(w, "  ! %s (%s in a row)\n", printable(s.Error), count(s.Failures, "poll", "polls"))
		}
	}
	if len(out.Files) == 0 {
		return nil
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	t = newTable(w, "PARTNER", "FILE", "SIZE", "STATE", "FIRST SEEN", "ATTEMPTS", "REASON")
	for _, f := range out.Files {
		t.row(display(f.Tenant, f.Partner), f.Name, size(f.Size), f.State, when(f.SeenAt), f.Attempts, f.Reason)
	}
	return t.flush()
}
