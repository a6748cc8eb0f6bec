package sheaf

import (
	"net/url"
	"time"
)

// WarnFailures is the number of failed deliveries in a row after which subscription.failing is emitted:
// early enough to act before MaxFailures deactivate the subscription.
const WarnFailures = 5

// Told returns the event type for a change of a subscription, if the change has one: it was deactivated
// or reactivated, or began to fail. While a subscription stays active it begins to fail at most once.
// So two subscriptions that receive each other's failures do not notify each other for ever.
func Told(before, after *Subscription) (EventType, bool) {
	switch {
	case before.Active && !after.Active:
		return SubscriptionDeactivated, true
	case !before.Active && after.Active:
		return SubscriptionReactivated, true
	case after.Active && before.FailureCount < WarnFailures && after.FailureCount >= WarnFailures:
		return SubscriptionFailing, true
	}
	return "", false
}

// Concerns reports whether the event tells of that subscription. Its type decides too: what another part
// reports may have any identifier.
func (e *Event) Concerns(s *Subscription) bool {
	return e.ResourceID == string(s.ID) && e.Type.Resource() == subscriptionResource
}

// Health is a subscription as events tell of it. They are read by more people than subscriptions are, and
// sent to other endpoints: of its address, which may have a secret in its path, only the origin is in it.
type Health struct{ Subscription }

// Fields appends what is told.
func (h *Health) Fields(o *Object) {
	o.Text("id", string(h.ID))
	o.Text("name", h.Name)
	o.Text("origin", h.Origin())
	o.Bool("active", h.Active)
	o.Int("failure_count", h.FailureCount)
	o.OptTime("deactivated_at", h.DeactivatedAt)
	o.OptText("deactivation_reason", h.DeactivationReason)
	o.OptText("last_error", h.LastError)
}

// Origin is the scheme, host and port of its address, which may be told to whoever may not see the rest.
func (s *Subscription) Origin() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// HealthEvent is the event that tells of a subscription.
func HealthEvent(t EventType, id EventID, s Subscription, ws *Workspace, by UserID, at time.Time) Event {
	e := Envelope{ID: id, Type: t, At: at, UserID: by, ResourceID: string(s.ID), Payload: Encode(&Health{s})}
	if !ws.Personal {
		e.Workspace = &ws.ID
	}
	return e.Event()
}
