//go:build failpoint

package crashtest_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5"

	"firstcopy/mdn"
)

// examine holds the database against promises. It may be called while everything is running: a promise, once made, has to
// be covered by what was committed before.
func (c *campaign) examine(held []promise) []violation {
	c.tb.Helper()
	found := c.traffic.promises.violations()
	found = append(found, c.accounted(held)...)
	found = append(found, c.stored(held)...)
	found = append(found, c.kept(held)...)
	for _, check := range []struct{ name, sql string }{
		{"one first copy", `
			SELECT format('content %s of key %s: %s first events', encode(content_hash, 'hex'), min(key_id::text), count(*))
			FROM ledger_event WHERE kind = 'first' GROUP BY partner_id, content_hash HAVING count(*) > 1
			UNION ALL SELECT format('key %s, epoch %s: %s first events', key_id, epoch, count(*))
			FROM ledger_event WHERE kind = 'first' GROUP BY key_id, epoch HAVING count(*) > 1`},
		{"one document", `
			SELECT format('%s: documents %s', encode(raw_hash, 'hex'), string_agg(document_id::text, ', '))
			FROM document GROUP BY raw_hash HAVING count(*) > 1`},
		{"no document without a job", `
			SELECT document_id::text FROM document d WHERE state = 'pending' AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = d.job_id)`},
		{"no job without a document", `
			SELECT j.id::text FROM river_job j WHERE j.kind = 'forward_document'
			AND NOT EXISTS (SELECT FROM document d WHERE d.document_id::text = j.args->>'document_id')`},
		{"forwarded once by the account", `
			SELECT format('document %s: %s events', document_id, count(*))
			FROM ledger_event WHERE kind = 'forwarded' GROUP BY document_id HAVING count(*) > 1`},
		{"a control number is never repeated", `
			SELECT format('number %s: documents %s', control_reference, string_agg(document_id::text, ', '))
			FROM acknowledgement GROUP BY control_reference HAVING count(*) > 1`},
		{"an answer that was asked for is stored with the document", `
			SELECT format('document %s, reference %s', document_id, control_reference) FROM document d
			WHERE control_reference LIKE 'C%' AND NOT EXISTS (SELECT FROM acknowledgement a WHERE a.document_id = d.document_id
				AND a.octets IS NOT NULL)`},
		{"no transmission without a job", `
			SELECT transmission_id::text FROM acknowledgement_transmission t
			WHERE state = 'pending' AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = t.job_id)`},
		{"sent once by the account", `
			SELECT format('transmission %s: %s events', detail->>'transmission_id', count(*))
			FROM ledger_event WHERE kind = 'acknowledgement_sent' GROUP BY detail->>'transmission_id' HAVING count(*) > 1`},
		{"no acknowledgement given up", `SELECT format('transmission %s: %s', transmission_id, last_error) FROM acknowledgement_transmission WHERE state = 'stuck'`},
		{"never given up", `SELECT format('document %s is %s: %s', document_id, state, last_error) FROM document WHERE state NOT IN ('pending', 'forwarded')`},
	} {
		found = append(found, c.list(check.name, check.sql)...)
	}
	return found
}

// list makes a violation of each row.
func (c *campaign) list(check, sql string, args ...any) []violation {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	rows, err := c.pool.Query(ctx, sql, args...)
	if err != nil {
		c.tb.Fatalf("%s: %v", check, err)
	}
	details, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		c.tb.Fatalf("%s: %v", check, err)
	}
	var found []violation
	for _, d := range details {
		found = append(found, violation{check, d})
	}
	return found
}

// accounted wants for every acknowledgement the event that was committed with it: by Message-ID, and by the receipt's own.
func (c *campaign) accounted(held []promise) []violation {
	c.tb.Helper()
	messages, receipts := make([]string, len(held)), make([]string, len(held))
	for i, p := range held {
		messages[i], receipts[i] = p.message, p.receipt
	}
	return c.list("every acknowledgement is in the account", `
		SELECT format('receipt %s for %s', receipt, message) FROM unnest($1::text[], $2::text[]) AS held (message, receipt)
		WHERE NOT EXISTS (
			SELECT FROM ledger_event e JOIN delivery d USING (delivery_id)
			WHERE d.channel = 'as2' AND d.transport_id = message AND e.kind IN ('first', 'duplicate', 'repeat')
			AND e.detail->>'transport_id' = message AND (receipt = '' OR e.detail->>'receipt' = receipt))`, messages, receipts)
}

// kept wants every acknowledged interchange to be there, with all its octets.
func (c *campaign) kept(held []promise) []violation {
	c.tb.Helper()
	var sums [][]byte
	for _, p := range held {
		for i := range p.interchanges {
			sums = append(sums, p.interchanges[i][:])
		}
	}
	found := c.list("nothing acknowledged is lost", `
		SELECT DISTINCT encode(sum, 'hex') FROM unnest($1::bytea[]) AS sum WHERE NOT EXISTS (
			SELECT FROM document d WHERE d.raw_hash = sum
			AND d.size = (SELECT sum(octet_length(octets)) FROM payload_chunk p WHERE p.document_id = d.document_id))`, sums)
	for i := range found {
		if sum, err := hex.DecodeString(found[i].detail); err == nil {
			found[i].detail, _ = c.traffic.name([32]byte(sum))
		}
	}
	return found
}

// stored wants the octets of every receipt as they were sent.
func (c *campaign) stored(held []promise) []violation {
	c.tb.Helper()
	want := map[string][32]byte{}
	var ids []string
	for _, p := range held {
		if p.receipt != "" {
			want[p.receipt] = p.octets
			ids = append(ids, p.receipt)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	rows, err := c.pool.Query(ctx, `SELECT message_id, octets FROM receipt WHERE message_id = ANY($1)`, ids)
	if err != nil {
		c.tb.Fatal(err)
	}
	var found []violation
	var id string
	var octets []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &octets}, func() error {
		if receiptFingerprint(octets) != want[id] {
			found = append(found, violation{"receipts are stored as sent", id})
		}
		delete(want, id)
		return nil
	})
	if err != nil {
		c.tb.Fatal(err)
	}
	for id := range want {
		found = append(found, violation{"receipts are stored as sent", id + " is not stored at all"})
	}
	return found
}

// receiptFingerprint is [fingerprint] of stored octets.
func receiptFingerprint(octets []byte) [32]byte {
	r, err := mdn.UnmarshalReceipt(octets)
	if err != nil {
		return [32]byte{}
	}
	h := http.Header{}
	for _, f := range r.Header {
		h.Set(f.Name, f.Value)
	}
	return fingerprint(h, r.Body)
}

// summary is one line about a campaign.
func (c *campaign) summary() string {
	return fmt.Sprintf("%d kills; %d messages settled, %d posts of unknown outcome, %d receipts held", c.kills,
		c.traffic.settled.Load(), c.traffic.unknown.Load(), c.traffic.promises.count())
}
