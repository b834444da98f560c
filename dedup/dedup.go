// Package dedup is the ledger: it decides, inside the caller's transaction, whether an interchange is a first copy.
//
// A reference (partner, standard, sender, recipient, control reference, message types, test flag) is armed by its first
// copy and protected for that partner's retry window. Registering a copy yields a [Verdict] and appends one event to the
// account; see docs/state-machine.md for the table of verdicts. Beyond references, the ledger knows business documents by
// their numbers: what replaces, changes or cancels what, and what came too late ([Lineage]).
//
// The package speaks SQL and nothing else: it opens no transaction of its own, so a reference is owned only if the
// caller's effects commit with it. It must run at READ COMMITTED: losing a race means that somebody else has committed,
// and only a new statement can see the winner's row. All functions are safe for concurrent use; a [Registration] is not.
package dedup

import (
	"math"
	"time"

	"github.com/google/uuid"

	"firstcopy/dedup/interchange"
)

// Verdict says what a copy of an interchange is. Its text is what tables, logs and metrics show.
type Verdict string

const (
	First     Verdict = "first"     // reference unknown
	Duplicate Verdict = "duplicate" // same content, raw or canonical, as any version seen under the reference
	Reuse     Verdict = "reuse"     // other content after the window: the partner's counter wrapped
	Drift     Verdict = "drift"     // other content inside the window
	// Amendment is new content whose documents say that they replace, change or cancel what is known.
	Amendment Verdict = "amendment"
	// Stale is new content whose documents are all older than what has been forwarded of them.
	Stale Verdict = "stale"
)

// VersionState says what became of a content seen under a reference besides the first copy's.
type VersionState string

const (
	Accepted  VersionState = "accepted"  // was, or is, the current content, or was forwarded by policy
	Held      VersionState = "held"      // waiting for an administrator
	Released  VersionState = "released"  // an administrator forwarded it
	Discarded VersionState = "discarded" // an administrator, or policy, dropped it
)

// Forever is the window of a reference that never wraps (Peppol identifiers, for instance).
const Forever = time.Duration(math.MaxInt64)

// Entry is one interchange to be registered.
type Entry struct {
	Reference interchange.Reference
	// Discriminant is what this partner's references need beside their fields to be keys, by agreement; mostly empty.
	Discriminant string
	Raw          [32]byte      // SHA-256 of the interchange's octets
	Content      [32]byte      // SHA-256 of its canonical form, algorithm interchange.ContentVersion
	Document     uuid.UUID     // names the document that is stored if this copy is to be kept
	Window       time.Duration // retry window if this copy arms the reference; Forever for no end
	Seen         bool          // a guess that the reference is known, see [Recent]; it decides nothing

	// Messages are looked at for their lineage, those with a number; none for an interchange that must not claim any.
	Messages   []interchange.Message
	Unlisted   int    // how many there are beside them
	Date, Time string // of the interchange, as written
}

// Decision is the ledger's answer for one entry.
type Decision struct {
	Verdict  Verdict
	Late     bool         // a duplicate that came after the window
	Key      uuid.UUID    // the reference's row, through all its epochs
	Epoch    int          // 1, or more after the counter wrapped
	Document uuid.UUID    // the document that holds this content: the entry's own if it is to be kept
	State    VersionState // what becomes of that document, if it is to be kept: Accepted, Held or Discarded
	Lineage  *Lineage     // nil if there is nothing to tell
	own      uuid.UUID
}

// Fresh reports whether the decision's document is this very copy, so that its octets must be stored. Those of a duplicate are
// stored already, unless it is one by its documents only.
func (d Decision) Fresh() bool { return d.Document == d.own }
