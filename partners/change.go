package partners

import (
	"strings"
	"time"
)

// Action is what became of a partner.
type Action string

const (
	Created   Action = "created"
	Changed   Action = "changed"
	Unchanged Action = "unchanged" // never recorded
	Removed   Action = "removed"   // the row stays: the ledger refers to it
	Restored  Action = "restored"  // created again under a name that had been removed
)

// Change is what applying an agreement does, or did, to one partner.
type Change struct {
	PartnerID    int64 // of a dry run's new partner: meaningless
	Tenant, Name string
	Action       Action
	Fields       []FieldChange // sorted by field
}

// String is "changed default/acme" and a line, indented, for every field. The
// fields of a removed partner are left out.
func (c Change) String() string {
	var b strings.Builder
	b.WriteString(string(c.Action) + " " + c.Tenant + "/" + c.Name)
	if c.Action != Removed {
		for _, f := range c.Fields {
			b.WriteString("\n  " + f.String())
		}
	}
	return b.String()
}

// Record is a change that was made.
type Record struct {
	Change
	ID       int64 // ascending
	At       time.Time
	Who      string
	Revision int // the partner's, after it
}
