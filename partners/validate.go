package partners

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// validate holds an agreement to what ParseFile guarantees, for one that comes
// from a program or out of the database. A row that somebody edited by hand
// must not become a partner without limits.
func (a *Agreement) validate() error {
	errs := []error{
		checkName(a.Tenant), checkName(a.Name),
		a.Windows.Default.valid(),
		oneOf(a.Drift, DriftHold, DriftForward, DriftDiscard),
		oneOf(a.OnDuplicate, AnswerProcessed, AnswerWarning),
		checkSink(a.Sink),
	}
	errs = append(errs, a.validAmendments()...)
	for standard, w := range a.Windows.Standard {
		errs = append(errs, oneOf(standard, Standards()...), w.valid())
	}
	if a.HasAS2() {
		errs = append(errs, a.AS2.validate())
	}
	if a.SFTP != nil {
		for _, f := range a.SFTP.faults() {
			errs = append(errs, fmt.Errorf("sftp.%s: %w", f.path, f.err))
		}
	}
	if !a.HasAS2() && a.SFTP == nil {
		errs = append(errs, errors.New("neither AS2 nor SFTP is agreed"))
	}
	a.Acknowledge.check(a.Drift, func(key string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("acknowledge.%s: %w", key, err))
		}
	})
	if a.Limits.Payload < 1 || a.Limits.Concurrent < 1 {
		errs = append(errs, errors.New("limits must be at least 1"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("agreement %s/%s: %w", a.Tenant, a.Name, err)
	}
	return nil
}

func (a *AS2) validate() error {
	_, err := canonicalDigest(a.DefaultMIC)
	errs := []error{CheckAS2ID(a.ID), CheckAS2ID(a.Station), err}
	for i, u := range a.AsyncURLs {
		if err := checkAsyncURL(u, a.AllowPrivate); err != nil {
			errs = append(errs, fmt.Errorf("async URL %d: %w", i, err))
		}
	}
	for _, c := range a.Certificates {
		if c.X509 == nil || len(c.Uses) == 0 {
			errs = append(errs, errors.New("a certificate without content or use"))
		}
	}
	if a.URL != "" {
		if err := checkMessageURL(a.URL, a.AllowPrivate); err != nil {
			errs = append(errs, fmt.Errorf("message URL: %w", err))
		}
	}
	return errors.Join(errs...)
}

// reachable tells whether messages to the partner can be made as agreed.
func (a *Agreement) reachable() error {
	if a.AS2.Require.Encrypted && len(a.pinned(UseEncrypt)) == 0 {
		return errors.New("encrypted messages are agreed, and no certificate is there to encrypt with")
	}
	return nil
}

// checkWho: a change nobody made is not recorded.
func checkWho(who string) error {
	if who == "" || len(who) > 256 || !utf8.ValidString(who) || strings.ContainsRune(who, 0) {
		return errors.New("who makes the change must be said, in at most 256 bytes")
	}
	return nil
}
