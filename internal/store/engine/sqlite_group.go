package engine

import "time"

// GroupCommit describes one commit of SQLite's writer.
type GroupCommit struct {
	Members int           // writes that shared the commit
	Waited  time.Duration // wait of the first write for its turn
	Took    time.Duration // time from then until the answers of the whole group
	Commit  time.Duration // time of COMMIT alone
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

// reportGroup calls the listener for a group that began at `began`.
func (w *writer) reportGroup(members []*job, began time.Time) {
	listen, asked := w.observe.Load(), members[0].asked
	if listen == nil || began.IsZero() || asked.IsZero() {
		return
	}
	(*listen)(GroupCommit{Members: len(members), Waited: began.Sub(asked), Took: time.Since(began), Commit: w.committing})
}
