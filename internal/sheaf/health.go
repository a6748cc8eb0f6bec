package sheaf

import (
	"net/url"
	"time"
)

// WarnFailures is the number of failed deliveries in a row after which subscription.failing is
// emitted: early enough to act before MaxFailures deactivate the subscription.
const WarnFailures = 5

// HealthChange returns the event type for a change of a subscription, if the change has one: it was
// deactivated or reactivated, or began to fail. While a subscription stays active it begins to fail
// at most once. So two subscriptions that receive each other's failures do not notify each other
// for ever.
func HealthChange(before, after *Subscription) (EventType, bool) {
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

// Concerns reports whether the event is about that subscription. Its type counts too: a reported
// event may have any identifier.
func (e *Event) Concerns(s *Subscription) bool {
	return e.ResourceID == string(s.ID) && e.Type.Resource() == subscriptionResource
}

// Health is a subscription in the payload of an event. More people read events than subscriptions,
// and other endpoints receive them. So it has only the origin of the address, because the path may
// contain a secret.
type Health struct{ Subscription }

// Fields appends the fields that the event shows.
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

// Origin returns the scheme, host and port of its address. They may be shown to people who may not
// see the rest.
func (s *Subscription) Origin() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// HealthEvent returns the event about a change of a subscription's health.
func HealthEvent(t EventType, id EventID, s Subscription, ws *Workspace, by UserID, at time.Time) Event {
	e := Envelope{ID: id, Type: t, At: at, UserID: by, ResourceID: string(s.ID), Payload: Encode(&Health{s})}
	if !ws.Personal {
		e.Workspace = &ws.ID
	}
	event := e.Event()
	if s.Restriction != nil {
		event.Places = &Places{Restriction: s.Restriction.Number}
	}
	return event
}
