package client

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Event is something that happened. Raw returns the envelope as webhooks deliver it.
type Event struct {
	Received
	ID           string          `json:"id"`
	Type         string          `json:"type"`
	Timestamp    time.Time       `json:"timestamp"`
	UserID       string          `json:"user_id"`      // the user who caused the event
	WorkspaceID  *string         `json:"workspace_id"` // nil: a personal workspace
	ResourceType string          `json:"resource_type"`
	ResourceID   string          `json:"resource_id"`
	Payload      json.RawMessage `json:"payload"` // the record, of an update with its "previous" values
}

// NewEvent is an event that another part of your system reports.
type NewEvent struct {
	Type       string          `json:"type"` // media.*, generation.* or share.*
	ResourceID string          `json:"resource_id"`
	Payload    json.RawMessage `json:"payload"`           // an object
	UserID     string          `json:"user_id,omitempty"` // empty: the key's user
}

// EventFilter narrows the log and the stream.
type EventFilter struct {
	Type       string
	ResourceID string
	Since      time.Time // inclusive; zero: the beginning
	After      string    // the id of an event: only later ones
	Paging               // the log's alone; Offset must be 0 with After
}

func (f EventFilter) values() url.Values {
	q := f.Paging.values()
	set(q, "type", f.Type)
	set(q, "resource_id", f.ResourceID)
	setTime(q, "since", f.Since)
	set(q, "after", f.After)
	return q
}

// Events are the operations on events. Reading needs the scope events:read, Publish events:write,
// and the two with Fates events:read and webhooks:read.
type Events struct{ c *Client }

const eventsPath = "/api/v1/events"

// List returns one page of the log, in the order of commits. An After that is no longer kept is
// ErrNotFound: begin with Since.
func (s Events) List(ctx context.Context, f EventFilter, opts ...Option) (Page[Event], error) {
	return list[Event](ctx, s.c, eventsPath, f.values(), opts)
}

// All returns every event that matches, up to the end of the log. Each page continues after the last event
// of the previous one, so none is missed or repeated. In descending order it uses offsets, and events that
// are added meanwhile can make it repeat some.
func (s Events) All(ctx context.Context, f EventFilter, opts ...Option) iter.Seq2[Event, error] {
	if f.Desc {
		return all(f.Paging, func(p Paging) (Page[Event], error) {
			f.Paging = p
			return s.List(ctx, f, opts...)
		})
	}
	return forward(func(after string) (Page[Event], error) {
		if after != "" {
			f.After, f.Offset = after, 0
		}
		f.Limit = cmp.Or(f.Limit, 100)
		return s.List(ctx, f, opts...)
	}, func(e Event) string { return e.ID })
}

// forward returns the items of a log in ascending order, page by page. next returns the page after an item, or
// the first page for "".
func forward[T any](next func(after string) (Page[T], error), id func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for after := ""; ; {
			page, err := next(after)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Data {
				if !yield(item, nil) {
					return
				}
			}
			n := len(page.Data)
			if n == 0 || page.Offset+n >= page.Total {
				return
			}
			after = id(page.Data[n-1])
		}
	}
}

// Get returns one event.
func (s Events) Get(ctx context.Context, id string, opts ...Option) (Event, error) {
	return send[Event](ctx, s.c, request{method: http.MethodGet, path: eventsPath + "/" + escape(id)}, opts)
}

// Publish reports an event.
func (s Events) Publish(ctx context.Context, in NewEvent, opts ...Option) (Event, error) {
	return send[Event](ctx, s.c, request{method: http.MethodPost, path: eventsPath, body: in}, opts)
}

// Fates returns one page of the deliveries of an event, by subscription.
func (s Events) Fates(ctx context.Context, id string, p Paging, opts ...Option) (Page[Fate], error) {
	return list[Fate](ctx, s.c, eventsPath+"/"+escape(id)+"/deliveries", p.values(), opts)
}

// AllFates returns the deliveries of an event for all subscriptions.
func (s Events) AllFates(ctx context.Context, id string, p Paging, opts ...Option) iter.Seq2[Fate, error] {
	return all(p, func(p Paging) (Page[Fate], error) { return s.Fates(ctx, id, p, opts...) })
}
