package store

import (
	"fmt"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
)

// Stamp gives an event that the store itself emits its name and the time at which it is written. Where
// no outcome can lead to an event it may be nil.
type Stamp func() (sheaf.EventID, time.Time)

// telling is what a transaction that records attempts tells of the subscriptions of one workspace, whose
// row it holds.
type telling struct {
	workspace sheaf.Workspace
	owner     sheaf.UserID // in whose name it is told
	tales     []tale
}

// tale is what became of a subscription.
type tale struct {
	event        sheaf.EventType
	subscription sheaf.Subscription
	lane         *lane
}

// lockTold holds the workspaces in which something may be told: those with a delivery that failed for
// good. Every other outcome neither leads to an event nor waits for a workspace. They are held in one
// order, and before their lanes, as lane.go has it.
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

// lockTelling holds one workspace; nil where nobody owns it, so that nothing can be told in a name.
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

// tell appends what is told to the logs, and asks that people are told by mail. The events are of now, not of when the attempts ended, which may
// be long ago: the times of a log rise with its numbers (event.go).
func (tx *Tx) tell(told map[sheaf.WorkspaceID]*telling, stamp Stamp) error {
	for _, t := range told {
		if t == nil || len(t.tales) == 0 {
			continue
		}
		events := make([]sheaf.Event, len(t.tales))
		for i, tale := range t.tales {
			id, at := stamp()
			events[i] = sheaf.HealthEvent(tale.event, id, tale.subscription, &t.workspace, t.owner, at)
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
