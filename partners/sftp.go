package partners

import (
	"fmt"
	"strings"
	"time"

	"firstcopy/configs/strict"
)

// SFTP are the terms for files that are fetched from a partner's SFTP server
// (draft-ietf-secsh-filexfer-02, version 3 of the protocol). Nil in an
// agreement without them. Passwords and private keys are files on the nodes.
type SFTP struct {
	Hop `yaml:",inline"` // the partner's server

	Folders Folders `yaml:"folders" json:"folders"`
	Select  Select  `yaml:"select" json:"select,omitzero"`
	Ready   Ready   `yaml:"ready" json:"ready"`
	After   After   `yaml:"after" json:"after"`

	Interval   Period      `yaml:"interval" json:"interval"`
	Jitter     Period      `yaml:"jitter" json:"jitter"`           // added to the interval, at random
	MaxFiles   int         `yaml:"max_files" json:"max_files"`     // taken in one poll
	MaxEntries int         `yaml:"max_entries" json:"max_entries"` // of the folder; a longer one is not read
	MinSize    strict.Size `yaml:"min_size" json:"min_size"`       // a smaller file is still being written; see Limits.Payload for the largest
	Empty      Empty       `yaml:"empty" json:"empty"`

	Timeouts Timeouts `yaml:"timeouts" json:"timeouts"`
	Quirks   []Quirk  `yaml:"quirks" json:"quirks,omitempty"`
	Expect   Expect   `yaml:"expect" json:"expect,omitzero"`
}

// Hop is an SSH server to log in to: the partner's, or one on the way to it.
type Hop struct {
	Host string `yaml:"host" json:"host"`
	Port int    `yaml:"port" json:"port"`
	User string `yaml:"user" json:"user"`
	// HostKeys are the only keys that the server may show: "ssh-ed25519 AAAA…",
	// or type and fingerprint, "ssh-ed25519 SHA256:…". HostAuthorities may
	// have signed a certificate for the host instead. RevokedKeys are refused
	// whatever else says so.
	HostKeys        []string   `yaml:"host_keys" json:"host_keys,omitempty"`
	HostAuthorities []string   `yaml:"host_authorities" json:"host_authorities,omitempty"`
	RevokedKeys     []string   `yaml:"revoked_keys" json:"revoked_keys,omitempty"`
	Auth            Auth       `yaml:"auth" json:"auth"`
	Algorithms      Algorithms `yaml:"algorithms" json:"algorithms,omitzero"`
	Route           Route      `yaml:"route" json:"route,omitzero"`
}

// Auth is how we log in. Servers that want several steps (public key, then
// password) get as many of these as they ask for.
type Auth struct {
	PasswordFile        string    `yaml:"password_file" json:"password_file,omitempty"`
	KeyboardInteractive bool      `yaml:"keyboard_interactive" json:"keyboard_interactive,omitempty"` // prompts are answered with the password
	Keys                []AuthKey `yaml:"keys" json:"keys,omitempty"`
	AgentSocket         string    `yaml:"agent_socket" json:"agent_socket,omitempty"` // of an ssh-agent on the node
}

// AuthKey is a private key in a file, as ssh-keygen writes it.
type AuthKey struct {
	File            string `yaml:"file" json:"file"`
	PassphraseFile  string `yaml:"passphrase_file" json:"passphrase_file,omitempty"`   // "" for none
	CertificateFile string `yaml:"certificate_file" json:"certificate_file,omitempty"` // an OpenSSH user certificate for the key; "" for none
}

// Algorithms are allowed beside those that are secure, for old servers.
type Algorithms struct {
	KeyExchanges []string `yaml:"key_exchanges" json:"key_exchanges,omitempty"`
	Ciphers      []string `yaml:"ciphers" json:"ciphers,omitempty"`
	MACs         []string `yaml:"macs" json:"macs,omitempty"`
	HostKeys     []string `yaml:"host_keys" json:"host_keys,omitempty"`
}

// Empty reports whether nothing old is allowed.
func (a *Algorithms) Empty() bool {
	return len(a.KeyExchanges)+len(a.Ciphers)+len(a.MACs)+len(a.HostKeys) == 0
}

// Route is how the server is reached; the zero Route is directly. At most one
// of Jump, SOCKS5 and HTTPConnect is set.
type Route struct {
	Jump              *Hop   `yaml:"jump" json:"jump,omitempty"`
	SOCKS5            string `yaml:"socks5" json:"socks5,omitempty"`             // host:port
	HTTPConnect       string `yaml:"http_connect" json:"http_connect,omitempty"` // host:port
	ProxyUser         string `yaml:"proxy_user" json:"proxy_user,omitempty"`
	ProxyPasswordFile string `yaml:"proxy_password_file" json:"proxy_password_file,omitempty"`
}

// Folders of the server; those but In may be "".
type Folders struct {
	In              string `yaml:"in" json:"in"`                                     // where the partner puts files
	Archive         string `yaml:"archive" json:"archive,omitempty"`                 // where they go when they have been taken
	Error           string `yaml:"error" json:"error,omitempty"`                     // where those go that never became whole
	Acknowledgement string `yaml:"acknowledgement" json:"acknowledgement,omitempty"` // where functional acknowledgements are put
}

// Select names the files that are meant: octets with * and ?, upper and lower
// case ASCII letters alike. Names of temporary files, and those that begin
// with a dot, never are.
type Select struct {
	Include []string `yaml:"include" json:"include,omitempty"` // none: all
	Exclude []string `yaml:"exclude" json:"exclude,omitempty"`
}

// Ready is when a file is believed to be whole, beside its envelope.
type Ready struct {
	Quiet Period `yaml:"quiet" json:"quiet"`                   // size and time unchanged, by our clock and over two polls at least
	Done  string `yaml:"done_file" json:"done_file,omitempty"` // name of a file that says so instead, of {name} or {stem}
	Grace Period `yaml:"grace" json:"grace"`                   // how long an incomplete file may wait before it goes to the error folder
}

// After is what becomes of a file that has been taken.
type After string

const (
	AfterArchive After = "archive"
	AfterDelete  After = "delete"
	AfterKeep    After = "keep"
)

// Empty is what becomes of a file without content.
type Empty string

const (
	EmptyWait   Empty = "wait"   // like one that is incomplete: to the error folder after the grace period
	EmptyIgnore Empty = "ignore" // left alone
	EmptyDelete Empty = "delete" // after the grace period
)

// Timeouts bound every wait for the server.
type Timeouts struct {
	Connect Period `yaml:"connect" json:"connect"` // until the server is ready for requests
	Request Period `yaml:"request" json:"request"` // one request
	List    Period `yaml:"list" json:"list"`       // the folder
	File    Period `yaml:"file" json:"file"`       // one file
}

// Quirk is a deviation of a server that has to be humoured.
type Quirk string

const (
	QuirkSmallPackets    Quirk = "small_packets"      // no reads of more than 4 KiB
	QuirkOneHandle       Quirk = "one_handle"         // one open file at a time
	QuirkNoStatAfterOpen Quirk = "no_stat_after_open" // opening consumes the file
	QuirkNoRename        Quirk = "no_rename"          // renames are copies
)

// Has reports whether the server has the quirk.
func (s *SFTP) Has(q Quirk) bool {
	for _, one := range s.Quirks {
		if one == q {
			return true
		}
	}
	return false
}

// Expect is when a file must have come, every day or on some of them; By "" is
// never.
type Expect struct {
	By   string   `yaml:"by" json:"by"`               // "06:30", local time in Zone
	Days []string `yaml:"days" json:"days,omitempty"` // "mon" … "sun"; none: every day
	Zone string   `yaml:"zone" json:"zone,omitempty"` // "UTC", "Europe/Berlin"; "" is UTC
}

// What terms that say nothing get.
const (
	DefaultPort       = 22
	DefaultInterval   = Period(time.Minute)
	DefaultQuiet      = Period(10 * time.Second)
	DefaultGrace      = Period(time.Hour)
	DefaultMaxFiles   = 10_000
	DefaultMaxEntries = 200_000
)

// DefaultTimeouts are those of terms that name none.
var DefaultTimeouts = Timeouts{Connect: Period(30 * time.Second), Request: Period(30 * time.Second),
	List: Period(5 * time.Minute), File: Period(time.Hour)}

// Period is a duration that reads "90s" or "1h30m" in files, in the database
// and on pages.
type Period time.Duration

// Duration is the same for package time.
func (p Period) Duration() time.Duration { return time.Duration(p) }

// String leaves out what is zero: "1h", not "1h0m0s".
func (p Period) String() string {
	s := time.Duration(p).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText is String.
func (p Period) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what package time does, but nothing negative.
func (p *Period) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a duration like 500ms, 10s, 5m", text)
	}
	*p = Period(d)
	return nil
}
