package app

import (
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Once requests that a request has its effect once, however often it is sent, as an Idempotency-Key
// does.
type Once struct {
	Request
	// Seal turns the method's result into the answer for repetitions. It must leave out what is
	// shown only once, such as a new key.
	Seal func(result any) Answer
	// admitted means that the quota had room for the answer when the request began. It is not
	// checked again.
	admitted bool
}

// Request identifies a request that is to have its effect once. Answer is its kept answer.
type (
	Request = store.Once
	Answer  = store.Answer
)

// Replay is the error of a method whose request was answered before. The method did nothing now,
// and Answer is the first answer.
type Replay struct{ Answer Answer }

// Error implements error.
func (*Replay) Error() string { return "the request was answered before" }

// work is one transaction on one workspace, whose row it locks. finish writes the changes of ws and
// the events, once.
type work struct {
	*store.Tx
	app    *App
	caller Caller            // an operator has neither a key nor a role
	now    time.Time         // the same for the whole transaction
	ws     sheaf.Workspace   // with the counters as they will be stored
	before sheaf.Workspace   // as it was read
	events []sheaf.Event     // emitted and not yet written
	lines  []sheaf.AuditLine // of the audit log, not yet written
	// unattended means that the server does it by itself, and no operator.
	unattended bool

	light bool // writeWhole runs it, and repeats it among the heavy writes if it returns errHeavy

	writer *sheaf.Author // author of versions; nil: the caller

	expired int64 // size of the expired answer that the new one will replace

	unreviewed review // the review that the changed documents need

	places    places // cache for the filters of subscriptions
	misplaced error  // error of finding the places of an event
}

// perform runs act in a transaction on a workspace. It locks the workspace's row and checks the
// caller's rights again; `needs` is nil for operators, who are not checked. A repeated request gets
// the first answer. At the end perform writes the events, the counters and the answer.
func perform[T any](tx *store.Tx, a *App, c Caller, needs need, act func(w *work) (T, error)) (out T, err error) {
	ws, err := tx.LockWorkspace(c.Workspace)
	if err != nil {
		return out, err
	}
	if ws.IsDeleted() {
		return out, errDeleted(c)
	}
	w := &work{Tx: tx, app: a, caller: c, now: a.now(), ws: ws, before: ws}
	if needs != nil {
		if err := w.authorizeStored(needs); err != nil {
			return out, err
		}
	}
	if err := w.replay(); err != nil {
		return out, w.withoutFigures(err)
	}
	if out, err = act(w); err != nil {
		return out, w.withoutFigures(err)
	}
	return out, w.finish(out)
}

// errDeleted returns what a caller gets in a workspace that the operator has deleted: the same as for
// a key or a workspace that does not exist.
func errDeleted(c Caller) error {
	if c.Key.ID != "" {
		return errNoKey
	}
	return sheaf.Missing("workspace")
}

// replay returns a Replay if the request was answered before, and QUOTA_REACHED if the workspace
// has no room for one more answer. It does nothing for a request without an Idempotency-Key.
func (w *work) replay() error {
	if w.caller.Once == nil {
		return nil
	}
	answer, found, expired, err := w.Remembered(w.ws.ID, w.once(), w.now.Add(-sheaf.AnswersKept))
	if found {
		return &Replay{answer}
	}
	w.expired = expired
	if err != nil || w.caller.Once.admitted {
		return err
	}
	return w.checkAnswers()
}

// once returns the caller's request that is to have its effect once. The same Idempotency-Key of a
// caller with another restriction is another request: its answer may show what this caller does not
// see.
func (w *work) once() Request {
	r := w.caller.Once.Request
	if to := w.caller.Restriction(); to != nil {
		r.Restriction = to.Number
	}
	return r
}

// finish writes the events, the audit lines, the counters and the answer.
func (w *work) finish(out any) error {
	if err := firstError(w.misplaced, w.unreviewed.fault); err != nil {
		return err
	}
	if err := w.AppendEvents(&w.ws, w.events); err != nil {
		return err
	}
	if err := w.writeAudit(); err != nil {
		return err
	}
	if once := w.caller.Once; once != nil {
		if err := w.Remember(&w.ws, w.once(), once.Seal(out), w.expired, w.now); err != nil {
			return err
		}
	}
	if w.ws == w.before {
		return nil
	}
	return w.SaveWorkspace(w.ws)
}

// changes raises the workspace's version, so that no cache answers with the previous state. The
// version follows the clock: if a failover loses a version, it is not used again for another state.
func (w *work) changes() { w.ws.Version = store.NextVersion(w.ws.Version, w.now) }

// emit adds an event about a record that this transaction changed.
func (w *work) emit(t sheaf.EventType, id string, payload sheaf.Record) {
	w.changes()
	w.emitRaw(t, id, w.caller.User, sheaf.Encode(payload))
	if w.caller.Role != "" {
		w.events[len(w.events)-1].Person = w.caller.User
	}
	w.place(payload)
	w.review(payload)
	w.auditEvent(t, id, payload)
}

// emitRaw is emit for an encoded payload, in the name of any user.
func (w *work) emitRaw(t sheaf.EventType, id string, user sheaf.UserID, payload []byte) sheaf.Event {
	e := sheaf.Envelope{ID: sheaf.EventID(sheaf.EventPrefix + w.app.newID()), Type: t, At: w.ws.EventTime(w.now),
		UserID: user, ResourceID: id, Payload: payload}
	if !w.ws.Personal {
		e.Workspace = &w.ws.ID
	}
	w.events = append(w.events, e.Event())
	w.events[len(w.events)-1].Key = w.caller.Key.Number
	return w.events[len(w.events)-1]
}

// author returns the author of versions made in this transaction: the caller, or the author of the
// proposal that the caller accepts.
func (w *work) author() sheaf.Author {
	if w.writer != nil {
		return *w.writer
	}
	return sheaf.Author{User: w.caller.User, Key: w.caller.Key.ID}
}

// nextNumber returns the number of a new record.
func (w *work) nextNumber() int64 {
	w.ws.LastNumber++
	return w.ws.LastNumber
}
