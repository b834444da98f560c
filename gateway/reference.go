package gateway

import (
	"cmp"
	"encoding/hex"
	"time"

	"firstcopy/dedup"
	"firstcopy/dedup/interchange"
	"firstcopy/gateway/forward"
	"firstcopy/partners"
)

// entry is what the ledger is asked about an interchange.
func entry(a *partners.Agreement, x *interchange.Interchange) dedup.Entry {
	e := dedup.Entry{Raw: x.Raw, Content: x.Content, Window: window(a, string(x.Standard)), Date: x.Date, Time: x.Time}
	e.Reference, e.Discriminant = reference(x, a.Key)
	// What must not own the contractual reference must not own its documents' numbers either.
	if e.Reference.Standard != interchange.Content || x.Standard == interchange.Content {
		e.Messages = x.Messages
		if !x.AllListed() {
			e.Unlisted = 1
		}
	}
	return e
}

// reference is what an interchange is known by, and what else by this partner's agreement. One that lacks its trailer must not
// own the contractual reference, or the full copy that follows would be drift; and one whose fields no index can hold has none.
// Both go by their content.
func reference(x *interchange.Interchange, key partners.Key) (ref interchange.Reference, discriminant string) {
	if x.Standard == interchange.Content {
		return x.Reference, ""
	}
	ref = x.Reference
	if key.AnyMessageType {
		ref.MessageTypes = nil
	}
	switch key.By {
	case partners.KeyDate:
		discriminant = cmp.Or(dedup.Day(x.Date), x.Date)
	case partners.KeyHash:
		discriminant = hex.EncodeToString(x.Content[:])
	}
	if !x.Complete || keySize(&ref)+len(discriminant) > maxKey {
		return interchange.Reference{Standard: interchange.Content, Control: "sha256:" + hex.EncodeToString(x.Raw[:])}, ""
	}
	return ref, discriminant
}

// maxKey bounds the fields of a reference, in octets: Postgres takes some 2700 for an index entry.
const maxKey = 2000

func keySize(r *interchange.Reference) int {
	n := len(r.Control) + len(r.Sender) + len(r.SenderQualifier) + len(r.Recipient) + len(r.RecipientQualifier)
	for _, t := range r.MessageTypes {
		n += len(t) + 8
	}
	return n
}

func window(a *partners.Agreement, standard string) time.Duration {
	w := a.Window(standard)
	if w.Infinite {
		return dedup.Forever
	}
	return w.Duration
}

// versionState translates a partner's policy for content that is not to be forwarded as a matter of course.
func versionState(policy partners.Drift) dedup.VersionState {
	switch policy {
	case partners.DriftForward:
		return dedup.Accepted
	case partners.DriftDiscard:
		return dedup.Discarded
	default:
		return dedup.Held
	}
}

func sameState(policy partners.SameDocument) dedup.VersionState {
	switch policy {
	case partners.SameHold:
		return dedup.Held
	case partners.SameSuppress:
		return dedup.Discarded
	default:
		return dedup.Accepted
	}
}

// documentState is where a document that is kept begins.
func documentState(s dedup.VersionState) forward.State {
	switch s {
	case dedup.Held:
		return forward.HeldState
	case dedup.Discarded:
		return forward.DiscardState
	default:
		return forward.Pending
	}
}
