package engine

import "time"

// GroupCommit is what one commit of SQLite's writer was.
type GroupCommit struct {
	Members int           // writes that shared it
	Waited  time.Duration // of the first, until its turn came
	Took    time.Duration // of the whole group, from then until the answers
	Commit  time.Duration // of COMMIT alone
}

// OnGroup has listen called after every group of the writer. Groups are measured from then on.
// listen must return at once: the writer waits for it.
func (e *SQLite) OnGroup(listen func(GroupCommit)) { e.writer.observe.Store(&listen) }

// clock returns the time while somebody listens, and zero otherwise: nobody pays for what nobody
// looks at.
func (w *writer) clock() time.Time {
	if w.observe.Load() == nil {
		return time.Time{}
	}
	return time.Now()
}

// tell reports a group that began at that time.
func (w *writer) tell(members []*job, began time.Time) {
	listen, asked := w.observe.Load(), members[0].asked
	if listen == nil || began.IsZero() || asked.IsZero() {
		return
	}
	(*listen)(GroupCommit{Members: len(members), Waited: began.Sub(asked), Took: time.Since(began), Commit: w.committing})
}
