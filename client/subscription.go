package client

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// Subscription sends events of the workspace to an endpoint.
type Subscription struct {
	Received
	ID                 string     `json:"id"`
	Name               string     `json:"name"`
	URL                string     `json:"url"`
	Events             []string   `json:"events"`
	Active             bool       `json:"active"`
	FailureCount       int        `json:"failure_count"` // consecutive failed deliveries
	CreatedAt          time.Time  `json:"created_at"`
	UpdatedAt          time.Time  `json:"updated_at"`
	DeactivatedAt      *time.Time `json:"deactivated_at"`
	DeactivationReason *string    `json:"deactivation_reason"` // failures or manual
	LastError          *string    `json:"last_error"`
	HeldCount          int        `json:"held_count"`   // deliveries that wait for Recover
	HeaderNames        []string   `json:"header_names"` // names of the custom headers; their values are never returned
	// Filter says of what it gets events; nil: of everything.
	Filter *Filter `json:"filter"`
	// Secret signs the deliveries. It is in the answers of Create and RotateSecret alone, and nil
	// there when the first answer was lost: rotate it then.
	Secret *string `json:"secret"`
}

// Filter narrows a subscription to events of what lies in some projects or folders, or of some records.
// An event that fits any of the ids, by the state before or after the change, passes.
type Filter struct {
	ProjectIDs  []string `json:"project_ids,omitempty"`  // the project itself and what is in it
	FolderIDs   []string `json:"folder_ids,omitempty"`   // the folder itself and all below it
	ResourceIDs []string `json:"resource_ids,omitempty"` // the record itself, its shares and files
}

// NewSubscription is a subscription to create.
type NewSubscription struct {
	Name    string            `json:"name"`
	URL     string            `json:"url"` // https
	Events  []string          `json:"events"`
	Headers map[string]string `json:"headers,omitempty"` // sent with every delivery
	Filter  *Filter           `json:"filter,omitempty"`  // nil: events of everything
}

// SubscriptionChange are the fields to change. Active(true) is how a deactivated one is used again;
// Headers replaces them all.
type SubscriptionChange struct {
	Name    Opt[string]            `json:"name,omitzero"`
	URL     Opt[string]            `json:"url,omitzero"`
	Events  Opt[[]string]          `json:"events,omitzero"`
	Active  Opt[bool]              `json:"active,omitzero"`
	Headers Opt[map[string]string] `json:"headers,omitzero"`
	Filter  Opt[Filter]            `json:"filter,omitzero"` // in place of the one before; null: none
}

// TestResult is the result of a test event.
type TestResult struct {
	Received
	EventID    string  `json:"event_id"`
	Delivered  bool    `json:"delivered"`
	StatusCode *int    `json:"status_code"` // nil: no answer
	DurationMS int     `json:"duration_ms"`
	Error      *string `json:"error"`
	// ResponseBody are the first bytes of the answer, secrets masked; nil: none.
	ResponseBody *string `json:"response_body"`
}

// Subscriptions are the operations on webhook subscriptions. Reading needs the scope webhooks:read,
// all others webhooks:write.
type Subscriptions struct{ c *Client }

const subscriptionsPath = "/api/webhooks/subscriptions"

func (s Subscriptions) send(ctx context.Context, method, path string, body any, opts []Option) (Subscription, error) {
	return send[Subscription](ctx, s.c, request{method: method, path: subscriptionsPath + path, body: body, wrap: "subscription"}, opts)
}

// List returns one page.
func (s Subscriptions) List(ctx context.Context, p Paging, opts ...Option) (Page[Subscription], error) {
	return list[Subscription](ctx, s.c, subscriptionsPath, p.values(), opts)
}

// All returns every subscription.
func (s Subscriptions) All(ctx context.Context, p Paging, opts ...Option) iter.Seq2[Subscription, error] {
	return all(p, func(p Paging) (Page[Subscription], error) { return s.List(ctx, p, opts...) })
}

// Get returns one subscription.
func (s Subscriptions) Get(ctx context.Context, id string, opts ...Option) (Subscription, error) {
	return s.send(ctx, http.MethodGet, "/"+escape(id), nil, opts)
}

// Create makes a subscription, with its secret. It sends nothing to the URL. One more than the plan
// allows is ErrSubscriptionLimit.
func (s Subscriptions) Create(ctx context.Context, in NewSubscription, opts ...Option) (Subscription, error) {
	return s.send(ctx, http.MethodPost, "", in, opts)
}

// Update changes the fields that are set, and returns the whole subscription.
func (s Subscriptions) Update(ctx context.Context, id string, change SubscriptionChange, opts ...Option) (Subscription, error) {
	return s.send(ctx, http.MethodPatch, "/"+escape(id), change, opts)
}

// Delete removes the subscription and cancels its deliveries.
func (s Subscriptions) Delete(ctx context.Context, id string, opts ...Option) error {
	return s.c.exec(ctx, request{method: http.MethodDelete, path: subscriptionsPath + "/" + escape(id)}, opts)
}

// Test sends one event of type webhook.test and waits for the answer. It does not count, and is not
// repeated.
func (s Subscriptions) Test(ctx context.Context, id string, opts ...Option) (TestResult, error) {
	return send[TestResult](ctx, s.c, request{method: http.MethodPost, path: subscriptionsPath + "/" + escape(id) + "/test", unkeyed: true}, opts)
}

// RotateSecret makes a new secret. The old one signs too for the time of grace, in whole seconds
// and at most 7 days.
func (s Subscriptions) RotateSecret(ctx context.Context, id string, grace time.Duration, opts ...Option) (Subscription, error) {
	return s.send(ctx, http.MethodPost, "/"+escape(id)+"/rotate-secret", map[string]any{"grace_seconds": int64(grace / time.Second)}, opts)
}

// Backfill is a span of time whose events a subscription is sent.
type Backfill struct {
	Since time.Time
	Until time.Time // zero: to the end of the log; events of that time itself are not sent
	// Delivered also sends what arrived already, and what the subscription never had: a new endpoint is
	// given the past.
	Delivered bool
}

// Backfill sends the events of a span of time whose deliveries failed or are held, or all events that the
// subscription wants, and returns their number. It makes a request for each 10,000 events of the log.
func (s Subscriptions) Backfill(ctx context.Context, id string, in Backfill, opts ...Option) (queued int, err error) {
	body := map[string]any{"since": in.Since.UTC().Format(timeFormat), "delivered": in.Delivered}
	if !in.Until.IsZero() {
		body["until"] = in.Until.UTC().Format(timeFormat)
	} else if !in.Delivered {
		return s.Recover(ctx, id, in.Since, opts...)
	}
	for {
		out, err := send[struct {
			Queued int
			Next   *string `json:"next_since"`
		}](ctx, s.c, request{method: http.MethodPost, path: subscriptionsPath + "/" + escape(id) + "/recover", body: body}, opts)
		queued += out.Queued
		if err != nil || out.Next == nil || *out.Next == body["since"] {
			return queued, err
		}
		body["since"] = *out.Next
	}
}

// Recover sends the failed and held deliveries of events since that time again, and returns their
// number.
func (s Subscriptions) Recover(ctx context.Context, id string, since time.Time, opts ...Option) (queued int, err error) {
	out, err := send[struct{ Queued int }](ctx, s.c, request{method: http.MethodPost, path: subscriptionsPath + "/" + escape(id) + "/recover",
		body: map[string]any{"since": since.UTC().Format(timeFormat)}}, opts)
	return out.Queued, err
}
