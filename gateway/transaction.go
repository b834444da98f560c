package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrUnavailable says that the outcome of a delivery is not known, or that it could not be decided in time. No receipt may
// leave: about half of the unknown outcomes have in fact committed, and the partner's retry settles it.
type ErrUnavailable struct{ Err error }

func (e *ErrUnavailable) Error() string { return "not decided: " + e.Err.Error() }
func (e *ErrUnavailable) Unwrap() error { return e.Err }

// pipelined is a transaction whose BEGIN and COMMIT travel in batches with other statements, so that an ingest takes four
// round trips. It is a pgx.Tx for those who insert into it, such as the outbox.
type pipelined struct {
	*pgConn
	pooled *pgxpool.Conn
}

// pgConn lends a connection's methods without its name, which pgx.Tx needs for a method.
type pgConn = pgx.Conn

const beginSQL = `BEGIN ISOLATION LEVEL READ COMMITTED`

// begin opens a transaction together with the statements of a batch that must start with beginSQL.
func begin(ctx context.Context, pool *pgxpool.Pool, batch *pgx.Batch) (*pipelined, error) {
	pooled, err := pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	tx := &pipelined{pgConn: pooled.Conn(), pooled: pooled}
	delete(tx.PgConn().CustomData(), doubtful)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		_ = tx.Rollback(ctx)
		return nil, err
	}
	return tx, nil
}

// commitWith sends the last statements and the COMMIT in one batch. An error means that the outcome is unknown.
func (tx *pipelined) commitWith(ctx context.Context, batch *pgx.Batch) error {
	batch.Queue(`COMMIT`).Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return fmt.Errorf("the server answered COMMIT with %s", tag)
		}
		return nil
	})
	err := tx.SendBatch(ctx, batch).Close()
	if err == nil {
		err = doubt(tx.PgConn())
	}
	if err != nil {
		_ = tx.Rollback(ctx)
		return err
	}
	tx.release()
	return nil
}

func (tx *pipelined) release() {
	tx.pooled.Release()
	tx.pooled = nil
}

// Commit commits what has been sent. The outbox never calls it; it completes the pgx.Tx.
func (tx *pipelined) Commit(ctx context.Context) error { return tx.commitWith(ctx, &pgx.Batch{}) }

// Rollback ends the transaction and gives the connection back, even when ctx has ended. A connection that cannot roll
// back is closed, and the server does it.
func (tx *pipelined) Rollback(ctx context.Context) error {
	if tx.pooled == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	var err error
	if !tx.IsClosed() && tx.PgConn().TxStatus() != 'I' {
		if _, err = tx.Exec(ctx, `ROLLBACK`); err != nil {
			_ = tx.Close(ctx)
		}
	}
	tx.release()
	return err
}

// Conn and LargeObjects complete the pgx.Tx.
func (tx *pipelined) Conn() *pgx.Conn                { return tx.pgConn }
func (tx *pipelined) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }

// commitBatch sends statements that are one implicit transaction, in one round trip. An error means, as for commitWith, that
// the outcome is unknown.
func commitBatch(ctx context.Context, pool *pgxpool.Pool, batch *pgx.Batch) error {
	pooled, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer pooled.Release()
	delete(pooled.Conn().PgConn().CustomData(), doubtful)
	if err := pooled.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	return doubt(pooled.Conn().PgConn())
}

// doubtful marks a connection on which the server has warned during the transaction.
const doubtful = "firstcopy.doubtful"

// doubt turns a warning into an error: with a synchronous standby the server reports a COMMIT that the standby may not
// have as a success with a warning ("canceling wait for synchronous replication", in the server's language).
func doubt(conn *pgconn.PgConn) error {
	if text, ok := conn.CustomData()[doubtful].(string); ok {
		return errors.New("the server committed with a warning: " + text)
	}
	return nil
}

// noteWarning is the pool's notice handler.
func noteWarning(conn *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		conn.CustomData()[doubtful] = n.Message
	}
}
