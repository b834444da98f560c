package forward

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/internal/failpoint"
)

// MaxInline is how many octets of a document are written inside the ingest transaction; more are staged beforehand.
const MaxInline = 1 << 20

// chunkSize is how many octets a payload_chunk row holds; only the last of a document has fewer.
const chunkSize = 8000

const insertChunksSQL = `INSERT INTO payload_chunk (document_id, seq, octets)
SELECT $1, ordinality - 1, octets FROM unnest($2::bytea[]) WITH ORDINALITY AS chunk (octets, ordinality)`

// QueueOctets adds a document's octets to a batch. For octets that fit into memory, that is up to [MaxInline].
func QueueOctets(batch *pgx.Batch, id uuid.UUID, octets []byte) {
	if len(octets) > 0 {
		batch.Queue(insertChunksSQL, [16]byte(id), slices.Collect(slices.Chunk(octets, chunkSize)))
	}
}

// copier is what writing many chunks needs of a transaction.
type copier interface {
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}

// rowsPerCopy bounds a statement to 32 MB, so that the server's statement timeout keeps its meaning.
const rowsPerCopy = 4000

// WriteOctets writes a document's octets by COPY, so that they are read here while the server writes. It holds some
// hundred KiB in memory.
func WriteOctets(ctx context.Context, tx copier, id uuid.UUID, octets io.Reader) error {
	source := &chunks{id: id, octets: bufio.NewReaderSize(octets, 32*chunkSize), buf: make([]byte, chunkSize)}
	for n := int64(rowsPerCopy); n == rowsPerCopy; {
		var err error
		source.left = rowsPerCopy
		n, err = tx.CopyFrom(ctx, pgx.Identifier{"payload_chunk"}, []string{"document_id", "seq", "octets"}, source)
		switch {
		case source.err != nil:
			return fmt.Errorf("reading spooled octets: %w", source.err)
		case err != nil:
			return fmt.Errorf("writing octets: %w", err)
		}
	}
	return nil
}

// chunks cuts octets into rows.
type chunks struct {
	id     uuid.UUID
	octets io.Reader
	buf    []byte // of the current row
	n      int    // octets in it
	seq    int32  // of the next row
	left   int    // rows of this statement
	err    error
}

func (c *chunks) Next() bool {
	if c.left == 0 {
		return false
	}
	n, err := io.ReadFull(c.octets, c.buf)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		c.err = err
	}
	c.n = n
	return n > 0 && c.err == nil
}

func (c *chunks) Values() ([]any, error) {
	row := []any{[16]byte(c.id), c.seq, c.buf[:c.n]}
	c.seq++
	c.left--
	return row, nil
}

func (c *chunks) Err() error { return c.err }

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

// Octets streams a document's octets from the database, up to a MiB in memory at a time. It reads from any node, and holds
// no connection between two reads, since the sink may be slow.
func Octets(ctx context.Context, pool *pgxpool.Pool, id uuid.UUID) io.Reader {
	return &octetReader{ctx: ctx, pool: pool, id: id}
}

type octetReader struct {
	ctx  context.Context // of one forward attempt; the reader does not outlive it
	pool *pgxpool.Pool
	id   uuid.UUID
	seq  int    // of the next row
	buf  []byte // of the rows read last
	rest []byte // of buf, not yet handed out
	last bool   // no row follows
}

// rowsAtOnce are a little less than a MiB.
const rowsAtOnce = 128

func (r *octetReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.last {
			return 0, io.EOF
		}
		if err := r.fill(); err != nil {
			return 0, fmt.Errorf("reading octets: %w", err)
		}
		if len(r.rest) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *octetReader) fill() error {
	rows, err := r.pool.Query(r.ctx, `SELECT octets FROM payload_chunk WHERE document_id = $1 AND seq >= $2 ORDER BY seq LIMIT $3`,
		[16]byte(r.id), r.seq, rowsAtOnce)
	if err != nil {
		return err
	}
	defer rows.Close()
	r.buf, r.last = r.buf[:0], true
	for n := 1; rows.Next(); n++ {
		var octets pgtype.DriverBytes // of the connection's buffer
		if err := rows.Scan(&octets); err != nil {
			return err
		}
		r.buf = append(r.buf, octets...)
		r.seq++
		r.last = n < rowsAtOnce || len(octets) < chunkSize
	}
	r.rest = r.buf
	return rows.Err()
}
