package dedup

import (
	"encoding/hex"
	"encoding/json"

	"github.com/jackc/pgx/v5"
)

// reserveSQL locks the document numbers of several entries at once: references are locked in an order of their own, and
// numbers taken along with them one by one could make two payloads wait for each other in a circle. So it does for one entry with
// numbers beside others without, whose references would be locked before its numbers.
const reserveSQL = `SELECT lineage_reserve($1, $2::jsonb)`

// reserved is an entry as lineage_reserve wants it: enough to see that it is a known copy, which needs no lock.
type reserved struct {
	Document           string       `json:"document"`
	Control            string       `json:"control"`
	Standard           string       `json:"standard"`
	Sender             string       `json:"sender"`
	SenderQualifier    string       `json:"sender_qualifier"`
	Recipient          string       `json:"recipient"`
	RecipientQualifier string       `json:"recipient_qualifier"`
	Types              []string     `json:"types"`
	Test               bool         `json:"test"`
	Discriminant       string       `json:"discriminant"`
	Raw                string       `json:"raw"`
	Content            string       `json:"content"`
	Lineage            *numberedSet `json:"lineage"`
}

func (r *Registration) queueReserve(batch *pgx.Batch, documents []*numberedSet) {
	var all []reserved
	for i := range r.Entries {
		if documents[i] == nil {
			continue
		}
		e := &r.Entries[i]
		ref := &e.Reference
		all = append(all, reserved{Document: e.Document.String(), Control: ref.Control, Standard: string(ref.Standard), Sender: ref.Sender, SenderQualifier: ref.SenderQualifier,
			Recipient: ref.Recipient, RecipientQualifier: ref.RecipientQualifier, Types: typesOf(ref), Test: ref.Test, Discriminant: e.Discriminant,
			Raw: hex.EncodeToString(e.Raw[:]), Content: hex.EncodeToString(e.Content[:]), Lineage: documents[i]})
	}
	if len(all) == 0 || len(r.Entries) < 2 {
		return
	}
	for i := range all {
		all[i].Lineage.Reserved = true
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic("dedup: entries must be marshallable: " + err.Error())
	}
	batch.Queue(reserveSQL, r.Partner, string(text))
}
