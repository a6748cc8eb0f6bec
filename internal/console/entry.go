package console

import (
	"cmp"
	"encoding/json"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// entry is an event as a sentence: a person, a verb and a record.
type entry struct {
	sheaf.Event
	Who, Did, What string
	Key            string          // the API key that was used; empty for none
	Member         bool            // it is a member event, which is not in the log
	Then           string          // how the sentence ends, after What
	shows          sheaf.Shareable // for a share: the kind and the id of what it shows
	shownID        string
}

// entries returns events as sentences. It names the keys that caused them, and what shares show: a
// share has no name of its own.
func (v *visit) entries(events []sheaf.Event) ([]entry, error) {
	ctx, a := v.r.Context(), v.console.app
	names, err := v.people(usersOf(events)...)
	if err != nil {
		return nil, err
	}
	var keys map[int64]string
	if v.caller.May(sheaf.KeysRead) {
		if keys, err = a.KeyNames(ctx, v.caller, events); err != nil {
			return nil, err
		}
	}
	out := make([]entry, len(events))
	for i, event := range events {
		e := readEntry(event, names)
		if name := keys[event.Key]; name != "" {
			e.Key = "the key “" + name + "”"
		} else if event.Key != 0 && !v.caller.May(sheaf.KeysRead) {
			e.Key = "a key"
		} else if event.Key != 0 {
			e.Key = "a key that was revoked"
		}
		if id, ok := sheaf.ParseUUID(e.shownID); ok && e.What == "" {
			switch e.shows {
			case sheaf.ShareOfDocument:
				var d sheaf.Document
				d, err = a.Document(ctx, v.caller, sheaf.DocumentID(id))
				e.What = d.Title
			case sheaf.ShareOfProject:
				var p sheaf.ProjectDetail
				p, err = a.Project(ctx, v.caller, sheaf.ProjectID(id))
				e.What = p.Name
			case sheaf.ShareOfFolder:
				var f sheaf.Folder
				f, err = a.Folder(ctx, v.caller, sheaf.FolderID(id))
				e.What = f.Name
			}
			if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
				return nil, err
			}
		}
		out[i] = e
	}
	return out, nil
}

// memberEntries returns changes of members as sentences.
func (v *visit) memberEntries(changes []sheaf.MemberEvent) ([]entry, error) {
	ids := make([]sheaf.UserID, 0, 2*len(changes))
	for _, c := range changes {
		ids = append(ids, c.User)
		if c.By != nil {
			ids = append(ids, *c.By)
		}
	}
	names, err := v.people(ids...)
	if err != nil {
		return nil, err
	}
	out := make([]entry, len(changes))
	for i, c := range changes {
		out[i] = readChange(c, names)
	}
	return out, nil
}

// readChange returns a change of a member as a sentence.
func readChange(c sheaf.MemberEvent, names people) entry {
	const former = "a former member"
	whom, who := cmp.Or(names[c.User], c.Name, former), "An operator"
	if c.By != nil {
		who = cmp.Or(names[*c.By], c.ByName, "A former member")
	}
	e := entry{Event: sheaf.Event{At: c.At}, Member: true, Who: who, What: whom}
	switch c.Kind {
	case sheaf.MemberJoined:
		e.Did, e.What, e.Then = "joined", "", "as "+string(c.Role)
	case sheaf.MemberLeft:
		e.Did, e.What = "left the workspace", ""
	case sheaf.MemberRemoved:
		e.Did, e.Then = "removed", "from the workspace"
	case sheaf.RoleChanged:
		e.Did, e.Then = "changed the role of", "from "+string(c.Was)+" to "+string(c.Role)
	}
	return e
}

// usersOf returns the users that the events name.
func usersOf(events []sheaf.Event) []sheaf.UserID {
	ids := make([]sheaf.UserID, 0, len(events))
	for i := range events {
		var b struct {
			UserID sheaf.UserID `json:"user_id"`
		}
		_ = json.Unmarshal(events[i].Body, &b)
		ids = append(ids, b.UserID)
	}
	return ids
}

// envelope has the fields of an event's body that a sentence needs.
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
		CreatedAt    string                     `json:"created_at"`
		UpdatedAt    string                     `json:"updated_at"`
	} `json:"payload"`
	At string `json:"timestamp"`
}

// restores reports whether the event is about a document that came out of the trash: it was created
// before, and changed at the time of the event. An imported document was changed earlier.
func (b *envelope) restores(t sheaf.EventType) bool {
	return t == sheaf.DocumentCreated && b.Payload.CreatedAt != b.Payload.UpdatedAt && b.Payload.UpdatedAt == b.At
}

// readEntry returns the event as a sentence. A program may have reported the payload in any shape:
// fields that cannot be read are left out.
func readEntry(e sheaf.Event, names people) entry {
	var b envelope
	_ = json.Unmarshal(e.Body, &b)
	out := entry{Event: e, Who: names[b.UserID], Did: didOf(e.Type, b.Payload.Previous),
		What: cmp.Or(b.Payload.Name, b.Payload.Title, b.Payload.Filename)}
	if b.restores(e.Type) {
		out.Did = "restored the document"
	}
	switch shows := b.Payload.ResourceType; {
	case e.Type.Resource() != "share":
	case shows == sheaf.ShareOfDocument, shows == sheaf.ShareOfProject, shows == sheaf.ShareOfFolder:
		out.shows, out.shownID = shows, b.Payload.ResourceID
		out.Did += " of the " + string(shows)
	}
	switch {
	case e.Type == sheaf.SubscriptionFailing, e.Type == sheaf.SubscriptionDeactivated && b.Payload.Reason == sheaf.ByFailures:
		out.Who = "Sheaf" // the event has the owner's name, who did nothing
	case out.Who == "":
		out.Who = "Someone"
	}
	return out
}

// didOf returns the verb and the noun: "renamed the project".
func didOf(t sheaf.EventType, previous map[string]json.RawMessage) string {
	_, verb, _ := strings.Cut(string(t), ".")
	if verb == "updated" {
		verb = "changed"
		for _, c := range changes {
			if _, changed := previous[c.field]; changed {
				verb = c.verb
				break
			}
		}
	}
	switch t {
	case sheaf.ProposalCommented:
		return "commented on the proposal"
	case sheaf.SubscriptionFailing:
		return "counted five failed deliveries in a row of the webhook"
	case sheaf.SubscriptionDeactivated, sheaf.SubscriptionReactivated:
		return verb + " the webhook"
	}
	return verb + " the " + t.Resource()
}

// changes has the verb for a changed field. If several fields changed, the first of this list
// counts.
var changes = []struct{ field, verb string }{
	{"name", "renamed"}, {"title", "renamed"}, {"folder_id", "moved"}, {"parent_id", "moved"}, {"project_id", "moved"},
	{"color", "changed the color of"}, {"icon", "changed the icon of"}, {"description", "changed the description of"},
}
