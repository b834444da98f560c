package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"firstcopy/configs"
	"firstcopy/migrations"
	"firstcopy/partners"
)

// Severities of a finding.
const (
	fine    = "ok"
	unwise  = "warning"
	faulted = "error"
)

// finding is one thing that was looked at.
type finding struct {
	Severity string `json:"severity"`
	About    string `json:"about"` // configuration, station, database, schema, partner
	Text     string `json:"text"`
	Hint     string `json:"hint,omitempty"`
}

// findings collects what a check has seen.
type findings []finding

func (f *findings) add(severity, about, format string, args ...any) {
	*f = append(*f, finding{Severity: severity, About: about, Text: fmt.Sprintf(format, args...)})
}

// fault adds an error, a line of its text each, and its hint.
func (f *findings) fault(about string, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		f.add(faulted, about, "%s", line)
	}
	if hinted, ok := errors.AsType[*hintedError](err); ok {
		(*f)[len(*f)-1].Hint = hinted.hint
	}
}

func (f findings) failed() bool {
	for _, one := range f {
		if one.Severity == faulted {
			return true
		}
	}
	return false
}

func newCheckConfigCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "check-config",
		Short: "Check all that serve would need, and start nothing",
		Long: "Reads the configuration and the files it names, looks at the database and its schema, and holds the agreements\n" +
			"against the configuration. Every finding is a line; the exit code is 1 if one of them is an error.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := a.check(cmd.Context(), time.Now())
			err := a.print(cmd, found, func(w io.Writer) error { return found.write(w) })
			if err == nil && found.failed() {
				return errFindings
			}
			return err
		},
	}
}

func (f findings) write(w io.Writer) error {
	t := newTable(w)
	for _, one := range f {
		t.row(one.Severity, one.About, one.Text)
		if one.Hint != "" {
			t.line("", "", "hint: "+one.Hint)
		}
	}
	return t.flush()
}

func (a *app) check(ctx context.Context, now time.Time) findings {
	found := findings{}
	c, err := a.load()
	if err != nil {
		found.fault("configuration", err)
		return found
	}
	found.add(fine, "configuration", "%s is read, node %s", a.configFile, c.Node)
	for _, s := range c.Stations {
		found.station(s, now)
	}
	pool, err := connect(ctx, string(c.Database.URL))
	if err != nil {
		found.fault("database", err)
		return found
	}
	defer pool.Close()
	found.add(fine, "database", "is reachable")
	if err := migrations.Check(ctx, pool); err != nil {
		found.fault("schema", schemaFault(err))
		return found
	}
	found.add(fine, "schema", "is up to date")
	found.agreements(ctx, pool, c, now)
	return found
}

// station looks at the validity of our own keys.
func (f *findings) station(s configs.Station, now time.Time) {
	before := len(*f)
	sign, ok := s.SigningKey(now)
	switch {
	case !ok:
		f.add(faulted, "station", "%s has no key to sign receipts with now", s.AS2ID)
	default:
		f.validity(s.AS2ID+" signs with", sign.Certificate, now)
	}
	opening := s.DecryptionKeys(now)
	if len(opening) == 0 {
		f.add(unwise, "station", "%s has no key to decrypt with now: only unencrypted messages can be read", s.AS2ID)
	} else if opening[0].Certificate != sign.Certificate {
		f.validity(s.AS2ID+" decrypts with", opening[0].Certificate, now)
	}
	if len(*f) == before {
		f.add(fine, "station", "%s, %s", s.AS2ID, count(len(s.Keys), "key", "keys"))
	}
}

// soon is how early the end of a certificate is worth a warning: every partner
// has to be told of the next one.
const soon = 30 * 24 * time.Hour

func (f *findings) validity(what string, c *x509.Certificate, now time.Time) {
	switch {
	case now.After(c.NotAfter):
		f.add(unwise, "station", "%s %s, which expired on %s", what, c.Subject, when(c.NotAfter))
	case now.Add(soon).After(c.NotAfter):
		f.add(unwise, "station", "%s %s, which expires on %s", what, c.Subject, when(c.NotAfter))
	}
}

// agreements holds what is agreed against what is configured.
func (f *findings) agreements(ctx context.Context, pool *pgxpool.Pool, c configs.Config, now time.Time) {
	all, err := partners.NewStore(pool).List(ctx)
	if err != nil {
		f.fault("partner", err)
		return
	}
	if len(all) == 0 {
		f.add(unwise, "partner", "there are no agreements: every message will be refused (firstcopy partner apply -f FILE)")
	}
	stations := map[string]bool{}
	for _, s := range c.Stations {
		stations[s.AS2ID] = true
	}
	for i := range all {
		f.agreement(&all[i], stations, now)
	}
}

func (f *findings) agreement(a *partners.Agreement, stations map[string]bool, now time.Time) {
	before := len(*f)
	name := display(a.Tenant, a.Name)
	if a.HasAS2() && !stations[a.AS2.Station] {
		f.add(faulted, "partner", "%s sends to station %s, which is not configured: its messages will be refused", name, a.AS2.Station)
	}
	for _, w := range a.CertificateWarnings(now) {
		f.add(unwise, "partner", "%s: %s", name, w.Text)
	}
	if folder, ok := strings.CutPrefix(a.Sink, "dir:"); ok {
		if info, err := os.Stat(folder); err != nil {
			f.add(faulted, "partner", "%s: sink: %v", name, err)
		} else if !info.IsDir() {
			f.add(faulted, "partner", "%s: sink: %s is not a folder", name, folder)
		}
	}
	if a.SinkSecretFile != "" {
		if file, err := os.Open(a.SinkSecretFile); err != nil {
			f.add(faulted, "partner", "%s: sink secret: %v", name, err)
		} else {
			file.Close()
		}
	}
	if a.SFTP != nil {
		for _, file := range a.SFTP.Files() {
			if secret, err := os.Open(file); err != nil {
				f.add(faulted, "partner", "%s: sftp: %v", name, err)
			} else {
				secret.Close()
			}
		}
	}
	if len(*f) == before {
		f.add(fine, "partner", "%s", name)
	}
}
