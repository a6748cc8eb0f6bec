package engine

import "time"

// GroupCommit describes one commit of SQLite's writer.
type GroupCommit struct {
	Members int           // writes that shared the commit
	Waited  time.Duration // how long the first write waited for its turn
	Took    time.Duration // how long the whole group took, from then until the answers
	Commit  time.Duration // how long COMMIT alone took
}

// OnGroup calls listen after every group of the writer, from now on. listen must return at once,
// because the writer waits for it.
func (e *SQLite) OnGroup(listen func(GroupCommit)) { e.writer.observe.Store(&listen) }

// clock returns the time if there is a listener, and otherwise the zero time, to save the call.
func (w *writer) clock() time.Time {
	if w.observe.Load() == nil {
		return time.Time{}
	}
	return time.Now()
}

// tell calls the listener for a group that began at `began`.
func (w *writer) tell(members []*job, began time.Time) {
	listen, asked := w.observe.Load(), members[0].asked
	if listen == nil || began.IsZero() || asked.IsZero() {
		return
	}
	(*listen)(GroupCommit{Members: len(members), Waited: began.Sub(asked), Took: time.Since(began), Commit: w.committing})
}
