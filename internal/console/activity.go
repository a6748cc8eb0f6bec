package console

import (
	"cmp"
	"encoding/json"
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
	Type     sheaf.EventType // that the feed is filtered by; empty for every one
	Resource string          // an id, or a part of a name as it was typed
	Named    *named          // what has that name, to choose from
	More     string
	Charts   charts
}

// Types lists the filters of the feed.
func (activityPage) Types() []sheaf.EventType {
	return sheaf.EventTypes[:len(sheaf.EventTypes)-1] // a test is in no log
}

// With is the address of the same page with other parameters, given as names and values; an empty
// value leaves one out. It begins at the newest event.
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

// activity shows the log, newest first, and the charts.
func (c *Console) activity(v *visit) error {
	q := v.r.URL.Query()
	p := activityPage{Resource: strings.TrimSpace(q.Get("resource"))}
	if t := sheaf.EventType(q.Get("type")); t.Known() {
		p.Type = t
	}
	var err error
	if p.Charts, err = v.charts(q.Get("span") == "day"); err != nil {
		return err
	}
	if err := v.feed(&p); err != nil {
		return err
	}
	return v.show(http.StatusOK, "activity", p)
}

// feed reads the part of the log that the page shows. A name leads to what is called so: the log
// itself knows ids.
func (v *visit) feed(p *activityPage) error {
	id, isID := sheaf.ParseUUID(p.Resource)
	if p.Resource != "" && !isID {
		if err := sheaf.CheckLength("The name", p.Resource, sheaf.MaxQuery); err != nil {
			return sheaf.Invalidf("%s", err)
		}
		p.Named = &named{}
		return v.findNamed(p.Named, p.Resource)
	}
	from := v.offset()
	page, err := v.console.app.Events(v.r.Context(), v.caller, sheaf.EventFilter{Type: p.Type, Resource: id,
		Paging: sheaf.Paging{Limit: sheaf.DefaultLimit, Offset: from, Desc: true}})
	if err != nil {
		return err
	}
	members, err := v.console.app.Members(v.r.Context(), v.caller)
	if err != nil {
		return err
	}
	keys, err := v.console.app.KeyNames(v.r.Context(), v.caller, page.Items)
	if err != nil {
		return err
	}
	for _, e := range page.Items {
		e, err := v.nameShared(readEntry(e, members.Members).with(keys))
		if err != nil {
			return err
		}
		p.Entries = append(p.Entries, e)
	}
	if page.More() {
		p.More = p.With("from", strconv.Itoa(from+sheaf.DefaultLimit))
	}
	return nil
}

// named is what a name leads to.
type named struct {
	Folders   []sheaf.Folder
	Projects  []sheaf.Project
	Documents []sheaf.Document
	Cut       bool // there are more of some noun than these
}

// Empty reports whether nothing is called so.
func (p named) Empty() bool { return len(p.Folders)+len(p.Projects)+len(p.Documents) == 0 }

// shown is how many of each noun a name leads to.
const shown = 8

// findNamed fills in the first few of each noun whose name has the text.
func (v *visit) findNamed(p *named, name string) error {
	ctx, a := v.r.Context(), v.console.app
	few := sheaf.Paging{Limit: shown}
	projects, err := a.Projects(ctx, v.caller, sheaf.ProjectFilter{Query: name, Paging: few})
	if err != nil {
		return err
	}
	documents, err := a.Documents(ctx, v.caller, sheaf.DocumentFilter{Query: name, Paging: few})
	if err != nil {
		return err
	}
	p.Projects, p.Documents, p.Cut = projects.Items, documents.Items, projects.More() || documents.More()
	for _, entity := range []sheaf.EntityType{sheaf.ProjectFolder, sheaf.BrandingFolder} {
		folders, err := a.Folders(ctx, v.caller, sheaf.FolderFilter{EntityType: entity, Query: name, Paging: few})
		if err != nil {
			return err
		}
		p.Folders, p.Cut = append(p.Folders, folders.Items...), p.Cut || folders.More()
	}
	p.Cut = p.Cut || len(p.Folders) > shown
	p.Folders = p.Folders[:min(len(p.Folders), shown)]
	return nil
}

// entry is an event as a sentence: who did what to which thing.
type entry struct {
	sheaf.Event
	Who, Did, What string
	Key            string          // the API key that did it, if one did
	shows          sheaf.Shareable // of a share: what it shows, and the id of that
	shownID        string
}

// with fills in the key, by the names of keys.
func (e entry) with(keys map[int64]string) entry {
	if e.Event.Key == 0 {
		return e
	}
	if e.Key = "a key that was revoked"; keys[e.Event.Key] != "" {
		e.Key = "the key “" + keys[e.Event.Key] + "”"
	}
	return e
}

// envelope is what a sentence needs of an event's body.
type envelope struct {
	UserID  sheaf.UserID `json:"user_id"`
	Payload struct {
		Name         string                     `json:"name"`
		Title        string                     `json:"title"`
		Filename     string                     `json:"filename"`
		ResourceType sheaf.Shareable            `json:"resource_type"`
		ResourceID   string                     `json:"resource_id"`
		Reason       string                     `json:"deactivation_reason"`
		Previous     map[string]json.RawMessage `json:"previous"`
	} `json:"payload"`
}

// readEntry makes the sentence. A payload that others reported may have any shape: whatever cannot
// be read is left out.
func readEntry(e sheaf.Event, members []sheaf.Membership) entry {
	var b envelope
	_ = json.Unmarshal(e.Body, &b)
	out := entry{Event: e, Who: nameOf(members, b.UserID), Did: didOf(e.Type, b.Payload.Previous),
		What: cmp.Or(b.Payload.Name, b.Payload.Title, b.Payload.Filename)}
	switch shows := b.Payload.ResourceType; {
	case e.Type.Resource() != "share":
	case shows == sheaf.ShareOfDocument, shows == sheaf.ShareOfProject:
		out.shows, out.shownID = shows, b.Payload.ResourceID
		out.Did += " of the " + string(shows)
	}
	switch {
	case e.Type == sheaf.SubscriptionFailing, e.Type == sheaf.SubscriptionDeactivated && b.Payload.Reason == sheaf.ByFailures:
		out.Who = "Sheaf" // it is told in the owner's name, who did nothing
	case out.Who == "":
		out.Who = "Somebody"
	}
	return out
}

// nameShared fills in what a share shows, if it is still there: a share has no name of its own.
func (v *visit) nameShared(e entry) (entry, error) {
	id, ok := sheaf.ParseUUID(e.shownID)
	if !ok || e.What != "" {
		return e, nil
	}
	var err error
	switch e.shows {
	case sheaf.ShareOfDocument:
		var d sheaf.Document
		d, err = v.console.app.Document(v.r.Context(), v.caller, sheaf.DocumentID(id))
		e.What = d.Title
	case sheaf.ShareOfProject:
		var p sheaf.ProjectDetail
		p, err = v.console.app.Project(v.r.Context(), v.caller, sheaf.ProjectID(id))
		e.What = p.Name
	}
	if sheaf.KindOf(err) == sheaf.NotFound {
		err = nil
	}
	return e, err
}

// didOf is the verb and the noun: "renamed the project".
func didOf(t sheaf.EventType, previous map[string]json.RawMessage) string {
	_, verb, _ := strings.Cut(string(t), ".")
	if verb == "updated" {
		verb = changeOf(previous)
	}
	if verb == "created" {
		verb = "made"
	}
	switch t {
	case sheaf.SubscriptionFailing:
		return "saw five deliveries in a row fail of the webhook"
	case sheaf.SubscriptionDeactivated, sheaf.SubscriptionReactivated:
		return verb + " the webhook"
	}
	return verb + " the " + t.Resource()
}

// changes name a change by the field that it changed, the most telling first.
var changes = []struct{ field, verb string }{
	{"name", "renamed"}, {"title", "renamed"}, {"folder_id", "moved"}, {"parent_id", "moved"}, {"project_id", "moved"},
	{"color", "recoloured"}, {"icon", "changed the icon of"}, {"description", "described"},
}

// changeOf says in a verb what an event changed; of several fields, the first that changes lists.
func changeOf(previous map[string]json.RawMessage) string {
	for _, c := range changes {
		if _, changed := previous[c.field]; changed {
			return c.verb
		}
	}
	return "changed"
}

// eventPage is the data of event.html.
type eventPage struct {
	entry
	Body  string
	Fates []sheaf.Fate
}

// event shows one with what became of it for each webhook.
func (c *Console) event(v *visit) error {
	id, err := eventID(v)
	if err != nil {
		return err
	}
	e, err := c.app.Event(v.r.Context(), v.caller, id)
	if err != nil {
		return err
	}
	fates, err := c.app.EventFates(v.r.Context(), v.caller, id, sheaf.Paging{Limit: webhookPage})
	if err != nil {
		return err
	}
	members, err := c.app.Members(v.r.Context(), v.caller)
	if err != nil {
		return err
	}
	keys, err := c.app.KeyNames(v.r.Context(), v.caller, []sheaf.Event{e})
	if err != nil {
		return err
	}
	shown, err := v.nameShared(readEntry(e, members.Members).with(keys))
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "event", eventPage{shown, pretty(e.Body), fates.Items})
}

// eventID reads the event's identifier from the path.
func eventID(v *visit) (sheaf.EventID, error) {
	id, ok := sheaf.ParseEventID(v.r.PathValue("id"))
	if !ok {
		return "", sheaf.Missing("event")
	}
	return id, nil
}
