package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// EventType says what happened. New types may be added: ignore unknown ones.
type EventType string

// The types of events.
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

	// WebhookTest is sent only when somebody tests the subscription.
	WebhookTest EventType = "webhook.test"
)

// Event is the body of a delivery.
type Event struct {
	// ID begins with evt_ and is the same on every repetition of the delivery.
	ID        string    `json:"id"`
	Type      EventType `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	UserID    string    `json:"user_id"`
	// WorkspaceID is nil when the event belongs to no workspace.
	WorkspaceID  *string `json:"workspace_id"`
	ResourceType string  `json:"resource_type"`
	ResourceID   string  `json:"resource_id"`
	// Payload is a JSON object: the resource's fields, and for updates the old values of the
	// changed ones under "previous".
	Payload json.RawMessage `json:"payload"`
}

// Parse verifies a request as [Verify] does and returns the event in its body. A genuine body that
// is no event gives ErrBody. Fields it does not know are ignored. The event is the zero Event
// whenever the error is not nil.
func Parse(secret string, header http.Header, body []byte, opts ...Option) (Event, error) {
	if err := Verify(secret, header, body, opts...); err != nil {
		return Event{}, err
	}
	var e Event
	if err := json.Unmarshal(body, &e); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrBody, err)
	}
	if e.ID == "" || e.Type == "" {
		return Event{}, fmt.Errorf("%w: it has no id or no type", ErrBody)
	}
	return e, nil
}
