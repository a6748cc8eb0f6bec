package sheaf

import (
	"slices"
	"strings"
	"time"
)

// EventType is what happened to which noun: "project.created".
type EventType string

// The types of events. WebhookTest is in no log: only the test endpoint sends it.
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

	ProposalCreated   EventType = "proposal.created"
	ProposalUpdated   EventType = "proposal.updated"
	ProposalApproved  EventType = "proposal.approved"
	ProposalCommented EventType = "proposal.commented"
	ProposalAccepted  EventType = "proposal.accepted"
	ProposalRejected  EventType = "proposal.rejected"
	ProposalWithdrawn EventType = "proposal.withdrawn"
	ReleaseCreated    EventType = "release.created"
	ReleaseDeleted    EventType = "release.deleted"

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
	ProposalCreated, ProposalUpdated, ProposalApproved, ProposalCommented, ProposalAccepted, ProposalRejected, ProposalWithdrawn,
	ReleaseCreated, ReleaseDeleted,
	SubscriptionFailing, SubscriptionDeactivated, SubscriptionReactivated, WebhookTest}

// Known reports whether t is one of EventTypes.
func (t EventType) Known() bool { return slices.Contains(EventTypes, t) }

// Elsewhere reports whether events of type t happen outside this service. Only those may be
// reported through POST /api/v1/events.
func (t EventType) Elsewhere() bool {
	switch t.Resource() {
	case "media", "generation", "share":
		return t.Known()
	}
	return false
}

// EventNames lists the types for which keep returns true, for the text of an error.
func EventNames(keep func(EventType) bool) string {
	var names []string
	for _, t := range EventTypes {
		if keep(t) {
			names = append(names, string(t))
		}
	}
	return strings.Join(names, ", ")
}

// Resource returns the noun that the event is about, as in resource_type of its envelope.
func (t EventType) Resource() string {
	noun, _, _ := strings.Cut(string(t), ".")
	if noun == "webhook" || noun == "subscription" {
		return subscriptionResource
	}
	return noun
}

// subscriptionResource is the resource_type of events about subscriptions.
const subscriptionResource = "webhook_subscription"

// MaxPayload limits the payload of a reported event, in bytes.
const MaxPayload = 262_144

// reportPerRequest is the number of bytes of a reported payload that cost one request.
const reportPerRequest = 16 << 10

// ReportCost returns a reported event's cost against the rate limit: one request per started 16 KB
// of payload.
func ReportCost(payload int) int { return max(1, (payload+reportPerRequest-1)/reportPerRequest) }

// Event is something that happened, stored once and never changed.
type Event struct {
	ID EventID
	// Number is its position in the workspace's log: in commit order, without gaps.
	Number     int64
	Type       EventType
	ResourceID string
	At         time.Time
	// Body is the envelope with the payload: the bytes that the log shows and that every delivery
	// sends and signs.
	Body []byte
	// Key is the number of the API key that caused it, or 0 for a person. It is stored outside the
	// body, because the documented body has no such field.
	Key int64
	// Person is the member who caused it in the console. It is empty if a program or the service caused it.
	// Reading events leaves it empty.
	Person UserID
	// Reported means that a client reported the event, so its bytes count against the workspace's
	// quota. It is set only while the event is appended.
	Reported bool
	// Places are the places of the event's record before and after the change. Filters match them
	// while the event is appended; they are not stored. It is nil if the workspace has neither a
	// subscription with a filter nor a restriction, and for records that have no place.
	Places *Places
}

// Envelope is what an event's Body contains: the payload, and the fields around it that every event
// has.
type Envelope struct {
	ID         EventID
	Type       EventType
	At         time.Time
	UserID     UserID       // the user who caused it
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

// Event returns the event with its envelope encoded. The store sets its Number when it is appended
// to the log.
func (e *Envelope) Event() Event {
	return Event{ID: e.ID, Type: e.Type, ResourceID: e.ResourceID, At: e.At, Body: AppendJSON(make([]byte, 0, usualSize+len(e.Payload)), e)}
}

// Updated is the payload of an *.updated event: the record as it is, and under "previous" the old
// values of the fields that changed.
type Updated struct{ Before, After Record }

// Fields appends the record and its previous values.
func (u *Updated) Fields(o *Object) { o.updated(u.Before, u.After) }

// EventFilter limits the events of the log. The zero value has no limits.
type EventFilter struct {
	Type     EventType
	Resource string     // id of the record that the event is about
	Person   UserID     // who caused it in the console; empty: everybody, and programs
	Since    *time.Time // events at or after this time
	After    EventID    // only events after this one in the log
	Paging
}

// Fields appends the envelope's members from the stored bytes.
func (e *Event) Fields(o *Object) { o.members(e.Body) }
