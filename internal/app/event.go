package app

import (
	"context"
	"time"

	"sheaf.dev/internal/disk"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Events returns a page of the workspace's log in commit order. If the log does not have the event
// f.After, it returns NotFound, never an empty page.
func (a *App) Events(ctx context.Context, c Caller, f sheaf.EventFilter) (sheaf.Page[sheaf.Event], error) {
	return read(ctx, a, c, scope(sheaf.EventsRead), func(r *store.Reader) (sheaf.Page[sheaf.Event], error) {
		after, err := position(r, c.Workspace, f.After)
		if err != nil {
			return sheaf.Page[sheaf.Event]{}, err
		}
		return r.Events(c.Workspace, f, after)
	})
}

// position returns the number of the event, or 0 for an empty id: the position before the first
// event. If the log does not have the event, it returns NotFound.
func position(r *store.Reader, ws sheaf.WorkspaceID, id sheaf.EventID) (int64, error) {
	if id == "" {
		return 0, nil
	}
	e, err := r.Event(ws, id)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return 0, &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound,
			Text: "after: this event is unknown or no longer kept: start from since"}
	}
	return e.Number, err
}

// EventsByID returns the events that are still kept. The others are missing from the result.
func (a *App) EventsByID(ctx context.Context, c Caller, ids []sheaf.EventID) (map[sheaf.EventID]sheaf.Event, error) {
	return read(ctx, a, c, scope(sheaf.EventsRead), func(r *store.Reader) (map[sheaf.EventID]sheaf.Event, error) {
		out := map[sheaf.EventID]sheaf.Event{}
		for _, id := range ids {
			e, err := r.Event(c.Workspace, id)
			if err == nil {
				out[id] = e
			} else if sheaf.KindOf(err) != sheaf.NotFound {
				return nil, err
			}
		}
		return out, nil
	})
}

// Event returns one event, or NotFound.
func (a *App) Event(ctx context.Context, c Caller, id sheaf.EventID) (sheaf.Event, error) {
	return read(ctx, a, c, scope(sheaf.EventsRead), func(r *store.Reader) (sheaf.Event, error) {
		return r.Event(c.Workspace, id)
	})
}

// NewEvent is an event that another service reports.
type NewEvent struct {
	Type       sheaf.EventType
	ResourceID string
	Payload    []byte        // a JSON object, stored as it was sent
	User       *sheaf.UserID // who did it; nil: the caller's user
}

// check returns the first error of a reported event.
func (in NewEvent) check() error {
	switch {
	case !in.Type.Known():
		return sheaf.InvalidField("type", "type %q is unknown: use one of %s", sheaf.Clip(string(in.Type)), sheaf.EventNames(sheaf.EventType.Elsewhere))
	case !in.Type.Elsewhere():
		return sheaf.InvalidField("type", "type %s is emitted by this service itself: only media.*, generation.* and share.* can be sent", in.Type)
	case len(in.Payload) > sheaf.MaxPayload:
		return sheaf.InvalidField("payload", "payload has %d bytes, at most %d are allowed: send less, or a link to the rest", len(in.Payload), sheaf.MaxPayload)
	}
	return nil
}

// PublishEvent adds an event of another service: media, generation or share. An event about a
// medium or share of this service is Invalid; a user who is not a member of the workspace is
// NotFound. If the workspace's quota is used up, it returns Forbidden with QUOTA_REACHED.
func (a *App) PublishEvent(ctx context.Context, c Caller, in NewEvent) (sheaf.Event, error) {
	return write(ctx, a, c, scope(sheaf.EventsWrite), firstError(in.check(), a.diskBelow(disk.Tight)), func(w *work) (sheaf.Event, error) {
		user := c.User
		if in.User != nil {
			user = *in.User
			if member, err := w.IsMember(w.ws.ID, user); err != nil {
				return sheaf.Event{}, err
			} else if !member {
				return sheaf.Event{}, sheaf.Missing("user")
			}
		}
		if err := w.isElsewhere(in.ResourceID); err != nil {
			return sheaf.Event{}, err
		}
		e := w.emitRaw(in.Type, in.ResourceID, user, in.Payload)
		w.events[len(w.events)-1].Reported = true
		return e, w.checkReported(e)
	})
}

// isElsewhere returns Invalid if id is a record of this service, which emits the events of its
// records itself.
func (w *work) isElsewhere(id string) error {
	const own = "resource_id %s is a %s of this workspace, whose events this service emits itself: change the %[2]s instead"
	switch _, err := w.Share(w.ws.ID, sheaf.ShareID(id)); {
	case err == nil:
		return sheaf.InvalidField("resource_id", own, id, "share")
	case sheaf.KindOf(err) != sheaf.NotFound:
		return err
	}
	switch _, err := w.Medium(w.ws.ID, sheaf.MediumID(id)); {
	case err == nil:
		return sheaf.InvalidField("resource_id", own, id, "medium")
	case sheaf.KindOf(err) != sheaf.NotFound:
		return err
	}
	return nil
}

// FollowEvents returns the position from which to follow the log: after the event f.After, or
// NotFound if the log does not have it. Without f.After and f.Since it returns the end of the log. A
// restricted caller follows the restriction's log.
func (a *App) FollowEvents(ctx context.Context, c Caller, f sheaf.EventFilter) (int64, error) {
	return read(ctx, a, c, scope(sheaf.EventsRead), func(r *store.Reader) (int64, error) {
		if f.After != "" || f.Since != nil {
			return position(r, c.Workspace, f.After)
		}
		return r.LogEnd(c.Workspace)
	})
}

// pollLogsEvery is how often WatchLogs asks for changes that no note announced.
const pollLogsEvery = 5 * time.Second

// WatchLogs calls wake for the followed workspaces whose log grew without a note, until ctx ends. One query
// asks for all of them. If notes cannot be lost, as on SQLite, it asks nothing.
func (a *App) WatchLogs(ctx context.Context, followed func() []sheaf.WorkspaceID, wake func(sheaf.WorkspaceSet)) error {
	if a.store.AnnouncesAll() {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(pollLogsEvery)
	defer tick.Stop()
	known := map[sheaf.WorkspaceID]int64{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			known = a.pollLogs(ctx, followed(), known, wake)
		}
	}
}

// pollLogs calls wake for those of the workspaces whose log ends elsewhere than is known, and returns
// where each of them ends. A workspace that is not in `known` is woken once.
func (a *App) pollLogs(ctx context.Context, followed []sheaf.WorkspaceID, known map[sheaf.WorkspaceID]int64, wake func(sheaf.WorkspaceSet)) map[sheaf.WorkspaceID]int64 {
	if len(followed) == 0 {
		return nil
	}
	ends, err := readUnasked(ctx, a, func(r *store.Reader) (map[sheaf.WorkspaceID]int64, error) { return r.LogEnds(followed) })
	if err != nil {
		return known // the next poll finds it
	}
	var grown sheaf.WorkspaceSet
	for ws, end := range ends {
		if at, has := known[ws]; !has || at != end {
			grown.Add(ws)
		}
	}
	if len(grown.IDs) > 0 {
		wake(grown)
	}
	return ends
}

// Tail is a part of the log that a follower has read.
type Tail struct {
	Events []sheaf.Event
	At     int64 // position after this part
	Last   int64 // number of the newest event
	More   bool  // more can be read at once
}

// tailSize bounds the events that a follower holds in memory: 4 MiB with the largest payloads.
const tailSize = 16

// EventsAfter returns the events after the position `at`, in commit order.
func (a *App) EventsAfter(ctx context.Context, c Caller, f sheaf.EventFilter, at int64) (Tail, error) {
	return read(ctx, a, c, scope(sheaf.EventsRead), func(r *store.Reader) (Tail, error) {
		ws, err := r.Workspace(c.Workspace)
		if err != nil || ws.LastEvent <= at {
			return Tail{At: at, Last: ws.LastEvent}, err
		}
		events, err := r.EventsAfter(c.Workspace, f, at, tailSize)
		t := Tail{Events: events, At: ws.LastEvent, Last: ws.LastEvent}
		if len(events) == tailSize {
			t.At, t.More = events[tailSize-1].Number, true
		}
		return t, err
	})
}
