package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

type webhooksPage struct {
	Webhooks []sheaf.Subscription
	Most     int // webhooks that the plan allows
}

// Left returns the number of webhooks that the plan still allows.
func (p webhooksPage) Left() int { return max(p.Most-len(p.Webhooks), 0) }

// webhooks answers GET /w/{workspace}/webhooks: the webhooks and their states.
func (c *Console) webhooks(v *visit) error {
	page, err := c.app.Subscriptions(v.r.Context(), v.caller, sheaf.Paging{Limit: webhookPage})
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "webhooks", webhooksPage{page.Items, v.member.Workspace.Plan.MaxSubscriptions()})
}

// eventGroup is the event types of one noun, to tick.
type eventGroup struct {
	Noun  string
	Types []eventChoice
}

type eventChoice struct {
	Type    sheaf.EventType
	Checked bool
}

// Title returns the group's name for a reader.
func (g eventGroup) Title() string {
	if g.Noun == sheaf.SubscriptionFailing.Resource() {
		return "webhook"
	}
	return g.Noun
}

// eventGroups returns the types of events by their nouns, with the chosen ones ticked.
func eventGroups(chosen []string) []eventGroup {
	var out []eventGroup
	for _, t := range sheaf.EventTypes {
		if t == sheaf.WebhookTest {
			continue // it cannot be subscribed to: a test is sent only to the tested webhook
		}
		if noun := t.Resource(); len(out) == 0 || out[len(out)-1].Noun != noun {
			out = append(out, eventGroup{Noun: noun})
		}
		g := &out[len(out)-1]
		g.Types = append(g.Types, eventChoice{t, slices.Contains(chosen, string(t))})
	}
	return out
}

// webhookForm is the form of a new webhook, or of a change.
type webhookForm struct {
	ID     sheaf.SubscriptionID // empty for a new webhook
	Name   string
	URL    string
	Groups []eventGroup
	// HeaderNames are the stored headers. Their values are never shown again.
	HeaderNames []string
	Headers     string // the new headers, each on a line as "Name: value"
	Replace     bool   // replace the stored headers by Headers
	basis
}

// fields returns the fields that change the webhook. Of headers only the names are shown; replacing
// them counts as another value.
func (f webhookForm) fields() []field {
	headers := field{Name: "headers", Label: "Headers", Value: strings.Join(f.HeaderNames, ", ")}
	if f.Replace {
		headers.Value = "replace"
		headers.Shown = "those in the form"
	}
	return []field{{Name: "name", Label: "Name", Value: f.Name}, {Name: "url", Label: "Address", Value: f.URL},
		{Name: "event", Label: "Events", Value: strings.Join(f.chosen(), " "), Shown: strings.Join(f.chosen(), ", ")}, headers}
}

// chosen returns the types of events that are ticked.
func (f webhookForm) chosen() (out []string) {
	for _, g := range f.Groups {
		for _, t := range g.Types {
			if t.Checked {
				out = append(out, string(t.Type))
			}
		}
	}
	return out
}

// formOfWebhook returns the form with the webhook's stored values.
func formOfWebhook(s sheaf.Subscription) webhookForm {
	var chosen []string
	for _, t := range s.Events {
		chosen = append(chosen, string(t))
	}
	f := webhookForm{ID: s.ID, Name: s.Name, URL: s.URL, Groups: eventGroups(chosen), HeaderNames: s.HeaderNames}
	f.basis = basis{Revision: s.Revision, Was: f.fields()}
	return f
}

func (c *Console) newWebhook(v *visit) error {
	return v.show(http.StatusOK, "webhook-form", webhookForm{Replace: true,
		Groups: eventGroups([]string{string(sheaf.DocumentCreated), string(sheaf.DocumentUpdated), string(sheaf.DocumentDeleted)})})
}

// webhookForm reads the form, and returns the change that it asks for. A line of the headers
// without a colon is a name without a value, which app refuses.
func (v *visit) webhookForm() (webhookForm, sheaf.SubscriptionChange) {
	chosen := v.r.PostForm["event"]
	if v.field("keep-event") == "saved" {
		chosen = strings.Fields(v.field("was-event"))
	}
	f := webhookForm{Name: v.typed("name"), URL: strings.TrimSpace(v.typed("url")), Groups: eventGroups(chosen),
		Headers: v.field("headers"), Replace: v.field("replace") != "" && v.field("keep-headers") != "saved"}
	change := sheaf.SubscriptionChange{Name: sheaf.Some(f.Name), URL: sheaf.Some(f.URL), Events: sheaf.Some(chosen)}
	if f.Replace {
		var headers []sheaf.Header
		for line := range strings.SplitSeq(f.Headers, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				name, value, _ := strings.Cut(line, ":")
				headers = append(headers, sheaf.Header{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
			}
		}
		change.Headers = sheaf.Some(headers)
	}
	return f, change
}

// secretPage is the data of webhook-secret.html: a secret, which is shown once, and how to verify
// with it.
type secretPage struct {
	sheaf.Subscription
	Secret   string
	Header   string // of the signature
	Snippets []snippet
	Rotated  bool
}

func (v *visit) showSecret(s sheaf.NewSubscription, rotated bool) error {
	header := v.console.app.SignatureHeader()
	return v.show(http.StatusOK, "webhook-secret", secretPage{s.Subscription, *s.Secret, header, snippets(header), rotated})
}

// createWebhook answers POST /w/{workspace}/webhooks: it creates a webhook and shows its secret,
// once.
func (c *Console) createWebhook(v *visit) error {
	form, change := v.webhookForm()
	s, err := c.app.CreateSubscription(v.r.Context(), v.caller, change)
	if err != nil {
		return v.again("webhook-form", form, err)
	}
	return v.showSecret(s, false)
}

// editWebhook answers GET /w/{workspace}/webhooks/{id}/edit: the form of a webhook.
func (c *Console) editWebhook(v *visit) error {
	s, err := find(v, "webhook", c.app.Subscription)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "webhook-form", formOfWebhook(s))
}

// updateWebhook answers POST /w/{workspace}/webhooks/{id}: it changes a webhook.
func (c *Console) updateWebhook(v *visit) error {
	s, err := find(v, "webhook", c.app.Subscription)
	if err != nil {
		return err
	}
	form, change := v.webhookForm()
	form.ID, form.HeaderNames = s.ID, s.HeaderNames
	form.basis = v.basis(form.fields())
	err = v.saveForm(&form.basis, form.fields(), func(m sheaf.Match) error {
		_, err := c.app.UpdateSubscription(v.r.Context(), v.caller, s.ID, change, m)
		return err
	}, func() (current, error) {
		s, err := c.app.Subscription(v.r.Context(), v.caller, s.ID)
		return current{"", s.Revision, formOfWebhook(s).fields()}, err
	})
	if err != nil {
		return v.again("webhook-form", form, err)
	}
	return v.done(v.at("webhooks", string(s.ID)))
}

type testPage struct {
	sheaf.Subscription
	Attempt attemptView
}

// testWebhook answers POST /w/{workspace}/webhooks/{id}/test: it sends a test event and shows the
// answer.
func (c *Console) testWebhook(v *visit) error {
	s, err := find(v, "webhook", c.app.Subscription)
	if err != nil {
		return err
	}
	v.LiftDeadlines() // the endpoint may take longer than the server's write timeout
	result, err := c.app.TestSubscription(v.r.Context(), v.caller, s.ID, v.Outside)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "webhook-test", testPage{s, viewAttempt(result.Attempt, result.Attempt.Duration)})
}

// rotateSecret answers POST /w/{workspace}/webhooks/{id}/rotate: it makes a new secret and shows
// it, once.
func (c *Console) rotateSecret(v *visit) error {
	s, err := find(v, "webhook", c.app.Subscription)
	if err != nil {
		return err
	}
	grace := sheaf.DefaultGrace
	if v.field("at-once") != "" {
		grace = 0
	}
	rotated, err := c.app.RotateSecret(v.r.Context(), v.caller, s.ID, grace)
	if err != nil {
		return v.again("webhook-rotate", s, err)
	}
	return v.showSecret(rotated, true)
}

// switchWebhook returns the handler of POST /w/{workspace}/webhooks/{id}/pause or …/reactivate: it
// makes the webhook inactive, or active. If the form asks for it, held deliveries are sent too.
func switchWebhook(form string, active bool) func(*visit) error {
	return func(v *visit) error {
		s, err := v.undeliveredWebhook()
		if err != nil {
			return err
		}
		if active && v.field("held") != "" {
			_, err = v.console.app.Reactivate(v.r.Context(), v.caller, s.ID)
		} else {
			change := sheaf.SubscriptionChange{Active: sheaf.Some(active)}
			_, err = v.console.app.UpdateSubscription(v.r.Context(), v.caller, s.ID, change, sheaf.Match{})
		}
		if err != nil {
			return v.again(form, s, err)
		}
		return v.done(v.at("webhooks", string(s.ID)))
	}
}

// recoverWebhook answers POST /w/{workspace}/webhooks/{id}/recover: it sends the deliveries that an
// active webhook still holds, because it was reactivated without them.
func (c *Console) recoverWebhook(v *visit) error {
	s, err := find(v, "webhook", c.app.Subscription)
	if err != nil {
		return err
	}
	if _, err := c.app.RecoverHeld(v.r.Context(), v.caller, s.ID); err != nil {
		return err
	}
	return v.done(v.at("webhooks", string(s.ID)))
}

// resend answers POST /w/{workspace}/webhooks/{id}/resend: it sends the deliveries again that
// failed since the time in the form.
func (c *Console) resend(v *visit) error {
	s, err := find(v, "webhook", c.app.Subscription)
	if err != nil {
		return err
	}
	since, err := time.Parse(sheaf.TimeFormat, v.field("since"))
	if err != nil {
		return errForm
	}
	if _, err := c.app.RecoverDeliveries(v.r.Context(), v.caller, s.ID, since); err != nil {
		return err
	}
	return v.done(v.at("webhooks", string(s.ID)))
}

// deleteWebhook answers POST /w/{workspace}/webhooks/{id}/delete: it deletes a webhook.
func (c *Console) deleteWebhook(v *visit) error {
	s, err := find(v, "webhook", c.app.Subscription)
	if err != nil {
		return err
	}
	if err := c.app.DeleteSubscription(v.r.Context(), v.caller, s.ID, sheaf.Match{}); err != nil {
		return v.again("webhook-delete", s, err)
	}
	return v.done(v.at("webhooks"))
}

// undelivered is a webhook with the number of its failed and held deliveries.
type undelivered struct {
	sheaf.Subscription
	app.Failing
}

// Undelivered returns the number of deliveries that failed since the webhook began to fail, or are
// held.
func (s undelivered) Undelivered() int64 { return s.Failed + s.HeldCount }

// undeliveredWebhook finds the webhook in the path and counts its failed deliveries.
func (v *visit) undeliveredWebhook() (out undelivered, err error) {
	if out.Subscription, err = find(v, "webhook", v.console.app.Subscription); err != nil {
		return out, err
	}
	out.Failing, err = v.console.app.Failing(v.r.Context(), v.caller, out.ID)
	return out, err
}

// webhookDetail is the data of webhook.html.
type webhookDetail struct {
	undelivered
	Deliveries []deliveryRow
	Total      int64
	State      sheaf.DeliveryState // the filter of the log; empty for all
	More       string
}

// States returns the states to filter by.
func (webhookDetail) States() []sheaf.DeliveryState { return sheaf.DeliveryStates }

// Receives describes what the webhook gets events of: everything, or for example 1 project, 2 folders
// and 1 record. It names the restriction of the key that created the webhook.
func (d webhookDetail) Receives() string {
	within := ""
	if d.Restriction != nil {
		within = d.Restriction.Phrase() + ", as the restricted key that created it"
	}
	if d.Filter == nil {
		return cmp.Or(within, "everything in the workspace")
	}
	var parts []string
	for _, part := range []struct {
		n    int
		noun string
	}{{len(d.Filter.Projects), "project"}, {len(d.Filter.Folders), "folder"}, {len(d.Filter.Resources), "record"}} {
		if part.n > 0 {
			parts = append(parts, many(part.n, part.noun))
		}
	}
	if within != "" {
		within = ", within " + within
	}
	return listed(parts) + " alone" + within
}

// deliveryRow is a delivery with the name of its event's record.
type deliveryRow struct {
	sheaf.Delivery
	What string // the name or title; empty if the event is no longer kept, or has none
}

// webhook answers GET /w/{workspace}/webhooks/{id}: a webhook and the log of its deliveries.
func (c *Console) webhook(v *visit) error {
	s, err := v.undeliveredWebhook()
	if err != nil {
		return err
	}
	d := webhookDetail{undelivered: s}
	if state := sheaf.DeliveryState(v.r.URL.Query().Get("state")); slices.Contains(sheaf.DeliveryStates, state) {
		d.State = state
	}
	offset := v.offset("from")
	page, err := c.app.Deliveries(v.r.Context(), v.caller, s.ID, d.State,
		sheaf.Paging{Limit: sheaf.DefaultLimit, Offset: offset, Desc: true})
	if err != nil {
		return err
	}
	d.Total = page.Total
	ids := make([]sheaf.EventID, len(page.Items))
	for i, d := range page.Items {
		ids[i] = d.EventID
	}
	events, err := c.app.EventsByID(v.r.Context(), v.caller, ids)
	if err != nil {
		return err
	}
	for _, delivery := range page.Items {
		d.Deliveries = append(d.Deliveries, deliveryRow{delivery, readEntry(events[delivery.EventID], nil).What})
	}
	if d.More = v.more(page.More(), offset+sheaf.DefaultLimit); d.More != "" {
		d.More += "&state=" + string(d.State)
	}
	return v.show(http.StatusOK, "webhook", d)
}
