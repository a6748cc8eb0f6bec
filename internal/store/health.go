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

// healthLog collects the subscription events of one workspace while attempts are recorded. The
// transaction has locked the workspace.
type healthLog struct {
	workspace sheaf.Workspace
	owner     sheaf.UserID // the user named as the cause of the events
	changes   []healthChange
}

// healthChange is one event about a subscription, before it is appended.
type healthChange struct {
	event        sheaf.EventType
	subscription sheaf.Subscription
	lane         *lane
}

// lockHealthLogs locks the workspaces in which an event may be appended: those with a delivery that
// failed for good. No other outcome leads to an event, so others do not wait for their workspace.
// The workspaces are locked in one order and before their lanes, as lane.go requires.
func (tx *Tx) lockHealthLogs(outcomes []Outcome) (map[sheaf.WorkspaceID]*healthLog, error) {
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
	logs := map[sheaf.WorkspaceID]*healthLog{}
	for _, id := range slices.Compact(order) {
		w, err := tx.LockWorkspace(id)
		if sheaf.KindOf(err) == sheaf.NotFound || err == nil && w.IsDeleted() {
			continue // the operator deleted the workspace, so no caller reads its log
		}
		if err != nil {
			return nil, fmt.Errorf("lock workspace %s: %w", id, err)
		}
		owner, err := tx.OwnerOf(id)
		if sheaf.KindOf(err) == sheaf.NotFound {
			continue // an event must name an owner
		}
		if err != nil {
			return nil, fmt.Errorf("find the owner of workspace %s: %w", id, err)
		}
		logs[id] = &healthLog{workspace: w, owner: owner}
	}
	return logs, nil
}

// appendHealth appends the events to the logs and requests the mails about them. The events get the present
// time, not that of the attempts, which may be long ago: the times of a log rise with its numbers
// (event.go).
func (tx *Tx) appendHealth(logs map[sheaf.WorkspaceID]*healthLog, stamp Stamp) error {
	for _, t := range logs {
		if len(t.changes) == 0 {
			continue
		}
		events := make([]sheaf.Event, len(t.changes))
		for i, change := range t.changes {
			id, at := stamp()
			events[i] = sheaf.HealthEvent(change.event, id, change.subscription, &t.workspace, t.owner, t.workspace.EventTime(at))
		}
		if err := tx.AppendEvents(&t.workspace, events); err != nil {
			return err
		}
		if err := tx.SaveWorkspace(t.workspace); err != nil {
			return err
		}
		for i, change := range t.changes {
			// Request a mail about the subscription, in the transaction that changes its state.
			sql := notifyFailing
			if change.event == sheaf.SubscriptionDeactivated {
				sql = notifyOff
			}
			if err := tx.notifySubscription(sql, change.lane.ws, change.lane.sub, events[i].Number, events[i].At); err != nil {
				return fmt.Errorf("notify of subscription %s: %w", change.lane.id, err)
			}
		}
	}
	return nil
}
