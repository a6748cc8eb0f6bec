package engine

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"sheaf.dev/internal/failpoint"
)

// bulkMost is the most rows of one statement. It limits the memory used by client and server.
const bulkMost = 4096

// run runs b for the rows, in as few round trips as possible.
func (c *postgresConn) run(b *Bulk, rows [][]any, scan func(i int, w *Row)) error {
	at := 0
	for part := range slices.Chunk(rows, bulkMost) {
		if err := c.runPart(b, part, func(i int, w *Row) { scan(at+i, w) }); err != nil {
			return err
		}
		at += len(part)
	}
	return nil
}

// runPart runs b for rows that fit into one statement: few rows one by one, more as one array per
// column.
func (c *postgresConn) runPart(b *Bulk, rows [][]any, scan func(i int, w *Row)) error {
	if c.writes {
		failpoint.Pass(failpoint.Statement)
	}
	if len(rows) < bulkFrom {
		return c.runEach(b, rows, scan)
	}
	columns := make([]any, len(b.kinds))
	for i, kind := range b.kinds {
		switch kind {
		case "BIGINT":
			columns[i] = valuesOf[int64](rows, i)
		case "UUID", "BYTEA":
			columns[i] = valuesOf[[]byte](rows, i)
		default:
			columns[i] = valuesOf[string](rows, i)
		}
	}
	args := append([]any{pgx.QueryExecModeCacheDescribe}, columns...)
	found, err := c.c.Query(c.ctx, b.set, args...)
	if err != nil {
		return postgresError(err)
	}
	return scanAll(found, func(r *Row) { scan(int(r.Int())-1, r) })
}

// runEach sends one statement per row, all in one batch.
func (c *postgresConn) runEach(b *Bulk, rows [][]any, scan func(i int, w *Row)) (err error) {
	var batch pgx.Batch
	for _, args := range rows {
		batch.Queue(b.one, plainAll(args)...)
	}
	results := c.c.SendBatch(c.ctx, &batch)
	defer func() {
		if closing := results.Close(); err == nil {
			err = postgresError(closing)
		}
	}()
	for i := range rows {
		found, err := results.Query()
		if err != nil {
			return postgresError(err)
		}
		if err := scanAll(found, func(r *Row) { scan(i, r) }); err != nil {
			return err
		}
	}
	return nil
}

// scanAll calls scan for every row of a result.
func scanAll(rows pgx.Rows, scan func(*Row)) error {
	defer rows.Close()
	r := &Row{oids: rows.FieldDescriptions()}
	for rows.Next() {
		r.raw, r.at = rows.RawValues(), 0
		scan(r)
	}
	return postgresError(rows.Err())
}
