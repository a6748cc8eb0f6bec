package store

import (
	"fmt"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
)

// Stamp returns the id and time of an event that the store itself emits. It may be nil if no
// outcome can lead to an event.
type Stamp func() (sheaf.EventID, time.Time)

// telling collects the subscription events of one workspace while attempts are recorded. The
// transaction has locked the workspace.
type telling struct {
	workspace sheaf.Workspace
	owner     sheaf.UserID // the user named as the cause of the events
	tales     []tale
}

// tale is one event about a subscription, before it is appended.
type tale struct {
	event        sheaf.EventType
	subscription sheaf.Subscription
	lane         *lane
}

// lockTold locks the workspaces in which an event may be appended: those with a delivery that
// failed for good. No other outcome leads to an event, so others do not wait for their workspace.
// The workspaces are locked in one order and before their lanes, as lane.go requires.
func (tx *Tx) lockTold(outcomes []Outcome) (map[sheaf.WorkspaceID]*telling, error) {
	var order []sheaf.WorkspaceID
	for i := range outcomes {
		if o := &outcomes[i]; o.Closes() {
			order = append(order, o.Workspace)
		}
	}
	if len(order) == 0 {
		return nil, nil
	}
	slices.Sort(order)
	told := map[sheaf.WorkspaceID]*telling{}
	for _, id := range slices.Compact(order) {
		t, err := tx.lockTelling(id)
		if err != nil {
			return nil, fmt.Errorf("lock workspace %s: %w", id, err)
		}
		told[id] = t
	}
	return told, nil
}

// lockTelling locks one workspace. It returns nil if the workspace has no owner, since an event
// must name one.
func (tx *Tx) lockTelling(id sheaf.WorkspaceID) (*telling, error) {
	w, err := tx.LockWorkspace(id)
	if err != nil {
		return nil, err
	}
	owner, err := tx.OwnerOf(id)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return nil, nil
	}
	return &telling{workspace: w, owner: owner}, err
}

// tell appends the events to the logs and requests the mails about them. The events get the present
// time, not that of the attempts, which may be long ago: the times of a log rise with its numbers
// (event.go).
func (tx *Tx) tell(told map[sheaf.WorkspaceID]*telling, stamp Stamp) error {
	for _, t := range told {
		if t == nil || len(t.tales) == 0 {
			continue
		}
		events := make([]sheaf.Event, len(t.tales))
		for i, tale := range t.tales {
			id, at := stamp()
			events[i] = sheaf.HealthEvent(tale.event, id, tale.subscription, &t.workspace, t.owner, t.workspace.EventTime(at))
		}
		if err := tx.AppendEvents(&t.workspace, events); err != nil {
			return err
		}
		if err := tx.SaveWorkspace(t.workspace); err != nil {
			return err
		}
		for i, tale := range t.tales {
			if err := tx.notify(tale.lane, tale.event, events[i].Number, events[i].At); err != nil {
				return err
			}
		}
	}
	return nil
}
