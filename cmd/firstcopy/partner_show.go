package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"firstcopy/dedup"
	"firstcopy/partners"
)

// partnerOutput is an agreement in the words of the agreements file.
type partnerOutput struct {
	ID             int64                    `json:"partner_id"`
	Tenant         string                   `json:"tenant"`
	Name           string                   `json:"name"`
	AS2            *as2Output               `json:"as2,omitempty"`
	SFTP           *partners.SFTP           `json:"sftp,omitempty"`
	Window         string                   `json:"window"`
	Windows        map[string]string        `json:"windows,omitempty"`
	Key            keyOptions               `json:"key"`
	Drift          partners.Drift           `json:"drift"`
	Stale          partners.Drift           `json:"stale"`
	SameDocument   partners.SameDocument    `json:"same_document"`
	OnDuplicate    partners.DuplicateAnswer `json:"on_duplicate"`
	Acknowledged   string                   `json:"acknowledged"`
	AnswersGo      string                   `json:"acknowledgements_go_to,omitempty"`
	Sink           string                   `json:"sink"`
	SinkSecretFile string                   `json:"sink_secret_file,omitempty"`
	PayloadLimit   int64                    `json:"payload_limit"`
	Concurrent     int                      `json:"concurrent"`
	Revision       int                      `json:"revision"`
	CreatedAt      time.Time                `json:"created_at"`
	UpdatedAt      time.Time                `json:"updated_at"`
	Removed        bool                     `json:"removed,omitempty"` // with its history alone
	Warnings       []string                 `json:"warnings,omitempty"`
	History        []recordOutput           `json:"history,omitempty"`
}

type keyOptions struct {
	By           partners.KeyBasis `json:"by"`
	MessageTypes bool              `json:"message_types"`
}

type as2Output struct {
	ID           string              `json:"id"`
	Station      string              `json:"station"`
	Signed       bool                `json:"signed"`
	Encrypted    bool                `json:"encrypted"`
	Digests      []string            `json:"digests,omitempty"`
	Ciphers      []string            `json:"ciphers,omitempty"`
	AsyncURLs    []string            `json:"async_urls,omitempty"`
	URL          string              `json:"url,omitempty"`
	AllowPrivate bool                `json:"allow_private"`
	DefaultMIC   string              `json:"default_mic"`
	Certificates []certificateOutput `json:"certificates"`
}

type certificateOutput struct {
	Subject     string         `json:"subject"`
	Issuer      string         `json:"issuer"`
	Serial      string         `json:"serial"`
	Fingerprint hash           `json:"sha256"`
	Uses        []partners.Use `json:"use"`
	NotBefore   time.Time      `json:"not_before"`
	NotAfter    time.Time      `json:"not_after"`
	From        time.Time      `json:"from,omitzero"`  // as agreed
	Until       time.Time      `json:"until,omitzero"` // as agreed, exclusive
	DaysLeft    int            `json:"days_left"`      // of the certificate's own validity; negative when it is over
	InUse       bool           `json:"in_use"`         // now
}

type recordOutput struct {
	At       time.Time         `json:"at"`
	Who      string            `json:"who"`
	Revision int               `json:"revision"`
	Action   partners.Action   `json:"action"`
	Fields   []fieldChangeJSON `json:"fields"`
}

func newPartnerShowCommand(a *app) *cobra.Command {
	var tenant string
	var history bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show what is agreed with a partner",
		Args:  oneArgument("a partner's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			pool, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer pool.Close()
			out, err := showPartner(cmd.Context(), partners.NewStore(pool), tenant, args[0], history)
			if err != nil {
				return err
			}
			if err := out.addWeakness(cmd.Context(), pool); err != nil {
				return err
			}
			return a.print(cmd, out, out.write)
		},
	}
	tenantFlag(cmd, &tenant)
	cmd.Flags().BoolVar(&history, "history", false, "show who changed what, and when")
	return cmd
}

// showPartner reads an agreement. Of a partner that was removed the history
// alone is left.
func showPartner(ctx context.Context, store *partners.Store, tenant, name string, history bool) (partnerOutput, error) {
	agreement, err := store.Get(ctx, tenant, name)
	gone := errors.Is(err, partners.ErrNotFound)
	if err != nil && !gone {
		return partnerOutput{}, err
	}
	out := partnerOutput{Tenant: tenant, Name: name, Removed: gone}
	if !gone {
		out = partnerOf(agreement, time.Now())
	}
	if !gone && !history {
		return out, nil
	}
	records, err := store.Changes(ctx, tenant, name)
	if err != nil {
		return out, err
	}
	switch {
	case gone && len(records) == 0:
		return out, unknownPartner(ctx, store, tenant, name)
	case gone && !history:
		last := records[len(records)-1]
		return out, withHint(fmt.Errorf("partner %s was removed %s by %s", display(tenant, name), when(last.At), last.Who),
			"see what was agreed: firstcopy partner show %s --tenant %s --history", name, tenant)
	}
	for _, r := range records {
		out.History = append(out.History, recordOutput{At: r.At, Who: r.Who, Revision: r.Revision, Action: r.Action, Fields: changeOf(r.Change).Fields})
	}
	return out, nil
}

// addWeakness warns of references that are no keys, with what to agree on.
func (p *partnerOutput) addWeakness(ctx context.Context, pool *pgxpool.Pool) error {
	if p.Removed {
		return nil
	}
	found, err := dedup.Weak(ctx, pool, p.ID)
	if err != nil {
		return err
	}
	for _, w := range found {
		by := (partners.Key{By: p.Key.By}).Stronger(w.Daily)
		p.Warnings = append(p.Warnings, fmt.Sprintf("references are too weak to be keys: %s; agree on key: {by: %s}", w, by))
	}
	return nil
}

func partnerOf(a *partners.Agreement, now time.Time) partnerOutput {
	out := partnerOutput{ID: a.ID, Tenant: a.Tenant, Name: a.Name, Window: a.Windows.Default.String(),
		Key: keyOptions{a.Key.By, !a.Key.AnyMessageType}, Drift: a.Drift, Stale: a.Stale, SameDocument: a.SameDocument,
		OnDuplicate: a.OnDuplicate, Acknowledged: a.Acknowledge.Summary(), Sink: a.Sink, SinkSecretFile: a.SinkSecretFile,
		PayloadLimit: int64(a.Limits.Payload), Concurrent: a.Limits.Concurrent,
		Revision: a.Revision, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt, SFTP: a.SFTP,
	}
	if a.HasAS2() {
		out.AS2 = as2Of(a, now)
	}
	out.AnswersGo = answersGo(a)
	if len(a.Windows.Standard) > 0 {
		out.Windows = map[string]string{}
	}
	for standard, w := range a.Windows.Standard {
		out.Windows[standard] = w.String()
	}
	for _, w := range a.CertificateWarnings(now) {
		out.Warnings = append(out.Warnings, w.Text)
	}
	return out
}

// answersGo is where functional acknowledgements go: by the channel that the delivery came on.
func answersGo(a *partners.Agreement) string {
	if a.Acknowledge.Summary() == "never" {
		return ""
	}
	var all []string
	if a.HasAS2() {
		all = append(all, cmp.Or(a.AS2.URL, "nowhere for what comes by AS2: as2.url is not agreed"))
	}
	if s := a.SFTP; s != nil && s.Folders.Acknowledgement == "" {
		all = append(all, "nowhere for what comes by SFTP: sftp.folders.acknowledgement is not agreed")
	} else if s != nil {
		all = append(all, s.Folders.Acknowledgement+" on "+s.Host)
	}
	return strings.Join(all, "; ")
}

func as2Of(a *partners.Agreement, now time.Time) *as2Output {
	out := &as2Output{ID: a.AS2.ID, Station: a.AS2.Station, Signed: a.AS2.Require.Signed, Encrypted: a.AS2.Require.Encrypted,
		Digests: a.AS2.Require.Digests, Ciphers: a.AS2.Require.Ciphers, AsyncURLs: a.AS2.AsyncURLs, URL: a.AS2.URL,
		AllowPrivate: a.AS2.AllowPrivate, DefaultMIC: a.AS2.DefaultMIC, Certificates: []certificateOutput{}}
	for _, c := range a.AS2.Certificates {
		out.Certificates = append(out.Certificates, certificateOf(c, now))
	}
	return out
}

func certificateOf(c partners.Certificate, now time.Time) certificateOutput {
	print := c.Fingerprint()
	return certificateOutput{
		Subject: c.X509.Subject.String(), Issuer: c.X509.Issuer.String(), Serial: c.X509.SerialNumber.Text(16),
		Fingerprint: print[:], Uses: c.Uses, NotBefore: c.X509.NotBefore.UTC(), NotAfter: c.X509.NotAfter.UTC(),
		From: c.From, Until: c.Until, DaysLeft: daysBetween(now, c.X509.NotAfter), InUse: c.In(now),
	}
}

// daysBetween counts whole days, also backwards.
func daysBetween(from, to time.Time) int { return int(to.Sub(from).Hours()) / 24 }

func (p *partnerOutput) write(w io.Writer) error {
	if p.Removed {
		fmt.Fprintf(w, "Partner %s is removed\n", display(p.Tenant, p.Name))
		return p.writeHistory(w)
	}
	fmt.Fprintf(w, "Partner %s, revision %d of %s\n\n", display(p.Tenant, p.Name), p.Revision, when(p.UpdatedAt))
	t := newTable(w)
	if a := p.AS2; a != nil {
		t.pair("AS2", fmt.Sprintf("%s to station %s", a.ID, a.Station))
		t.pair("messages must be", a.floor())
		t.pair("digests", allOr(a.Digests, "whatever can be read"))
		t.pair("ciphers", allOr(a.Ciphers, "whatever can be read"))
		t.pair("asynchronous receipts", a.async())
		t.pair("default MIC", a.DefaultMIC)
	}
	if p.SFTP != nil {
		writeSFTPTerms(t, p.SFTP)
	}
	t.pair("window", p.Window)
	for _, standard := range slices.Sorted(maps.Keys(p.Windows)) {
		t.pair("window of "+standard, p.Windows[standard])
	}
	t.pair("keys", p.keys())
	t.pair("drift", p.Drift)
	t.pair("stale documents", p.Stale)
	t.pair("the same document again", p.SameDocument)
	t.pair("duplicates answered", p.OnDuplicate)
	t.pair("acknowledged by", p.Acknowledged)
	if p.AnswersGo != "" {
		t.pair("acknowledgements go to", p.AnswersGo)
	}
	if p.AS2 != nil && p.AS2.URL != "" {
		t.pair("our messages go to", p.AS2.URL)
	}
	t.pair("sink", p.Sink)
	if p.SinkSecretFile != "" {
		t.pair("sink secret", "in "+p.SinkSecretFile)
	}
	t.pair("limits", fmt.Sprintf("%s a payload, %d at once on each node", size(p.PayloadLimit), p.Concurrent))
	if err := t.flush(); err != nil {
		return err
	}
	if err := p.writeCertificates(w); err != nil {
		return err
	}
	return p.writeHistory(w)
}

func (p *partnerOutput) keys() string {
	s := map[partners.KeyBasis]string{partners.KeyReference: "the reference", partners.KeyDate: "the reference and the interchange's date",
		partners.KeyHash: "the reference and the content"}[p.Key.By]
	if !p.Key.MessageTypes {
		s += ", whatever the message types"
	}
	return s
}

func (a *as2Output) floor() string {
	switch {
	case a.Signed && a.Encrypted:
		return "signed and encrypted"
	case a.Signed:
		return "signed"
	case a.Encrypted:
		return "encrypted"
	}
	return "neither signed nor encrypted"
}

func (a *as2Output) async() string {
	if len(a.AsyncURLs) == 0 {
		return "not agreed"
	}
	s := "to " + strings.Join(a.AsyncURLs, ", ")
	if a.AllowPrivate {
		s += ", private addresses too"
	}
	return s
}

func allOr(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, ", ")
}

func (p *partnerOutput) writeCertificates(w io.Writer) error {
	if p.AS2 == nil {
		return nil
	}
	fmt.Fprintf(w, "\n%s\n", count(len(p.AS2.Certificates), "certificate", "certificates"))
	for _, c := range p.AS2.Certificates {
		fmt.Fprintf(w, "\n  %s\n", printable(c.Subject))
		t := newTable(w)
		t.pair("  used", fmt.Sprintf("to %s: %s", join(c.Uses, " and "), c.usage()))
		t.pair("  valid", fmt.Sprintf("%s to %s, %s", when(c.NotBefore), when(c.NotAfter), c.remaining()))
		t.pair("  issuer", c.Issuer)
		t.pair("  serial", c.Serial)
		t.pair("  sha256", fmt.Sprintf("%x", []byte(c.Fingerprint)))
		if err := t.flush(); err != nil {
			return err
		}
	}
	for _, warning := range p.Warnings {
		fmt.Fprintf(w, "\n  ! %s\n", printable(warning))
	}
	return nil
}

func join[T ~string](list []T, separator string) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = string(s)
	}
	return strings.Join(texts, separator)
}

func (c *certificateOutput) usage() string {
	s := "not now"
	if c.InUse {
		s = "now"
	}
	if !c.From.IsZero() {
		s += ", agreed from " + when(c.From)
	}
	if !c.Until.IsZero() {
		s += ", agreed until " + when(c.Until)
	}
	return s
}

func (c *certificateOutput) remaining() string {
	if time.Now().After(c.NotAfter) {
		return "expired " + count(-c.DaysLeft, "day", "days") + " ago"
	}
	return count(c.DaysLeft, "day", "days") + " left"
}

func (p *partnerOutput) writeHistory(w io.Writer) error {
	for _, r := range p.History {
		_, err := fmt.Fprintf(w, "\n%s  revision %d by %s\n", when(r.At), r.Revision, printable(r.Who))
		if err != nil {
			return err
		}
		(&changeOutput{Tenant: p.Tenant, Name: p.Name, Action: r.Action, Fields: r.Fields}).write(w)
	}
	return nil
}
