package forward

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/internal/failpoint"
)

// ChunkSize is how many octets one payload_chunk row holds at most.
const ChunkSize = 1 << 20

const insertChunkSQL = `INSERT INTO payload_chunk (document_id, seq, octets) VALUES ($1, $2, $3)`

// QueueOctets adds a document's octets to a batch. For octets that fit into memory, that is up to [ChunkSize].
func QueueOctets(batch *pgx.Batch, id uuid.UUID, octets []byte) {
	for seq := 0; len(octets) > 0; seq++ {
		n := min(len(octets), ChunkSize)
		batch.Queue(insertChunkSQL, [16]byte(id), seq, octets[:n])
		octets = octets[n:]
	}
}

// execer is what writing chunks needs: a pool for staging, a transaction otherwise.
type execer interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// WriteOctets writes a document's octets chunk by chunk, holding one in memory.
func WriteOctets(ctx context.Context, db execer, id uuid.UUID, octets io.Reader) error {
	buf := make([]byte, ChunkSize)
	for seq := 0; ; seq++ {
		n, err := io.ReadFull(octets, buf)
		if n > 0 {
			var batch pgx.Batch
			batch.Queue(insertChunkSQL, [16]byte(id), seq, buf[:n])
			if err := db.SendBatch(ctx, &batch).Close(); err != nil {
				return fmt.Errorf("writing octets: %w", err)
			}
		}
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return nil
		default:
			return fmt.Errorf("reading spooled octets: %w", err)
		}
	}
}

// Stage writes a large document's octets before the ingest transaction, so that it stays short. They are visible to
// nobody until a document row names them; an abandoned stage is swept by [SweepStages].
//
// The stage's own commit need not wait for the disk: the ingest transaction's does, and the log is written in order, so what
// it makes visible is on disk when it is.
func Stage(ctx context.Context, pool *pgxpool.Pool, id uuid.UUID, octets io.Reader) error {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		var batch pgx.Batch
		batch.Queue(`SET LOCAL synchronous_commit = off`)
		batch.Queue(`INSERT INTO payload_stage (document_id) VALUES ($1)`, [16]byte(id))
		if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
		failpoint.Hit("stage.begun")
		return WriteOctets(ctx, tx, id, octets)
	})
	if err != nil {
		return fmt.Errorf("staging octets: %w", err)
	}
	return nil
}

// unstageSQL fails, by dividing by zero, when the stage has been swept: in a pipelined batch only the server can still
// stop the COMMIT that follows.
const unstageSQL = `
WITH stage AS (DELETE FROM payload_stage WHERE document_id = $1 RETURNING 1) SELECT 1 / count(*) FROM stage`

// QueueUnstage adds to a batch what makes a stage permanent: its document row stands in the same transaction. A stage
// that has been swept meanwhile fails the batch.
func QueueUnstage(batch *pgx.Batch, id uuid.UUID) {
	batch.Queue(unstageSQL, [16]byte(id))
}

// DropStage removes a stage that turned out not to be needed, and leaves one that a document has made visible.
func DropStage(ctx context.Context, pool *pgxpool.Pool, id uuid.UUID) error {
	_, err := pool.Exec(ctx, `
WITH gone AS (
	DELETE FROM payload_stage s WHERE document_id = $1 AND NOT EXISTS (SELECT FROM document d WHERE d.document_id = s.document_id)
	RETURNING document_id
)
DELETE FROM payload_chunk WHERE document_id IN (SELECT document_id FROM gone)`, [16]byte(id))
	return err
}

// SweepStages removes stages older than age that no document row made visible, and reports how many.
func SweepStages(ctx context.Context, pool *pgxpool.Pool, age time.Duration) (int64, error) {
	tag, err := pool.Exec(ctx, `
WITH old AS (
	DELETE FROM payload_stage s WHERE staged_at < now() - $1::interval
	  AND NOT EXISTS (SELECT FROM document d WHERE d.document_id = s.document_id)
	RETURNING document_id
), gone AS (
	DELETE FROM payload_chunk WHERE document_id IN (SELECT document_id FROM old)
)
SELECT document_id FROM old`, age)
	if err != nil {
		return 0, fmt.Errorf("sweeping stages: %w", err)
	}
	return tag.RowsAffected(), nil
}

// Octets streams a document's octets from the database, one chunk in memory at a time. It reads from any node.
func Octets(ctx context.Context, pool *pgxpool.Pool, id uuid.UUID) io.Reader {
	return &octetReader{ctx: ctx, pool: pool, id: id}
}

type octetReader struct {
	ctx  context.Context // of one forward attempt; the reader does not outlive it
	pool *pgxpool.Pool
	id   uuid.UUID
	seq  int
	rest []byte
	last bool // no chunk follows: every one but the last is full
}

func (r *octetReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.last {
			return 0, io.EOF
		}
		err := r.pool.QueryRow(r.ctx, `SELECT octets FROM payload_chunk WHERE document_id = $1 AND seq = $2`,
			[16]byte(r.id), r.seq).Scan(&r.rest)
		if err == pgx.ErrNoRows {
			return 0, io.EOF
		}
		if err != nil {
			return 0, fmt.Errorf("reading octets: %w", err)
		}
		r.seq++
		r.last = len(r.rest) < ChunkSize
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
