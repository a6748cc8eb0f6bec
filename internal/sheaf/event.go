package sheaf

import (
	"slices"
	"strings"
	"time"
)

// EventType says what happened to which noun: "project.created".
type EventType string

// The types of events. WebhookTest is in no log: the test endpoint alone sends it.
const (
	DocumentCreated     EventType = "document.created"
	DocumentUpdated     EventType = "document.updated"
	DocumentDeleted     EventType = "document.deleted"
	ProjectCreated      EventType = "project.created"
	ProjectUpdated      EventType = "project.updated"
	ProjectDeleted      EventType = "project.deleted"
	FolderCreated       EventType = "folder.created"
	FolderUpdated       EventType = "folder.updated"
	FolderDeleted       EventType = "folder.deleted"
	MediaUploaded       EventType = "media.uploaded"
	GenerationStarted   EventType = "generation.started"
	GenerationCompleted EventType = "generation.completed"
	GenerationFailed    EventType = "generation.failed"
	ShareCreated        EventType = "share.created"
	ShareUpdated        EventType = "share.updated"
	ShareDeleted        EventType = "share.deleted"

	SubscriptionFailing     EventType = "subscription.failing"
	SubscriptionDeactivated EventType = "subscription.deactivated"
	SubscriptionReactivated EventType = "subscription.reactivated"

	WebhookTest EventType = "webhook.test"
)

// EventTypes are all types, in the order in which they are shown.
var EventTypes = []EventType{DocumentCreated, DocumentUpdated, DocumentDeleted,
	ProjectCreated, ProjectUpdated, ProjectDeleted, FolderCreated, FolderUpdated, FolderDeleted,
	MediaUploaded, GenerationStarted, GenerationCompleted, GenerationFailed,
	ShareCreated, ShareUpdated, ShareDeleted,
	SubscriptionFailing, SubscriptionDeactivated, SubscriptionReactivated, WebhookTest}

// Known reports whether t is one of EventTypes.
func (t EventType) Known() bool { return slices.Contains(EventTypes, t) }

// Elsewhere reports whether t happens in a part that lives outside this service, which alone may be
// reported through POST /api/v1/events.
func (t EventType) Elsewhere() bool {
	switch t.Resource() {
	case "media", "generation", "share":
		return t.Known()
	}
	return false
}

// EventNames lists the types for which keep is true, for an error's text.
func EventNames(keep func(EventType) bool) string {
	var names []string
	for _, t := range EventTypes {
		if keep(t) {
			names = append(names, string(t))
		}
	}
	return strings.Join(names, ", ")
}

// Resource is the noun that the event is about, as its envelope names it in resource_type.
func (t EventType) Resource() string {
	noun, _, _ := strings.Cut(string(t), ".")
	if noun == "webhook" || noun == "subscription" {
		return subscriptionResource
	}
	return noun
}

// subscriptionResource is the resource_type of events about subscriptions.
const subscriptionResource = "webhook_subscription"

// MaxPayload bounds the payload of an event that another part reports, in bytes.
const MaxPayload = 262_144

// reportPerRequest is how many bytes of a reported payload cost one request.
const reportPerRequest = 16 << 10

// ReportCost returns a reported event's cost against the rate limit: one request per started 16 KB of
// payload.
func ReportCost(payload int) int { return max(1, (payload+reportPerRequest-1)/reportPerRequest) }

// Event is something that happened, stored once and never changed.
type Event struct {
	ID EventID
	// Number is its place in the workspace's log: in the order of commits, without a gap.
	Number     int64
	Type       EventType
	ResourceID string
	At         time.Time
	// Body is the envelope with the payload in it: the bytes that the log shows and that every
	// delivery carries and signs.
	Body []byte
	// Key is the number of the API key that did it; 0 where a person did. It is kept beside the body, which
	// receivers know as it is.
	Key int64
	// Reported says that a client reported the event: its bytes count in the workspace's quota. It is set
	// only while the event is appended.
	Reported bool
	// Places are the places of the event's record before and after the change. Filters match them while
	// the event is appended; they are not stored. It is nil if no subscription of the workspace has a
	// filter, and for records that have no place.
	Places *Places
}

// Envelope is what an event's Body is made of: the payload, and the fields around it that every
// event has.
type Envelope struct {
	ID         EventID
	Type       EventType
	At         time.Time
	UserID     UserID       // who did it
	Workspace  *WorkspaceID // nil for a personal workspace
	ResourceID string
	Payload    []byte // a JSON object
}

// Fields appends the envelope.
func (e *Envelope) Fields(o *Object) {
	o.Text("id", string(e.ID))
	o.Text("type", string(e.Type))
	o.Time("timestamp", e.At)
	o.Text("user_id", string(e.UserID))
	o.OptText("workspace_id", (*string)(e.Workspace))
	o.Text("resource_type", e.Type.Resource())
	o.Text("resource_id", e.ResourceID)
	o.Raw("payload", e.Payload)
}

// Event returns the event with its envelope encoded. Its Number is given by the store, when it is
// appended to the log.
func (e *Envelope) Event() Event {
	return Event{ID: e.ID, Type: e.Type, ResourceID: e.ResourceID, At: e.At, Body: AppendJSON(make([]byte, 0, usualSize+len(e.Payload)), e)}
}

// Updated is the payload of an *.updated event: the record as it is, and under "previous" the old
// values of the fields that changed.
type Updated struct{ Before, After Record }

// Fields appends the record and what it was.
func (u *Updated) Fields(o *Object) { o.updated(u.Before, u.After) }

// EventFilter narrows the log; the zero value narrows nothing.
type EventFilter struct {
	Type     EventType
	Resource string     // the id of what the event is about
	Since    *time.Time // events of this time, and later ones
	After    EventID    // only events that stand behind this one in the log
	Paging
}

// Fields appends the envelope's members from the stored bytes.
func (e *Event) Fields(o *Object) { o.members(e.Body) }
