package httpapi

import (
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// listEvents answers GET /api/v1/events.
func (s *Server) listEvents(x *exchange) (answer, error) {
	f, err := x.eventFilter()
	if err != nil {
		return answer{}, err
	}
	page, err := s.App.Events(x.Request.Context(), x.Caller, f)
	a := pageOf(page)
	if n := len(page.Items); f.After != "" && n > 0 {
		a.page.continueAfter(page.Desc, string(page.Items[n-1].ID))
	} else if f.After != "" {
		a.page.more = false
	}
	return a, err
}

// continueAfter makes the link to the next page use after instead of an offset, because the two exclude each
// other. A page in descending order gets no link: its last item is the oldest, and after it come the items
// that the page has already.
func (l *pageLinks) continueAfter(desc bool, last string) {
	if l.more = l.more && !desc; l.more {
		l.after = last
	}
}

// eventFilter reads the filters that the list and the stream of events share.
func (x *exchange) eventFilter() (f sheaf.EventFilter, err error) {
	if f.Paging, err = x.paging(); err != nil {
		return f, err
	}
	if x.query.Has("type") {
		if f.Type = sheaf.EventType(x.query.Text("type")); !f.Type.Known() {
			return f, sheaf.InvalidField("type", "type %q is not an event type: choose from %s", sheaf.Clip(string(f.Type)), sheaf.EventNames(sheaf.EventType.Known))
		}
	}
	if f.Resource, err = idIn[string](x, "resource_id"); err != nil {
		return f, err
	}
	if f.Since, err = x.since("since"); err != nil {
		return f, err
	}
	if x.query.Has("after") {
		var ok bool
		if f.After, ok = sheaf.ParseEventID(x.query.Text("after")); !ok {
			return f, sheaf.InvalidField("after", "after must be an event's id, such as evt_0190b0a0-0000-7000-8000-000000000000")
		}
		if f.Offset != 0 {
			return f, sheaf.InvalidField("offset", "offset must be 0 with after: send the last event's id as the next after")
		}
	}
	return f, nil
}

// eventID returns the id of an event in the path. A malformed id is Invalid.
func (x *exchange) eventID() (sheaf.EventID, error) {
	id, ok := sheaf.ParseEventID(x.Request.PathValue("id"))
	if !ok {
		return "", sheaf.InvalidField("id", "id in the path must be an event's id, such as evt_0190b0a0-0000-7000-8000-000000000000")
	}
	return id, nil
}

// getEvent answers GET /api/v1/events/{id}.
func (s *Server) getEvent(x *exchange) (answer, error) {
	id, err := x.eventID()
	if err != nil {
		return answer{}, err
	}
	e, err := s.App.Event(x.Request.Context(), x.Caller, id)
	return answer{status: http.StatusOK, body: e.Body, etag: resourceTag(1, e.Body)}, err
}

func publishedEvent(e sheaf.Event) answer {
	return answer{status: http.StatusAccepted, body: e.Body, etag: resourceTag(1, e.Body),
		location: "/api/v1/events/" + string(e.ID)}
}

// publishEvent answers POST /api/v1/events. The size of the payload decides its cost, so the rate limit is
// charged for the rest after the body is read.
func (s *Server) publishEvent(x *exchange, in *strict.Fields) (answer, error) {
	event, err := newEvent(in)
	if err == nil {
		err = x.Charge(sheaf.ReportCost(len(event.Payload)))
	}
	if err != nil {
		return answer{}, err
	}
	return once(x, publishedEvent, func(c app.Caller) (sheaf.Event, error) {
		return s.App.PublishEvent(x.Request.Context(), c, event)
	})
}

// newEvent reads the body of a published event.
func newEvent(in *strict.Fields) (app.NewEvent, error) {
	kind := in.Text("type")
	if !kind.Given() {
		in.Refuse(sheaf.InvalidField("type", "type is required: one of media.*, generation.* or share.*"))
	}
	resource := strict.ID[string](in, "resource_id")
	if !resource.Given() {
		in.Refuse(sheaf.InvalidField("resource_id", "resource_id is required: the UUID of what the event is about"))
	}
	payload := in.Raw("payload")
	if !payload.Given() {
		in.Refuse(sheaf.InvalidField("payload", "payload is required: an object of at most %d bytes", sheaf.MaxPayload))
	}
	return app.NewEvent{Type: sheaf.EventType(kind.Value), ResourceID: resource.Value, Payload: payload.Value,
		User: strict.ID[sheaf.UserID](in, "user_id").Pointer()}, in.Err()
}
