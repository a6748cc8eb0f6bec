package client

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// The states of deliveries.
const (
	Waiting   = "waiting" // also between attempts
	Sending   = "sending"
	Delivered = "delivered"
	Failed    = "failed"
	Held      = "held" // until its subscription is active and Recover is called
)

// Delivery is one event for one subscription.
type Delivery struct {
	Received
	ID             string     `json:"id"`
	EventID        string     `json:"event_id"`
	EventType      string     `json:"event_type"`
	SubscriptionID string     `json:"subscription_id"`
	State          string     `json:"state"`
	AttemptCount   int        `json:"attempt_count"`
	NextAttemptAt  *time.Time `json:"next_attempt_at"`  // nil: none is planned
	LastStatusCode *int       `json:"last_status_code"` // nil: no answer yet
	LastError      *string    `json:"last_error"`
	CreatedAt      time.Time  `json:"created_at"`
	FinishedAt     *time.Time `json:"finished_at"` // nil: it is neither delivered nor failed
	Attempts       []Attempt  `json:"attempts"`    // in the answer of Get alone
}

// Attempt is one request of a delivery.
type Attempt struct {
	Number        int       `json:"number"`
	StartedAt     time.Time `json:"started_at"`
	DurationMS    int       `json:"duration_ms"`
	StatusCode    *int      `json:"status_code"` // nil: no answer
	ErrorClass    *string   `json:"error_class"` // nil: it was taken
	Error         *string   `json:"error"`
	RemoteAddress *string   `json:"remote_address"`
	Timings       Timings   `json:"timings"`
	ResponseBody  string    `json:"response_body"`
}

// Timings are the phases of an attempt in milliseconds. A phase that was not reached is 0.
type Timings struct {
	DNS       float64 `json:"dns_ms"`
	Connect   float64 `json:"connect_ms"`
	TLS       float64 `json:"tls_ms"`
	FirstByte float64 `json:"first_byte_ms"`
	Body      float64 `json:"body_ms"`
}

// Fate is the delivery of an event to one subscription, or the reason why there is none.
type Fate struct {
	Received
	SubscriptionID   string    `json:"subscription_id"`
	SubscriptionName string    `json:"subscription_name"`
	Delivery         *Delivery `json:"delivery"`
	Reason           string    `json:"reason"`
}

// DeliveryFilter narrows a list of deliveries.
type DeliveryFilter struct {
	SubscriptionID string // required
	State          string
	Paging
}

// Deliveries are the operations on deliveries. Reading needs the scope webhooks:read, Redeliver
// webhooks:write.
type Deliveries struct{ c *Client }

const deliveriesPath = "/api/webhooks/deliveries"

// List returns one page of a subscription's deliveries.
func (s Deliveries) List(ctx context.Context, f DeliveryFilter, opts ...Option) (Page[Delivery], error) {
	q := f.Paging.values()
	set(q, "state", f.State)
	return list[Delivery](ctx, s.c, subscriptionsPath+"/"+escape(f.SubscriptionID)+"/deliveries", q, opts)
}

// All returns every delivery that matches, as Projects.All does.
func (s Deliveries) All(ctx context.Context, f DeliveryFilter, opts ...Option) iter.Seq2[Delivery, error] {
	return all(f.Paging, func(p Paging) (Page[Delivery], error) {
		f.Paging = p
		return s.List(ctx, f, opts...)
	})
}

// Get returns one delivery, with its attempts.
func (s Deliveries) Get(ctx context.Context, id string, opts ...Option) (Delivery, error) {
	return send[Delivery](ctx, s.c, request{method: http.MethodGet, path: deliveriesPath + "/" + escape(id), wrap: "delivery"}, opts)
}

// Redeliver makes one more attempt, also for an inactive subscription.
func (s Deliveries) Redeliver(ctx context.Context, id string, opts ...Option) (Delivery, error) {
	return send[Delivery](ctx, s.c, request{method: http.MethodPost, path: deliveriesPath + "/" + escape(id) + "/redeliver", wrap: "delivery"}, opts)
}
