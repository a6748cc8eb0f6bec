package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// activityPage is the data of activity.html.
type activityPage struct {
	Entries  []entry
	Type     sheaf.EventType // the filter by type; empty for all
	Members  bool            // only joins, removals and changes of roles are shown
	Person   sheaf.UserID    // the filter by person; empty for everybody
	People   []personChoice
	Resource string // the filter by record: an id, or a part of a name
	Named    *named // the records of that name; nil if Resource is no name
	More     string
	Charts   charts
}

// personChoice is a member to filter by.
type personChoice struct {
	ID   sheaf.UserID
	Name string
}

// Narrowed reports whether a filter is set.
func (p activityPage) Narrowed() bool {
	return p.Type != "" || p.Resource != "" || p.Person != "" || p.Members
}

// onlyMembers is the value of the filter by type that shows the changes of members alone.
const onlyMembers = "members"

// Types returns the types to filter by.
func (activityPage) Types() []sheaf.EventType {
	return sheaf.EventTypes[:len(sheaf.EventTypes)-1] // the last is the test event, which is in no log
}

// With returns the address of the page with other parameters, given as names and values. An empty
// value removes a parameter. The address begins at the newest event.
func (p activityPage) With(changes ...any) string {
	q := url.Values{"type": {string(p.Type)}, "resource": {p.Resource}, "person": {string(p.Person)}}
	if p.Members {
		q.Set("type", onlyMembers)
	}
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

// activity answers GET /w/{workspace}/activity: the log of events with the changes of members, newest
// first, and the charts. Events have only ids, so if the filter is a name, the page lists the records
// of that name to choose from.
func (c *Console) activity(v *visit) error {
	q := v.r.URL.Query()
	p := activityPage{Resource: strings.TrimSpace(q.Get("resource"))}
	if t := sheaf.EventType(q.Get("type")); t.Known() {
		p.Type = t
	}
	p.Members = q.Get("type") == onlyMembers
	if person, ok := sheaf.ParseUUID(q.Get("person")); ok {
		p.Person = sheaf.UserID(person)
	}
	var err error
	if p.People, err = v.choosePerson(p.Person); err != nil {
		return err
	}
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
	if err := v.fillActivity(&p, id); err != nil {
		return err
	}
	return v.show(http.StatusOK, "activity", p)
}

// choosePerson returns the members to filter by, sorted by name. It adds the chosen person if they are no longer a member.
func (v *visit) choosePerson(chosen sheaf.UserID) (out []personChoice, err error) {
	names, err := v.people(chosen)
	if err != nil {
		return nil, err
	}
	if chosen != "" && names[chosen] == "" {
		names[chosen] = "a former member"
	}
	for id, name := range names {
		out = append(out, personChoice{id, name})
	}
	slices.SortFunc(out, func(a, b personChoice) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(string(a.ID), string(b.ID)))
	})
	return out, nil
}

// fillActivity reads a page of events about the record `of`, or about all records if it is empty. Without a filter by type or
// record, it also shows the member events from the time of these events.
func (v *visit) fillActivity(p *activityPage, of string) error {
	ctx, a, from := v.r.Context(), v.console.app, v.offset("from")
	about := sheaf.MemberEventFilter{Person: p.Person, Limit: sheaf.MemberEventsKept}
	if p.Members {
		about.Offset, about.Limit = from, sheaf.DefaultLimit+1
		changes, err := a.MemberEvents(ctx, v.caller, about)
		if err != nil {
			return err
		}
		if len(changes) > sheaf.DefaultLimit {
			changes, p.More = changes[:sheaf.DefaultLimit], p.With("from", strconv.Itoa(from+sheaf.DefaultLimit))
		}
		p.Entries, err = v.memberEntries(changes)
		return err
	}
	// The page shows only member events that are older than the last event of the page before.
	before := min(from, 1)
	page, err := a.Events(ctx, v.caller, sheaf.EventFilter{Type: p.Type, Resource: of, Person: p.Person,
		Paging: sheaf.Paging{Limit: sheaf.DefaultLimit + before, Offset: from - before, Desc: true}})
	if err != nil {
		return err
	}
	events := page.Items
	if before > 0 && len(events) > 0 {
		about.Before, events = &events[0].At, events[1:]
	}
	if page.More() && len(events) > 0 {
		p.More = p.With("from", strconv.Itoa(from+sheaf.DefaultLimit))
		about.Since = &events[len(events)-1].At
	}
	if p.Entries, err = v.entries(events); err != nil || p.Type != "" || of != "" || from > 0 && about.Before == nil {
		return err
	}
	changes, err := a.MemberEvents(ctx, v.caller, about)
	if err != nil {
		return err
	}
	told, err := v.memberEntries(changes)
	p.Entries = append(p.Entries, told...)
	slices.SortStableFunc(p.Entries, func(a, b entry) int { return b.At.Compare(a.At) })
	return err
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
