// Package tenanttest checks that every SQL statement is restricted to one tenant, as sharding by
// tenant needs it. It collects the statements that a package runs and those in its source, and
// parses them.
package tenanttest

import (
	"context"

	"sheaf.dev/internal/store/engine"
)

// Record returns an engine that passes each statement and its arguments to `asked`: one row, or the
// rows of a bulk.
func Record(e engine.Engine, asked func(sql string, rows [][]any)) engine.Engine {
	return recording{e, asked}
}

// recording is an engine that records the statements.
type recording struct {
	engine.Engine
	asked func(sql string, rows [][]any)
}

func (e recording) Read(ctx context.Context, fn func(*engine.Reader) error) error {
	return e.Engine.Read(ctx, e.reading(fn))
}

func (e recording) ReadOne(ctx context.Context, fn func(*engine.Reader) error) error {
	return e.Engine.ReadOne(ctx, e.reading(fn))
}

func (e recording) Write(ctx context.Context, fn func(*engine.Tx) error) error {
	return e.Engine.Write(ctx, e.writing(fn))
}

func (e recording) WriteIn(ctx context.Context, tenant string, fn func(*engine.Tx) error) error {
	return e.Engine.WriteIn(ctx, tenant, e.writing(fn))
}

func (e recording) WriteLong(ctx context.Context, fn func(*engine.Tx) error) error {
	return e.Engine.WriteLong(ctx, e.writing(fn))
}

func (e recording) Snapshots(ctx context.Context) (func(func(*engine.Reader) error) error, func(), error) {
	snapshot, done, err := e.Engine.Snapshots(ctx)
	return func(fn func(*engine.Reader) error) error { return snapshot(e.reading(fn)) }, done, err
}

func (e recording) reading(fn func(*engine.Reader) error) func(*engine.Reader) error {
	return func(r *engine.Reader) error {
		plans, err := r.Explain(fn)
		e.tell(plans)
		return err
	}
}

func (e recording) writing(fn func(*engine.Tx) error) func(*engine.Tx) error {
	return func(tx *engine.Tx) error {
		plans, err := tx.Explain(fn)
		e.tell(plans)
		return err
	}
}

func (e recording) tell(plans []engine.Plan) {
	for _, p := range plans {
		e.asked(p.SQL, p.Rows)
	}
}
