package app

import (
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Once asks that a request has one effect however often it is sent, as an Idempotency-Key does.
type Once struct {
	Request
	// Seal turns what the method returned into the answer that a repetition gets. It must leave out
	// what is shown only once, such as a new key.
	Seal func(result any) Answer
	// admitted says that the quota had room for the answer when the request began, and is not asked again.
	admitted bool
}

// Request says which request is to have one effect, and Answer is how it was answered.
type (
	Request = store.Once
	Answer  = store.Answer
)

// Replay is the error by which a method says that it was asked before and did nothing now: the
// answer is the first one.
type Replay struct{ Answer Answer }

// Error says what the replay is.
func (*Replay) Error() string { return "the request was answered before" }

// work is one transaction on one workspace, whose row it holds. What act does to ws and events is
// written once, by finish.
type work struct {
	*store.Tx
	app    *App
	caller Caller          // an operator has neither a key nor a role
	now    time.Time       // one for the whole transaction
	ws     sheaf.Workspace // with the counters as they will be
	before sheaf.Workspace // as it was read
	events []sheaf.Event   // emitted and not written yet

	expired int64 // bytes of the expired answer that this one will replace

	places    places // where things are, as filters ask
	misplaced error  // why that of some event could not be found out
}

// perform is what every transaction on a workspace does around its act: it locks the workspace's
// row, asks the gate again (needs is nil for operators, who are not asked), answers a repetition
// with the first answer, and in the end keeps events, counters and the answer.
func perform[T any](tx *store.Tx, a *App, c Caller, needs need, act func(w *work) (T, error)) (out T, err error) {
	ws, err := tx.LockWorkspace(c.Workspace)
	if err != nil {
		return out, err
	}
	w := &work{Tx: tx, app: a, caller: c, now: a.now(), ws: ws, before: ws}
	if needs != nil {
		if err := w.askAgain(needs); err != nil {
			return out, err
		}
	}
	if err := w.replay(); err != nil {
		return out, err
	}
	if out, err = act(w); err != nil {
		return out, err
	}
	return out, w.finish(out)
}

// replay returns a Replay if the request was answered before, and QUOTA_REACHED if the workspace has no
// room for one more answer. It does nothing for a request without an Idempotency-Key.
func (w *work) replay() error {
	if w.caller.Once == nil {
		return nil
	}
	answer, found, expired, err := w.Remembered(w.ws.ID, w.caller.Once.Request, w.now.Add(-sheaf.AnswersKept))
	if found {
		return &Replay{answer}
	}
	w.expired = expired
	if err != nil || w.caller.Once.admitted {
		return err
	}
	return w.checkAnswers()
}

// finish keeps the events, the counters and the answer.
func (w *work) finish(out any) error {
	if w.misplaced != nil {
		return w.misplaced
	}
	if err := w.AppendEvents(&w.ws, w.events); err != nil {
		return err
	}
	if once := w.caller.Once; once != nil {
		if err := w.Remember(&w.ws, once.Request, once.Seal(out), w.expired, w.now); err != nil {
			return err
		}
	}
	if w.ws == w.before {
		return nil
	}
	return w.SaveWorkspace(w.ws)
}

// changes raises the version, so that no cache answers with what was before. It follows the clock: a
// version that a failover lost does not come again for something else.
func (w *work) changes() { w.ws.Version = store.NextVersion(w.ws.Version, w.now) }

// emit adds an event about a resource that this transaction changed.
func (w *work) emit(t sheaf.EventType, id string, payload sheaf.Record) {
	w.changes()
	w.emitRaw(t, id, w.caller.User, sheaf.Encode(payload))
	w.place(payload)
}

// emitRaw is emit for a payload that is encoded already, in the name of any user.
func (w *work) emitRaw(t sheaf.EventType, id string, user sheaf.UserID, payload []byte) sheaf.Event {
	e := sheaf.Envelope{ID: sheaf.EventID(sheaf.EventPrefix + w.app.newID()), Type: t, At: w.now,
		UserID: user, ResourceID: id, Payload: payload}
	if !w.ws.Personal {
		e.Workspace = &w.ws.ID
	}
	w.events = append(w.events, e.Event())
	w.events[len(w.events)-1].Key = w.caller.Key.Number
	return w.events[len(w.events)-1]
}

// author is who makes versions in this transaction.
func (w *work) author() sheaf.Author { return sheaf.Author{User: w.caller.User, Key: w.caller.Key.ID} }

// nextNumber counts a creation.
func (w *work) nextNumber() int64 {
	w.ws.LastNumber++
	return w.ws.LastNumber
}
