package engine

import "time"

// Group is what one commit of SQLite's writer was.
type Group struct {
	Members int
	Waited  time.Duration // of the first, until its turn came
	Took    time.Duration // of the whole group, from then until the answers
	Commit  time.Duration // of COMMIT alone
}

// OnGroup has every group of the writer told. Groups are measured from then on.
// listen must return at once.
func (e *SQLite) OnGroup(listen func(Group)) { e.writer.observe.Store(&listen) }

// clock is the time while somebody listens.
func (w *writer) clock() time.Time {
	if w.observe.Load() == nil {
		return time.Time{}
	}
	return time.Now()
}

// tell reports a group that began then.
func (w *writer) tell(members []*job, began time.Time) {
	listen, asked := w.observe.Load(), members[0].asked
	if listen == nil || began.IsZero() || asked.IsZero() {
		return
	}
	(*listen)(Group{Members: len(members), Waited: began.Sub(asked), Took: time.Since(began), Commit: w.committing})
}
