package app

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Subscriptions returns a page of the caller's webhook subscriptions.
func (a *App) Subscriptions(ctx context.Context, c Caller, p sheaf.Paging) (sheaf.Page[sheaf.Subscription], error) {
	return read(ctx, a, c, scope(sheaf.WebhooksRead), func(r *store.Reader) (sheaf.Page[sheaf.Subscription], error) {
		return r.Subscriptions(c.Workspace, p)
	})
}

// TroubledSubscriptions returns the number of subscriptions that fail or were deactivated for
// failing.
func (a *App) TroubledSubscriptions(ctx context.Context, c Caller) (int64, error) {
	return read(ctx, a, c, scope(sheaf.WebhooksRead), func(r *store.Reader) (int64, error) {
		return r.TroubledSubscriptions(c.Workspace)
	})
}

// Subscription returns one subscription, or NotFound.
func (a *App) Subscription(ctx context.Context, c Caller, id sheaf.SubscriptionID) (sheaf.Subscription, error) {
	return read(ctx, a, c, scope(sheaf.WebhooksRead), func(r *store.Reader) (sheaf.Subscription, error) {
		return r.Subscription(c.Workspace, id)
	})
}

// CreateSubscription adds an active subscription and returns its secret, once. The plan limits
// their number (SUBSCRIPTION_LIMIT_REACHED). Nothing is sent: there is no handshake.
func (a *App) CreateSubscription(ctx context.Context, c Caller, in sheaf.SubscriptionChange) (sheaf.NewSubscription, error) {
	return write(ctx, a, c, scope(sheaf.WebhooksWrite), a.checkNewSubscription(in), func(w *work) (sheaf.NewSubscription, error) {
		if err := w.filterExists(nil, in.Filter.Pointer()); err != nil {
			return sheaf.NewSubscription{}, err
		}
		if err := oneMoreSubscription(w.ws); err != nil {
			return sheaf.NewSubscription{}, err
		}
		return w.addSubscription(in)
	})
}

// checkNewSubscription returns the first error of a new subscription's fields.
func (a *App) checkNewSubscription(in sheaf.SubscriptionChange) error {
	switch {
	case !in.Name.Set:
		return sheaf.InvalidField("name", "name is required: give it 1 to %d characters", sheaf.MaxSubscriptionName)
	case !in.URL.Set:
		return sheaf.InvalidField("url", "url is required: the https:// address that receives the events")
	case !in.Events.Set:
		return sheaf.InvalidField("events", "events is required: name at least one event type, such as project.created")
	}
	return a.checkSubscription(in)
}

// oneMoreSubscription returns SUBSCRIPTION_LIMIT_REACHED if the workspace has as many subscriptions
// as its plan allows.
func oneMoreSubscription(ws sheaf.Workspace) error {
	if most := ws.Plan.MaxSubscriptions(); ws.Subscriptions >= int64(most) {
		return &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeSubscriptionLimit,
			Text: fmt.Sprintf("the %s plan allows %d webhook subscriptions: delete one, or upgrade the plan", ws.Plan, most)}
	}
	return nil
}

// addSubscription stores a subscription with a new secret.
func (w *work) addSubscription(in sheaf.SubscriptionChange) (sheaf.NewSubscription, error) {
	secret := sheaf.NewSigningSecret(w.app.random)
	events, _ := sheaf.ParseEventTypes(in.Events.Value)
	s := sheaf.Subscription{
		ID: sheaf.SubscriptionID(w.app.newID()), Name: in.Name.Value, URL: in.URL.Value, Events: events, Active: true,
		CreatedAt: w.now, UpdatedAt: w.now, HeaderNames: headerNames(in.Headers.Value),
		Number: w.nextNumber(), Revision: 1, SinceEvent: w.ws.LastEvent, EventsSince: w.ws.LastEvent,
		Filter: filterOf(in.Filter), FilterSince: w.ws.LastEvent, Restriction: w.caller.Restriction(), MadeByKey: w.madeBy(),
	}
	w.countFilter(nil, s.Filter)
	sealed := store.Sealed{Secret: w.app.webhooks.Box.Secret(string(s.ID), secret), Headers: w.sealHeaders(s.ID, in.Headers.Value)}
	w.ws.Subscriptions++
	w.audit(sheaf.ActionWebhookCreated, string(s.ID), nil, webhookFacts(s))
	return sheaf.NewSubscription{Subscription: s, Secret: &secret}, w.InsertSubscription(w.ws.ID, s, sealed)
}

// checkSubscription returns the first error of the fields that were sent.
func (a *App) checkSubscription(in sheaf.SubscriptionChange) error {
	if err := in.Check(); err != nil {
		return err
	}
	for _, h := range in.Headers.Value {
		if strings.EqualFold(h.Name, a.webhooks.SignatureHeader) {
			return sheaf.InvalidField("headers", "headers: %s carries the signature: choose another name", h.Name)
		}
	}
	if in.URL.Set {
		if err := a.webhooks.Guard.CheckURL(in.URL.Value); err != nil {
			return sheaf.InvalidField("url", "%s", err)
		}
	}
	return nil
}

// filterOf returns the filter that was sent, each identifier once, or nil.
func filterOf(in sheaf.Opt[sheaf.Filter]) *sheaf.Filter {
	if !in.Given() {
		return nil
	}
	return in.Value.Once()
}

// countFilter updates the number of subscriptions of the workspace that have a filter.
func (w *work) countFilter(before, after *sheaf.Filter) {
	if before != nil {
		w.ws.Filters--
	}
	if after != nil {
		w.ws.Filters++
	}
}

// headerNames returns the sorted names of the custom headers. Their values are secrets.
func headerNames(headers []sheaf.Header) []string {
	names := []string{}
	for _, h := range headers {
		names = append(names, h.Name)
	}
	slices.Sort(names)
	return names
}

// sealHeaders encrypts the custom headers for the store.
func (w *work) sealHeaders(id sheaf.SubscriptionID, headers []sheaf.Header) []byte {
	var pairs [][2]string
	for _, h := range headers {
		pairs = append(pairs, [2]string{h.Name, h.Value})
	}
	return w.app.webhooks.Box.Headers(string(id), pairs)
}

// UpdateSubscription changes the fields that were sent. Deactivating it holds its waiting
// deliveries. Activating it sets failure_count to 0 and sends nothing by itself. If the scheme,
// host or port of the URL changes, the headers are dropped unless new ones are sent too.
func (a *App) UpdateSubscription(ctx context.Context, c Caller, id sheaf.SubscriptionID, in sheaf.SubscriptionChange, match sheaf.Match) (sheaf.Subscription, error) {
	fault := checkChange(in.Empty(), "name, url, events, active, headers, filter", a.checkSubscription(in))
	if err := firstError(scope(sheaf.WebhooksWrite)(c), c.Refusal, fault); err != nil {
		return sheaf.Subscription{}, err
	}
	return write(ctx, a, c, scope(sheaf.WebhooksWrite), nil, func(w *work) (sheaf.Subscription, error) {
		before, err := w.LockSubscription(w.ws.ID, id)
		if err != nil {
			return before, err
		}
		if err := firstMissing(w.filterExists(before.Filter, in.Filter.Pointer()), match.Check(before.Revision)); err != nil {
			return before, err
		}
		return w.changeSubscription(before, in)
	})
}

// changeSubscription applies a change and writes it, unless it changes nothing. The HeldCount that it
// returns is that after the change.
func (w *work) changeSubscription(before sheaf.Subscription, in sheaf.SubscriptionChange) (sheaf.Subscription, error) {
	s := w.applySubscription(before, in)
	headers, err := w.changesHeaders(before, s, in)
	if err != nil {
		return before, err
	}
	if sheaf.SameFields(&before, &s) && !headers {
		return before, nil
	}
	s.Revision++
	s.UpdatedAt = w.after(before.UpdatedAt)
	w.countFilter(before.Filter, s.Filter)
	if headers {
		if err := w.replaceHeaders(s.ID, in.Headers.Value); err != nil {
			return s, err
		}
	}
	if event, is := sheaf.HealthChange(&before, &s); is {
		w.emit(event, string(s.ID), &sheaf.Health{Subscription: s})
	}
	if err := w.UpdateSubscription(w.ws.ID, s); err != nil {
		return s, err
	}
	w.auditWebhook(before, s)
	return w.Subscription(w.ws.ID, s.ID)
}

// changesHeaders reports whether the headers change. Comparing their names is not enough.
func (w *work) changesHeaders(before, after sheaf.Subscription, in sheaf.SubscriptionChange) (bool, error) {
	if !in.Headers.Set {
		return !slices.Equal(before.HeaderNames, after.HeaderNames), nil
	}
	sealed, err := w.SealedOf(w.ws.ID, before.ID)
	if err != nil {
		return false, err
	}
	_, kept, err := sealed.Open(w.app.webhooks.Box, before.ID, w.now)
	// Headers that cannot be decrypted are replaced.
	return err != nil || !slices.Equal(byName(kept), byName(in.Headers.Value)), nil
}

func byName(headers []sheaf.Header) []sheaf.Header {
	return slices.SortedFunc(slices.Values(headers), func(a, b sheaf.Header) int { return strings.Compare(a.Name, b.Name) })
}

// applySubscription returns s with the fields that were sent.
func (w *work) applySubscription(s sheaf.Subscription, in sheaf.SubscriptionChange) sheaf.Subscription {
	if in.Name.Set {
		s.Name = in.Name.Value
	}
	if in.URL.Set {
		if !sameOrigin(s.URL, in.URL.Value) {
			s.HeaderNames = []string{}
		}
		s.URL = in.URL.Value
	}
	if in.Headers.Set {
		s.HeaderNames = headerNames(in.Headers.Value)
	}
	if in.Events.Set {
		events, _ := sheaf.ParseEventTypes(in.Events.Value)
		if !slices.Equal(events, s.Events) {
			s.Events, s.EventsSince = events, w.ws.LastEvent
		}
	}
	if f := filterOf(in.Filter); in.Filter.Set && f.String() != s.Filter.String() {
		s.Filter, s.FilterSince = f, w.ws.LastEvent
	}
	if in.Active.Set && in.Active.Value != s.Active {
		if in.Active.Value {
			s.Reactivate()
		} else {
			s.Deactivate(sheaf.ByHand, w.now)
		}
	}
	return s
}

// sameOrigin reports whether two addresses have the same scheme, host and port.
func sameOrigin(a, b string) bool {
	u, err := url.Parse(a)
	if err != nil {
		return false
	}
	v, err := url.Parse(b)
	return err == nil && u.Scheme == v.Scheme && strings.EqualFold(u.Hostname(), v.Hostname()) && port(u) == port(v)
}

// port returns the port of a URL, or 443 if it names none.
func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return "443"
}

// replaceHeaders stores new custom headers.
func (w *work) replaceHeaders(id sheaf.SubscriptionID, headers []sheaf.Header) error {
	sealed, err := w.SealedOf(w.ws.ID, id)
	if err != nil {
		return err
	}
	sealed.Headers = w.sealHeaders(id, headers)
	return w.SealAnew(w.ws.ID, id, sealed)
}

// DeleteSubscription deletes a subscription. Its deliveries are gone at once.
func (a *App) DeleteSubscription(ctx context.Context, c Caller, id sheaf.SubscriptionID, match sheaf.Match) error {
	c.deletes = true
	return do(ctx, a, c, scope(sheaf.WebhooksWrite), nil, func(w *work) error {
		s, err := w.LockSubscription(w.ws.ID, id)
		if err != nil {
			return err
		}
		if err := match.Check(s.Revision); err != nil {
			return err
		}
		if err := w.deleteSubscription(s); err != nil {
			return err
		}
		return w.endRestrictions()
	})
}

// deleteSubscription deletes a subscription that the transaction has locked, or whose workspace it has locked.
func (w *work) deleteSubscription(s sheaf.Subscription) error {
	w.ws.Subscriptions--
	w.audit(sheaf.ActionWebhookDeleted, string(s.ID), webhookFacts(s), nil)
	w.countFilter(s.Filter, nil)
	return w.DeleteSubscription(w.ws.ID, s.ID, w.now)
}

// RotateSecret gives the subscription a new secret and returns it, once. For the time `grace`, the
// old one signs too.
func (a *App) RotateSecret(ctx context.Context, c Caller, id sheaf.SubscriptionID, grace time.Duration) (sheaf.NewSubscription, error) {
	return write(ctx, a, c, scope(sheaf.WebhooksWrite), nil, func(w *work) (sheaf.NewSubscription, error) {
		s, err := w.LockSubscription(w.ws.ID, id)
		if err != nil {
			return sheaf.NewSubscription{}, err
		}
		sealed, err := w.SealedOf(w.ws.ID, id)
		if err != nil {
			return sheaf.NewSubscription{}, err
		}
		secret := sheaf.NewSigningSecret(a.random)
		until := w.now.Add(grace)
		sealed.OldSecret, sealed.OldSecretUntil = sealed.Secret, &until
		sealed.Secret = a.webhooks.Box.Secret(string(id), secret)
		if grace == 0 {
			sealed.OldSecret, sealed.OldSecretUntil = nil, nil
		}
		s.Revision++
		s.UpdatedAt = w.after(s.UpdatedAt)
		w.audit(sheaf.ActionWebhookSecretRotated, string(id), nil, rotationFacts(s.Name, sealed.OldSecretUntil))
		if err := w.UpdateSubscription(w.ws.ID, s); err != nil {
			return sheaf.NewSubscription{}, err
		}
		return sheaf.NewSubscription{Subscription: s, Secret: &secret}, w.SealAnew(w.ws.ID, id, sealed)
	})
}

// TestSubscription sends one webhook.test event and returns the result. The event is in no log, is
// not retried, and does not count as a failure or success. `wait`, if not nil, runs the part that
// waits for the endpoint, so that a caller that measures its requests can leave that part out. Too
// many tests at once are RateLimited or Unavailable.
func (a *App) TestSubscription(ctx context.Context, c Caller, id sheaf.SubscriptionID, wait func(send func())) (sheaf.TestResult, error) {
	out, err := read(ctx, a, c, scope(sheaf.WebhooksWrite), func(r *store.Reader) (sheaf.Outgoing, error) {
		return a.testRequest(r, c, id)
	})
	if err != nil {
		return sheaf.TestResult{}, err
	}
	leave, err := a.trials.acquire(c.Workspace, id)
	if err != nil {
		return sheaf.TestResult{}, err
	}
	defer leave()
	result := sheaf.TestResult{EventID: out.EventID}
	send := func() { result.Attempt = a.webhooks.Send(ctx, out) }
	if wait == nil {
		send()
	} else {
		wait(send)
	}
	return result, nil
}

// testRequest returns the request of a test: an event that is in no log.
func (a *App) testRequest(r *store.Reader, c Caller, id sheaf.SubscriptionID) (sheaf.Outgoing, error) {
	s, err := r.Subscription(c.Workspace, id)
	if err != nil {
		return sheaf.Outgoing{}, err
	}
	sealed, err := r.SealedOf(c.Workspace, id)
	if err != nil {
		return sheaf.Outgoing{}, err
	}
	ws, err := r.Workspace(c.Workspace)
	if err != nil {
		return sheaf.Outgoing{}, err
	}
	e := sheaf.Envelope{ID: sheaf.EventID(sheaf.EventPrefix + a.newID()), Type: sheaf.WebhookTest, At: a.now(), UserID: c.User,
		ResourceID: string(id), Payload: sheaf.AppendJSON(nil, &s)}
	if !ws.Personal {
		e.Workspace = &ws.ID
	}
	out := sheaf.Outgoing{EventID: e.ID, URL: s.URL, Body: e.Event().Body}
	out.Secrets, out.Headers, err = sealed.Open(a.webhooks.Box, id, a.now())
	return out, err
}
