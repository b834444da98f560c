package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"firstcopy/partners"
	"firstcopy/sftpwatch"
)

type examinationOutput struct {
	Partner     string         `json:"partner"`
	Address     string         `json:"address"`
	Version     string         `json:"version"`
	HostKey     string         `json:"host_key"`
	KeyExchange string         `json:"key_exchange"`
	Cipher      string         `json:"cipher"`
	MAC         string         `json:"mac,omitempty"`
	Extensions  []string       `json:"extensions"`
	Connected   time.Duration  `json:"connected_ns"`
	Listed      time.Duration  `json:"listed_ns"`
	Entries     int            `json:"entries"`
	Passed      int            `json:"passed_over,omitempty"`
	Folders     []folderOutput `json:"folders"`
	Files       []planOutput   `json:"files,omitempty"`
	dryRun      bool
}

type folderOutput struct {
	Use   string `json:"use"`
	Path  string `json:"path"`
	Fault string `json:"fault,omitempty"`
}

type planOutput struct {
	File     string    `json:"file"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	What     string    `json:"what"`
}

func newPartnerTestCommand(a *app) *cobra.Command {
	var tenant string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Dial a partner's SFTP server and say what is wrong",
		Long: "Logs in at the partner's SFTP server as a node does, lists the folder for files and looks for the other folders.\n" +
			"Nothing is read and nothing is changed. It must run where a node would: keys and passwords are files there.",
		Args: oneArgument("a partner's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return a.examine(ctx, cmd, tenant, args[0], dryRun)
		},
	}
	tenantFlag(cmd, &tenant)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what a poll would do with each file")
	return cmd
}

func (a *app) examine(ctx context.Context, cmd *cobra.Command, tenant, name string, dryRun bool) error {
	pool, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	store := partners.NewStore(pool)
	agreement, err := store.Get(ctx, tenant, name)
	if errors.Is(err, partners.ErrNotFound) {
		return unknownPartner(ctx, store, tenant, name)
	}
	if err != nil {
		return err
	}
	if agreement.SFTP == nil {
		return fmt.Errorf("no SFTP is agreed with %s", display(tenant, name))
	}
	x, err := sftpwatch.Examine(ctx, pool, agreement, dryRun)
	if x.Server.Version == "" && err != nil {
		return explained(err)
	}
	out := examinationOf(display(tenant, name), x, dryRun)
	if printing := a.print(cmd, out, out.write); printing != nil {
		return printing
	}
	for _, f := range x.Folders {
		if f.Err != nil {
			return explained(f.Err)
		}
	}
	return err
}

func explained(err error) error {
	what, hint := sftpwatch.Explain(err)
	if hint == "" {
		return errors.New(what)
	}
	return withHint(errors.New(what), "%s", hint)
}

func examinationOf(partner string, x sftpwatch.Examination, dryRun bool) examinationOutput {
	s := x.Server
	out := examinationOutput{Partner: partner, Address: s.Address, Version: s.Version, HostKey: s.HostKey,
		KeyExchange: s.Algorithms.KeyExchange, Cipher: s.Algorithms.Read.Cipher, MAC: s.Algorithms.Read.MAC, Extensions: s.Extensions,
		Connected: s.TookDial, Listed: x.Took, Entries: x.Listed, Passed: x.Passed, dryRun: dryRun}
	for _, f := range x.Folders {
		fault := ""
		if f.Err != nil {
			fault = f.Err.Error()
		}
		out.Folders = append(out.Folders, folderOutput{f.Use, f.Path, fault})
	}
	for _, f := range x.Files {
		out.Files = append(out.Files, planOutput{f.Name, f.Size, f.Modified, f.What})
	}
	return out
}

func (x *examinationOutput) write(w io.Writer) error {
	t := newTable(w)
	t.pair("server", fmt.Sprintf("%s, %s", x.Address, x.Version))
	t.pair("host key", x.HostKey+" (pinned)")
	algorithms := []string{x.KeyExchange, x.Cipher}
	if x.MAC != "" {
		algorithms = append(algorithms, x.MAC)
	}
	t.pair("algorithms", strings.Join(algorithms, ", "))
	t.pair("extensions used", allOr(x.Extensions, "none"))
	t.pair("logged in", "after "+x.Connected.Round(time.Millisecond).String())
	for _, f := range x.Folders {
		state := f.Path
		switch {
		case f.Fault != "":
			state += "  ! " + f.Fault
		case f.Use == "in":
			state += fmt.Sprintf(", %s, listed in %s", count(x.Entries, "entry", "entries"), x.Listed.Round(time.Millisecond))
		}
		t.pair("folder "+f.Use, state)
	}
	if err := t.flush(); err != nil || !x.dryRun {
		return err
	}
	fmt.Fprintf(w, "\n%s meant by the agreement, %s passed over\n\n", count(len(x.Files), "file", "files"), count(x.Passed, "entry", "entries"))
	files := newTable(w, "FILE", "SIZE", "MODIFIED", "A POLL WOULD")
	for _, f := range x.Files {
		files.row(f.File, size(f.Size), when(f.Modified), f.What)
	}
	return files.flush()
}
