package forward

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Parties are whom control numbers are counted for: a standard, and two EDI identities with their qualifiers.
type Parties struct{ Standard, Sender, Recipient string }

const drawSQL = `
INSERT INTO acknowledgement_number AS n (standard, sender, recipient, last)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[])
ON CONFLICT ON CONSTRAINT acknowledgement_number_pkey DO UPDATE SET last = n.last + excluded.last
RETURNING standard, sender, recipient, last`

// DrawNumbers takes so many control numbers for each of the parties, and returns the last of them. Nobody is ever given the
// same ones. It is one round trip, and a transaction of its own, so that nobody waits for another's ingest.
//
// Its commit need not wait for the disk, as that of [Stage]: where a number is used, the ingest transaction's commit does,
// and the log is written in order.
func DrawNumbers(ctx context.Context, pool *pgxpool.Pool, counts map[Parties]int) (map[Parties]int64, error) {
	var batch pgx.Batch
	batch.Queue(`BEGIN`)
	batch.Queue(`SET LOCAL synchronous_commit = off`)
	last := queueDraw(&batch, counts)
	batch.Queue(`COMMIT`)
	return last, drawn(pool.SendBatch(ctx, &batch).Close(), last, counts)
}

// DrawNumbersIn is DrawNumbers inside a transaction, which keeps others of the same parties waiting until it ends.
func DrawNumbersIn(ctx context.Context, tx pgx.Tx, counts map[Parties]int) (map[Parties]int64, error) {
	var batch pgx.Batch
	last := queueDraw(&batch, counts)
	return last, drawn(tx.SendBatch(ctx, &batch).Close(), last, counts)
}

func queueDraw(batch *pgx.Batch, counts map[Parties]int) map[Parties]int64 {
	// Always in the same order, so that two draws cannot deadlock.
	all := slices.SortedFunc(maps.Keys(counts), func(a, b Parties) int {
		return cmp.Or(strings.Compare(a.Standard, b.Standard), strings.Compare(a.Sender, b.Sender), strings.Compare(a.Recipient, b.Recipient))
	})
	var standards, senders, recipients []string
	var wanted []int64
	for _, p := range all {
		standards, senders, recipients = append(standards, p.Standard), append(senders, p.Sender), append(recipients, p.Recipient)
		wanted = append(wanted, int64(counts[p]))
	}
	last := make(map[Parties]int64, len(all))
	batch.Queue(drawSQL, standards, senders, recipients, wanted).Query(func(rows pgx.Rows) error {
		var p Parties
		var n int64
		_, err := pgx.ForEachRow(rows, []any{&p.Standard, &p.Sender, &p.Recipient, &n}, func() error { last[p] = n; return nil })
		return err
	})
	return last
}

func drawn(err error, last map[Parties]int64, counts map[Parties]int) error {
	if err == nil && len(last) != len(counts) {
		err = fmt.Errorf("%d of %d came back", len(last), len(counts))
	}
	if err != nil {
		return fmt.Errorf("drawing control numbers: %w", err)
	}
	return nil
}
