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
		CheckAS2ID(a.AS2.ID), CheckAS2ID(a.AS2.Station),
		a.Windows.Default.valid(),
		oneOf(a.Drift, DriftHold, DriftForward, DriftDiscard),
		oneOf(a.OnDuplicate, AnswerProcessed, AnswerWarning),
		checkSink(a.Sink),
	}
	errs = append(errs, a.validAmendments()...)
	for standard, w := range a.Windows.Standard {
		errs = append(errs, oneOf(standard, Standards()...), w.valid())
	}
	for i, u := range a.AS2.AsyncURLs {
		if err := checkAsyncURL(u, a.AS2.AllowPrivate); err != nil {
			errs = append(errs, fmt.Errorf("async URL %d: %w", i, err))
		}
	}
	if a.AS2.URL != "" {
		if err := checkMessageURL(a.AS2.URL, a.AS2.AllowPrivate); err != nil {
			errs = append(errs, fmt.Errorf("message URL: %w", err))
		}
	}
	a.Acknowledge.check(a.Drift, func(key string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("acknowledge.%s: %w", key, err))
		}
	})
	if _, err := canonicalDigest(a.AS2.DefaultMIC); err != nil {
		errs = append(errs, err)
	}
	if a.Limits.Payload < 1 || a.Limits.Concurrent < 1 {
		errs = append(errs, errors.New("limits must be at least 1"))
	}
	for _, c := range a.AS2.Certificates {
		if c.X509 == nil || len(c.Uses) == 0 {
			errs = append(errs, errors.New("a certificate without content or use"))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("agreement %s/%s: %w", a.Tenant, a.Name, err)
	}
	return nil
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
