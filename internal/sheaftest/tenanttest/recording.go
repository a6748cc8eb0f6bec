// Package tenanttest holds SQL against what sharding by tenant asks: that every statement is tied to
// one tenant. It gathers the statements that a package asks and those in its source, and takes them
// apart.
package tenanttest

import (
	"context"

	"sheaf.dev/internal/store/engine"
)

// Record returns an engine that tells each statement that is asked of it, and its arguments: one row,
// or those of a bulk.
func Record(e engine.Engine, asked func(sql string, rows [][]any)) engine.Engine {
	return recording{e, asked}
}

// recording is an engine that tells the statements.
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
