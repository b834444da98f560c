package dedup

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Weakness is a partner's references that are no keys: they come again and again with other content, which the document inside
// does not explain. Amendments do not count.
type Weakness struct {
	Partner    int64
	References int    // how many are weak
	Example    string // the control reference of the weakest
	Contents   int    // with so many other contents
	// Daily tells that each content came on another day, as when a counter begins anew every day.
	Daily bool
}

// String says what was seen.
func (w Weakness) String() string {
	s := fmt.Sprintf("reference %q came with %d other contents in the last %d days", w.Example, w.Contents, weakDays)
	if w.References > 1 {
		s += fmt.Sprintf(", and %d more like it", w.References-1)
	}
	return s
}

// A reference is weak that has come with so many other contents in so many days. It is not weak yet that a partner has made a
// mistake, and corrected it.
const (
	weakContents = 3
	weakDays     = 7
)

// weakSQL begins with the versions, which are few, and counts in the account: an epoch's first copy is no version of its own.
const weakSQL = `
WITH often AS (
	SELECT key_id FROM dedup_version GROUP BY key_id HAVING count(*) >= $1
), weak AS (
	SELECT o.key_id, e.partner_id, count(*) AS contents, count(DISTINCT (e.at AT TIME ZONE 'UTC')::date) AS days
	FROM often o JOIN ledger_event e ON e.key_id = o.key_id AND e.kind IN ('drift', 'reuse') AND e.at > now() - $2::interval
	GROUP BY o.key_id, e.partner_id HAVING count(*) >= $1
)
SELECT partner_id, count(*), (array_agg((SELECT d.control_reference FROM document d WHERE d.key_id = w.key_id LIMIT 1) ORDER BY contents DESC))[1],
       max(contents), bool_and(contents = days)
FROM weak w WHERE $3 = 0 OR partner_id = $3 GROUP BY partner_id ORDER BY partner_id`

// Weak finds the partners whose references are too weak to be keys; partner 0 is all of them.
func Weak(ctx context.Context, pool *pgxpool.Pool, partner int64) ([]Weakness, error) {
	rows, err := pool.Query(ctx, weakSQL, weakContents, weakDays*24*time.Hour, partner)
	if err != nil {
		return nil, fmt.Errorf("looking for weak references: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (w Weakness, err error) {
		var example *string
		err = row.Scan(&w.Partner, &w.References, &example, &w.Contents, &w.Daily)
		if example != nil {
			w.Example = *example
		}
		return w, err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for weak references: %w", err)
	}
	return found, nil
}
