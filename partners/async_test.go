package partners_test

import (
	"net/netip"
	"strings"
	"testing"

	"firstcopy/partners"
)

func TestAllowsAsync(t *testing.T) {
	t.Parallel()
	public := partners.Agreement{AS2: partners.AS2{AsyncURLs: []string{"https://acme.example/mdn", "http://203.0.113.7:8080/a/"}}}
	private := partners.Agreement{AS2: partners.AS2{AllowPrivate: true, AsyncURLs: []string{"http://127.0.0.1:4080", "http://localhost/mdn"}}}
	// In an agreement by mistake; the flag is what counts.
	unflagged := partners.Agreement{AS2: partners.AS2{AsyncURLs: []string{
		"http://127.0.0.1/", "http://[::ffff:10.0.0.1]/", "http://169.254.169.254/", "http://localhost/", "http://2130706433/", "http://0x7f.1/", "http://a.0x7f/",
	}}}
	for _, test := range []struct {
		agreement partners.Agreement
		url       string
		says      string // "" if allowed
	}{
		{public, "https://acme.example/mdn", ""},
		{public, "https://ACME.example:443/mdn/17?x=y", ""},
		{public, "HTTPS://acme.example/mdn/", ""},
		{public, "http://203.0.113.7:8080/a", ""},
		{public, "http://203.0.113.7:8080/a/b", ""},
		{public, "http://acme.example/mdn", "not at or beneath"},
		{public, "https://acme.example:8443/mdn", "not at or beneath"},
		{public, "https://acme.example/mdnx", "not at or beneath"},
		{public, "https://acme.example/", "not at or beneath"},
		{public, "https://acme.example.evil/mdn", "not at or beneath"},
		{public, "https://evil/mdn?https://acme.example/mdn", "not at or beneath"},
		{public, "https://acme.example/mdn/../admin", "dot segment"},
		{public, "https://acme.example/mdn/%2e%2e/admin", "dot segment"},
		{public, "https://acme.example/mdn%2f..%2fadmin", "dot segment"},
		{public, `https://acme.example/mdn\..\x`, "backslash"},
		{public, "https://user:pw@acme.example/mdn", "user information"},
		{public, "https://acme.example/mdn#x", "fragment"},
		{public, "file:///etc/passwd", "scheme"},
		{public, "mailto:mdn@acme.example", "scheme"},
		{public, "//acme.example/mdn", "scheme"},
		{public, "https:acme.example/mdn", "no host"},
		{public, "https:///mdn", "no host"},
		{public, "https://acme.example/mdn\r\nX: y", "not a URL"},
		{public, "", "scheme"},
		{private, "http://127.0.0.1:4080/anything", ""},
		{private, "http://localhost/mdn", ""},
		{private, "http://127.0.0.1/", "not at or beneath"},
		{unflagged, "http://127.0.0.1/", "not public"},
		{unflagged, "http://[::ffff:10.0.0.1]/", "not public"},
		{unflagged, "http://169.254.169.254/latest", "not public"},
		{unflagged, "http://localhost/", "this machine"},
		{unflagged, "http://localhost./", "this machine"},
		{unflagged, "http://2130706433/", "form that is not allowed"},
		{unflagged, "http://0x7f.1/", "form that is not allowed"},
		{unflagged, "http://a.0x7f/", "form that is not allowed"},
		{partners.Agreement{}, "https://acme.example/mdn", "no asynchronous receipts"},
	} {
		err := test.agreement.AllowsAsync(test.url)
		switch {
		case test.says == "" && err != nil:
			t.Errorf("%q: %v", test.url, err)
		case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)):
			t.Errorf("%q: %v, want an error saying %q", test.url, err, test.says)
		}
	}
}

func TestAddressAllowed(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][2]bool{ // ordinarily, with allow_private
		"203.0.113.7": {true, true}, "2001:db8::1": {true, true}, "100.128.0.1": {true, true},
		"127.0.0.1": {false, true}, "127.9.9.9": {false, true}, "::1": {false, true}, "::ffff:127.0.0.1": {false, true},
		"10.1.2.3": {false, true}, "172.16.0.1": {false, true}, "192.168.1.1": {false, true}, "fd00::1": {false, true},
		"100.64.0.1": {false, true}, "::ffff:100.64.0.1": {false, true}, "169.254.169.254": {false, true}, "fe80::1": {false, true},
		"0.0.0.0": {false, false}, "::": {false, false}, "224.0.0.1": {false, false}, "ff02::1": {false, false},
	} {
		addr := netip.MustParseAddr(address)
		got := [2]bool{partners.AddressAllowed(addr, false) == nil, partners.AddressAllowed(addr, true) == nil}
		if got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}
