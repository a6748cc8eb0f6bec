// Package app holds the rules: what a caller may do, and what then happens. It
// has one file a noun; every method takes a Caller and first asks the gate in
// authorize.go. Each change decides and acts in one transaction of the store.
//
// It knows neither HTTP nor SQL.
package app

import (
	"context"
	"io"
	"time"

	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// App is the rules over one store. It is safe for concurrent use.
type App struct {
	store    *store.Store
	now      func() time.Time
	random   io.Reader
	webhooks Webhooks
	trials   *trials
	cost     PasswordCost
	cascades Cascades

	maxRecords func(sheaf.Plan) int
}

// Config is what the rules need from outside.
type Config struct {
	Store  *store.Store
	Now    func() time.Time // the clock
	Random io.Reader        // for identifiers and secrets; cryptographically strong
	// Webhooks may be left out where no subscription is touched.
	Webhooks Webhooks
	// PasswordCost is for new passwords; the zero value is the second choice of
	// RFC 9106. Tests of many people take less.
	PasswordCost PasswordCost
	// MaxRecords is how many projects, folders and documents a workspace of that
	// plan may have together; 0 is any number, and so is nil.
	MaxRecords func(sheaf.Plan) int
}

// Webhooks is what the rules about subscriptions need from outside.
type Webhooks struct {
	Box   *seal.Box    // seals secrets and headers
	Guard *guard.Guard // judges addresses
	// SignatureHeader is the name that no custom header may have.
	SignatureHeader string
	// Send makes one attempt now.
	Send func(context.Context, sheaf.Outgoing) sheaf.Attempt
}

// New returns the rules over a store.
func New(c Config) *App {
	if c.PasswordCost == (PasswordCost{}) {
		c.PasswordCost = standardCost
	}
	if c.MaxRecords == nil {
		c.MaxRecords = func(sheaf.Plan) int { return 0 }
	}
	return &App{maxRecords: c.MaxRecords, cost: c.PasswordCost, store: c.Store, now: func() time.Time { return c.Now().UTC().Truncate(time.Millisecond) }, random: c.Random,
		webhooks: c.Webhooks, cascades: standardCascades, trials: newTrials()}
}

// SignatureHeader is the name of the header that carries the first signature.
func (a *App) SignatureHeader() string { return a.webhooks.SignatureHeader }

// keepAnswers is for how long a repetition gets the first answer.
const keepAnswers = 24 * time.Hour

// Once asks that a request has one effect however often it is sent. Seal turns
// what a method returns into the answer that a repetition gets; it must leave
// out what is shown once.
type Once struct {
	Request
	Seal func(result any) Answer
}

// Request names such a request, and Answer what it was answered.
type (
	Request = store.Once
	Answer  = store.Answer
)

// Replay is the error by which a method says that it was asked before and did
// nothing now: the answer is the first one.
type Replay struct{ Answer Answer }

// Error says what the replay is.
func (*Replay) Error() string { return "the request was answered before" }

// work is one transaction on one workspace, whose row it holds.
type work struct {
	*store.Tx
	app    *App
	caller Caller
	now    time.Time
	ws     sheaf.Workspace
	events []sheaf.Event
	before sheaf.Workspace
}

// write runs act in one transaction that holds the workspace, with the events
// it emits and the caller's idempotency key.
func write[T any](ctx context.Context, a *App, c Caller, act func(w *work) (T, error)) (T, error) {
	return writeBy(ctx, a, c, a.store.WriteIn, act)
}

// writeFunc is a way of the store to write in a workspace.
type writeFunc = func(context.Context, sheaf.WorkspaceID, func(*store.Tx) error) error

func writeBy[T any](ctx context.Context, a *App, c Caller, by writeFunc, act func(w *work) (T, error)) (T, error) {
	var out T
	err := by(ctx, c.Workspace, func(tx *store.Tx) error {
		ws, err := tx.LockWorkspace(c.Workspace)
		if err != nil {
			return err
		}
		w := &work{Tx: tx, app: a, caller: c, now: a.now(), ws: ws, before: ws}
		if err := w.stillAllowed(); err != nil {
			return err
		}
		if err := w.replay(); err != nil {
			return err
		}
		if out, err = act(w); err != nil {
			return err
		}
		return w.finish(out)
	})
	return out, err
}

// do is write for what returns nothing.
func do(ctx context.Context, a *App, c Caller, act func(w *work) error) error {
	_, err := write(ctx, a, c, func(w *work) (struct{}, error) { return struct{}{}, act(w) })
	return err
}

// stillAllowed asks again, under the workspace's lock, whether the key is live
// and the plan paid: a body may take a minute to arrive, and whoever revokes a
// key must be sure that it does nothing more. So must who removes a member.
// Operators have neither key nor role.
func (w *work) stillAllowed() error {
	if w.caller.Role != "" {
		return w.stillMember()
	}
	if w.caller.Key.ID == "" {
		return nil
	}
	k, err := w.Key(w.ws.ID, w.caller.Key.ID)
	if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
		return err
	}
	if err != nil || !k.Live(w.now) {
		return unauthorized("the API key is unknown, expired or revoked: create a new one")
	}
	return w.ws.Plan.AllowAPI()
}

func (w *work) stillMember() error {
	role, err := w.Role(w.ws.ID, w.caller.User)
	switch {
	case sheaf.KindOf(err) == sheaf.NotFound:
		return sheaf.Missing("workspace")
	case err == nil && role != w.caller.Role:
		return sheaf.Forbiddenf("your role in this workspace was changed to %s: load the page again", role)
	}
	return err
}

// read runs act in one snapshot.
func read[T any](ctx context.Context, a *App, c Caller, act func(r *store.Reader) (T, error)) (T, error) {
	var out T
	err := a.store.ReadIn(ctx, c.Workspace, func(r *store.Reader) (err error) {
		out, err = act(r)
		return err
	})
	return out, err
}

// replay returns a Replay when the request was answered before.
func (w *work) replay() error {
	if w.caller.Once == nil {
		return nil
	}
	answer, found, err := w.Remembered(w.ws.ID, w.caller.Once.Request, w.now.Add(-keepAnswers))
	if found {
		return &Replay{answer}
	}
	return err
}

// finish keeps the events, the counters and the answer.
func (w *work) finish(out any) error {
	if err := w.AppendEvents(&w.ws, w.events, w.app.newID); err != nil {
		return err
	}
	if w.ws != w.before {
		if err := w.SaveWorkspace(w.ws); err != nil {
			return err
		}
	}
	if w.caller.Once == nil {
		return nil
	}
	return w.Remember(w.ws.ID, w.caller.Once.Request, w.caller.Once.Seal(out), w.now)
}

// emit adds an event about a resource that this transaction changed.
func (w *work) emit(t sheaf.EventType, id string, payload sheaf.Record) {
	// It follows the clock, so that a version that a failover lost does not come
	// again for something else.
	w.ws.Version = max(w.ws.Version+1, w.now.UnixMicro())
	w.emitRaw(t, id, w.caller.User, sheaf.AppendJSON(nil, payload))
}

func (w *work) emitRaw(t sheaf.EventType, id string, user sheaf.UserID, payload []byte) sheaf.Event {
	e := sheaf.Envelope{ID: sheaf.EventID(sheaf.EventPrefix + w.app.newID()), Type: t, At: w.now,
		UserID: user, ResourceID: id, Payload: payload}
	if !w.ws.Personal {
		e.Workspace = &w.ws.ID
	}
	w.events = append(w.events, e.Event())
	return w.events[len(w.events)-1]
}

// nextNumber counts a creation.
func (w *work) nextNumber() int64 {
	w.ws.LastNumber++
	return w.ws.LastNumber
}

func (a *App) newID() string { return sheaf.NewUUID(a.now(), a.random) }
