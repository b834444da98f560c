package partners

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// AllowsAsync tells whether an asynchronous receipt may be posted to a
// Receipt-Delivery-Option (RFC 4130 §7.3): nil, or why not. The target is
// chosen by whoever wrote the message, so it must lie at or beneath one of the
// agreed URLs: same scheme, host and port, and the agreed path as a prefix of
// whole segments. The query is free.
//
// A name that is allowed here may still resolve to a forbidden address: whoever
// connects must ask [AddressAllowed] about the address dialled, and must not
// follow redirects.
func (a *Agreement) AllowsAsync(target string) error {
	if len(a.AS2.AsyncURLs) == 0 {
		return errors.New("no asynchronous receipts are agreed")
	}
	u, err := parseTarget(target)
	if err != nil {
		return fmt.Errorf("receipt URL: %w", err)
	}
	if err := hostAllowed(u.Hostname(), a.AS2.AllowPrivate); err != nil {
		return fmt.Errorf("receipt URL: %w", err)
	}
	for _, agreed := range a.AS2.AsyncURLs {
		if base, err := parseTarget(agreed); err == nil && beneath(u, base) {
			return nil
		}
	}
	return fmt.Errorf("receipt URL %s://%s%s is not at or beneath an agreed one", u.Scheme, u.Host, u.Path)
}

// parseTarget reads an absolute http or https URL without any of the parts
// that make two readers see two targets.
func parseTarget(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("not a URL")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("scheme %q: http or https is needed", u.Scheme)
	case u.Opaque != "" || u.Hostname() == "":
		return nil, errors.New("no host")
	case u.User != nil:
		return nil, errors.New("user information is not allowed")
	case u.Fragment != "":
		return nil, errors.New("a fragment is not allowed")
	case strings.ContainsAny(u.Path, "\\\x00"):
		return nil, errors.New("a backslash or NUL in the path")
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "." || segment == ".." {
			return nil, errors.New("a dot segment in the path")
		}
	}
	return u, nil
}

func beneath(u, base *url.URL) bool {
	if u.Scheme != base.Scheme || !strings.EqualFold(u.Hostname(), base.Hostname()) || port(u) != port(base) {
		return false
	}
	prefix := strings.TrimSuffix(base.Path, "/")
	rest, ok := strings.CutPrefix(u.Path, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// hostAllowed judges what can be judged without a resolver.
func hostAllowed(host string, private bool) error {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		return AddressAllowed(addr, private)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		// 127.1, 2130706433, 0x7f000001: some resolvers take them for addresses.
		return fmt.Errorf("host %q is an address in a form that is not allowed", host)
	}
	if !private && last == "localhost" {
		return fmt.Errorf("host %q is this machine", host)
	}
	return nil
}

// sharedSpace is RFC 6598: behind a carrier's address translation.
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// AddressAllowed tells whether a receipt or a document may be sent to an
// address: nil, or why not. Loopback, private (RFC 1918, RFC 4193), shared
// (RFC 6598) and link-local addresses need the agreement's allow_private;
// unspecified and multicast ones are never a partner.
func AddressAllowed(addr netip.Addr, private bool) error {
	addr = addr.Unmap()
	switch {
	case addr.IsUnspecified() || addr.IsMulticast():
		return fmt.Errorf("address %s is no host", addr)
	case private:
		return nil
	case addr.IsLoopback(), addr.IsPrivate(), addr.IsLinkLocalUnicast(), sharedSpace.Contains(addr):
		return fmt.Errorf("address %s is not public", addr)
	}
	return nil
}
