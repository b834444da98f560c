package dedup

import (
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"firstcopy/dedup/interchange"
)

// Lineage says what the documents of an interchange are to those known before. It stands in the detail of the verdict's event
// and with the document, and is nil where there is nothing to tell: an interchange of originals, or without numbered documents.
type Lineage struct {
	Documents  []Relation   `json:"documents,omitempty"`  // of the interchange, at most 100, plain originals left out
	Supersedes []Superseded `json:"supersedes,omitempty"` // what they replace, change or cancel
	Stale      []string     `json:"stale,omitempty"`      // numbers of those that are older than what has been forwarded
	Flags      []Flag       `json:"flags,omitempty"`
}

// Relation is what one document is to those before it: original, supersedes, changes, cancels, same, copy or stale.
type Relation struct {
	Number     string       `json:"number"`
	Relation   string       `json:"relation"`
	Function   string       `json:"function,omitempty"` // 1225, 353, as it stands in the message
	Supersedes []Superseded `json:"supersedes,omitempty"`
}

// Superseded names a document that is no longer the newest: the stored document that holds it, and its own number.
type Superseded struct {
	Document uuid.UUID `json:"document_id"`
	Number   string    `json:"number"`
}

// Flag is something about an interchange's documents that a consumer may want to look at. None of them holds anything back.
type Flag string

// The flags.
const (
	SameDocument    Flag = "same_document"    // it has come before, to the octet, in another interchange
	CopyOfKnown     Flag = "copy"             // it says that it is a copy of what has been forwarded
	CopyOfUnknown   Flag = "copy_of_unknown"  // it says that it is a copy, and neither its content nor its date ever came
	TargetUnknown   Flag = "target_unknown"   // what it replaces, changes or cancels never came
	AfterCancel     Flag = "after_cancel"     // what it replaces or changes had been cancelled
	OutOfOrder      Flag = "out_of_order"     // a change came after a newer one, or before its original
	NumberReused    Flag = "number_reused"    // an original with other content than an earlier one of its number
	UnknownFunction Flag = "unknown_function" // its function code is in no list
	TrialDocument   Flag = "trial"            // it says that it is a test
	NotCompared     Flag = "not_compared"     // there are more than a thousand to be compared with earlier ones; the rest were not
)

// Has reports whether the flag is set.
func (l *Lineage) Has(f Flag) bool { return l != nil && slices.Contains(l.Flags, f) }

// maxName bounds the octets of what names a document: Postgres takes some 2700 for an index entry. A number beyond is none.
const maxName = 1000

// numbered is what the ledger's functions want to know of a message, see lineage_judge in migrations/0004_lineage.sql.
type numbered struct {
	Number   string             `json:"number"`
	Family   string             `json:"family"`
	Revision string             `json:"revision"`
	Date     string             `json:"date"`
	Effect   interchange.Effect `json:"effect"`
	Function string             `json:"function"`
	Digest   string             `json:"digest"`
	Place    int                `json:"place"`
	Targets  []target           `json:"targets,omitempty"`
}

type target struct {
	Number string `json:"number"`
	Family string `json:"family"`
}

type numberedSet struct {
	Documents []numbered   `json:"documents"`
	Plain     bool         `json:"plain"` // none supersedes, changes, cancels or repeats
	Others    int          `json:"others"`
	Sent      string       `json:"sent"`
	Flags     []Flag       `json:"flags,omitempty"`
	Reserved  bool         `json:"reserved,omitempty"` // lineage_reserve has had it
	Stale     VersionState `json:"stale"`
	Same      VersionState `json:"same"`
}

// lineage collects the numbered documents of an entry, and what is to be told of any; nil if there is neither.
func (r *Registration) lineage(e *Entry) *numberedSet {
	set := numberedSet{Documents: []numbered{}, Plain: true, Sent: sortable(e.Date, e.Time), Stale: orHeld(r.Stale), Same: orAccepted(r.SameDocument)}
	for i := range e.Messages {
		m := &e.Messages[i]
		switch {
		case m.Effect == interchange.Trial:
			set.flag(TrialDocument)
		case m.Effect == interchange.NoStatement && m.Function != "":
			set.flag(UnknownFunction)
		}
		if m.Number == "" || m.Effect == interchange.Trial || nameSize(e, m) > maxName {
			set.Others++
			continue
		}
		set.Documents = append(set.Documents, numbered{Number: m.Number, Family: family(m.Type), Revision: m.Revision, Date: sortable(m.Date, ""),
			Effect: m.Effect, Function: m.Function, Digest: hex.EncodeToString(m.Digest[:]), Place: i + 1, Targets: targets(e, m)})
		set.Plain = set.Plain && !amends(m.Effect) && m.Effect != interchange.NoEffect
	}
	if len(set.Documents) == 0 && len(set.Flags) == 0 {
		return nil
	}
	set.Others += e.Unlisted
	return &set
}

func (s *numberedSet) flag(f Flag) {
	if !slices.Contains(s.Flags, f) {
		s.Flags = append(s.Flags, f)
	}
}

func amends(e interchange.Effect) bool {
	return e == interchange.Supersede || e == interchange.Delta || e == interchange.Cancel
}

// targets are the predecessors that a message says it replaces, changes or cancels. What other messages refer to, such as the
// order of an invoice, are none.
func targets(e *Entry, m *interchange.Message) []target {
	if !amends(m.Effect) {
		return nil
	}
	var all []target
	for _, number := range m.Predecessors {
		t := target{number, predecessorFamily(m.Type)}
		if number != "" && nameSize(e, m)-len(m.Number)+len(number) <= maxName && !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return all
}

func nameSize(e *Entry, m *interchange.Message) int {
	return len(m.Number) + len(m.Type) + len(e.Reference.Sender) + len(e.Reference.Recipient)
}

// encode is the set as a JSON parameter; NULL for none.
func (s *numberedSet) encode() *string {
	if s == nil {
		return nil
	}
	data, err := json.Marshal(s)
	if err != nil {
		panic("dedup: documents must be marshallable: " + err.Error())
	}
	text := string(data)
	return &text
}

func orHeld(s VersionState) VersionState {
	if s == "" {
		return Held
	}
	return s
}

func orAccepted(s VersionState) VersionState {
	if s == "" {
		return Accepted
	}
	return s
}
