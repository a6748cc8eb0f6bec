package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// activityPage is the data of activity.html.
type activityPage struct {
	Entries  []entry
	Type     sheaf.EventType // the filter by type; empty for all
	Resource string          // the filter by record: an id, or a part of a name
	Named    *named          // the records of that name; nil if Resource is no name
	More     string
	Charts   charts
}

// Types returns the types to filter by.
func (activityPage) Types() []sheaf.EventType {
	return sheaf.EventTypes[:len(sheaf.EventTypes)-1] // the last is the test event, which is in no log
}

// With returns the address of the page with other parameters, given as names and values. An empty
// value removes a parameter. The address begins at the newest event.
func (p activityPage) With(changes ...any) string {
	q := url.Values{"type": {string(p.Type)}, "resource": {p.Resource}}
	if p.Charts.Day {
		q.Set("span", "day")
	}
	for i := 0; i+1 < len(changes); i += 2 {
		q.Set(fmt.Sprint(changes[i]), fmt.Sprint(changes[i+1]))
	}
	for name := range q {
		if q.Get(name) == "" {
			q.Del(name)
		}
	}
	return "?" + q.Encode()
}

// activity answers GET /w/{workspace}/activity: the log of events, newest first, and the charts.
// The log knows ids only, so for a name the page lists the records of that name to choose from.
func (c *Console) activity(v *visit) error {
	q := v.r.URL.Query()
	p := activityPage{Resource: strings.TrimSpace(q.Get("resource"))}
	if t := sheaf.EventType(q.Get("type")); t.Known() {
		p.Type = t
	}
	var err error
	if v.seesAll() { // the charts count the whole workspace
		if p.Charts, err = v.charts(q.Get("span") == "day"); err != nil {
			return err
		}
	}
	id, isID := sheaf.ParseUUID(p.Resource)
	if p.Resource != "" && !isID {
		if err := sheaf.CheckLength("The name", p.Resource, sheaf.MaxQuery); err != nil {
			return sheaf.Invalidf("%s", err)
		}
		p.Named = &named{}
		if err := v.findNamed(p.Named, p.Resource); err != nil {
			return err
		}
		return v.show(http.StatusOK, "activity", p)
	}
	from := v.offset("from")
	page, err := c.app.Events(v.r.Context(), v.caller, sheaf.EventFilter{Type: p.Type, Resource: id,
		Paging: sheaf.Paging{Limit: sheaf.DefaultLimit, Offset: from, Desc: true}})
	if err != nil {
		return err
	}
	if p.Entries, err = v.entries(page.Items); err != nil {
		return err
	}
	if page.More() {
		p.More = p.With("from", strconv.Itoa(from+sheaf.DefaultLimit))
	}
	return v.show(http.StatusOK, "activity", p)
}

// eventPage is the data of event.html.
type eventPage struct {
	entry
	Body  string
	Fates []sheaf.Fate
}

// event answers GET /w/{workspace}/events/{id}: an event, and the state of its delivery to each
// webhook.
func (c *Console) event(v *visit) error {
	id, ok := sheaf.ParseEventID(v.r.PathValue("id"))
	if !ok {
		return sheaf.Missing("event")
	}
	e, err := c.app.Event(v.r.Context(), v.caller, id)
	if err != nil {
		return err
	}
	var fates sheaf.Page[sheaf.Fate]
	if v.caller.May(sheaf.WebhooksRead) {
		if fates, err = c.app.EventFates(v.r.Context(), v.caller, id, sheaf.Paging{Limit: webhookPage}); err != nil {
			return err
		}
	}
	entries, err := v.entries([]sheaf.Event{e})
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "event", eventPage{entries[0], pretty(e.Body), fates.Items})
}
