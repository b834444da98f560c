// Package partners keeps the agreements with trading partners: who they are,
// which certificates and keys they are pinned to, what security their messages
// must have, where their files are fetched, how long a reference of theirs is
// protected, and where their documents go.
//
// Agreements are written as YAML files ([ParseFile]), applied declaratively to
// the database ([Store]), and read by running nodes from a snapshot in memory
// that follows the database ([Directory]).
//
// Identifiers are those of RFC 4130 §6.2; the windows answer the retry periods
// of draft-duker-as2-reliability §7. Certificates are pinned by the contract:
// there is no chain building and no revocation check, and none inside a
// message is ever believed. Exchange of certificates (CEM) is not done.
//
// Private keys and passwords never pass through here: an agreement names the
// files in which the nodes find them.
//
// A Store and a Directory are safe for concurrent use. Agreements handed out by
// a Directory are shared: nobody may change them.
package partners

import (
	"errors"
	"time"

	"firstcopy/configs/strict"
)

// DefaultTenant owns the agreements that name no tenant.
const DefaultTenant = "default"

// What an agreement that says nothing gets.
const (
	DefaultMIC         = "sha-256"
	DefaultPayload     = strict.GiB
	DefaultConcurrency = 8
)

// ErrNotFound: there is no live partner of that tenant and name.
var ErrNotFound = errors.New("no such partner")

// Agreement is all that was agreed with one partner.
type Agreement struct {
	ID     int64  // of the database; 0 for one that was only parsed
	Tenant string // DefaultTenant unless set
	Name   string // unique in its tenant; shown everywhere

	AS2     AS2   // without an ID where AS2 is not agreed
	SFTP    *SFTP // nil where SFTP is not agreed
	Windows Windows

	Key          Key
	Drift        Drift
	Stale        Drift // of documents that are older than what has been forwarded of them
	SameDocument SameDocument
	OnDuplicate  DuplicateAnswer
	Acknowledge  Acknowledge

	Sink           string // "dir:/absolute/path", "http://…" or "https://…"
	SinkSecretFile string // absolute path of the webhook secret on each node; "" for none

	Limits Limits

	Revision             int // counts changes from 1; 0 for one that was only parsed
	CreatedAt, UpdatedAt time.Time
}

// HasAS2 tells whether messages by AS2 are agreed.
func (a *Agreement) HasAS2() bool { return a.AS2.ID != "" }

// AS2 are the terms for messages by RFC 4130.
type AS2 struct {
	ID           string // the partner's name, AS2-From of what arrives; compared to the octet
	Station      string // our name, AS2-To of what arrives
	Certificates []Certificate
	Require      Require
	AsyncURLs    []string // see Agreement.AllowsAsync
	URL          string   // where our messages to the partner are posted; "" for nowhere
	AllowPrivate bool     // URL and AsyncURLs may lead to loopback, private and link-local addresses
	DefaultMIC   string   // digest for the MIC of an unsigned message that asks for none
}

// Require is the security floor: what a message lacks of it is answered with
// insufficient-message-security.
type Require struct {
	Signed, Encrypted bool
	// Digests and Ciphers that are accepted, in canonical spelling ("sha-256",
	// "sha1"; "aes-256-cbc", "3des-cbc"). Empty: whatever the gateway can read.
	Digests, Ciphers []string
}

// Limits are the share of the gateway that one partner may take.
type Limits struct {
	Payload    strict.Size // of one decoded payload
	Concurrent int         // deliveries in work at once, on each node
}

// Drift is what becomes of new content under a known reference, inside the
// window, that does not say it is an amendment.
type Drift string

const (
	DriftHold    Drift = "hold"    // stored, shown, released or discarded by a person
	DriftForward Drift = "forward" // forwarded like a first copy
	DriftDiscard Drift = "discard" // recorded, not forwarded
)

// DuplicateAnswer is the disposition of a fresh receipt for a duplicate. It is
// positive either way (RFC 4130 §7.4.3, §7.5.5).
type DuplicateAnswer string

const (
	AnswerProcessed DuplicateAnswer = "processed" // processed, like a first copy
	AnswerWarning   DuplicateAnswer = "warning"   // processed/warning: duplicate-document
)
