package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// webhookPage bounds how many webhooks are shown: no plan has as many.
const webhookPage = 100

type webhooksPage struct {
	Webhooks []sheaf.Subscription
	Most     int // that the plan allows
}

// Left is how many more webhooks the plan allows.
func (p webhooksPage) Left() int { return max(p.Most-len(p.Webhooks), 0) }

// webhooks lists the subscriptions with their health.
func (c *Console) webhooks(v *visit) error {
	page, err := c.app.Subscriptions(v.r.Context(), v.caller, sheaf.Paging{Limit: webhookPage})
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "webhooks", webhooksPage{page.Items, v.member.Workspace.Plan.MaxSubscriptions()})
}

// health says in a word or two how a webhook does, and in which colour.
type health struct{ Tone, Text string }

// healthOf says in a word how a webhook does.
func healthOf(s sheaf.Subscription) health {
	switch {
	case s.Active && s.FailureCount > 0:
		return health{"warn", fmt.Sprintf("failing %d of %d", s.FailureCount, sheaf.MaxFailures)}
	case s.Active:
		return health{"good", "active"}
	case s.DeactivationReason != nil && *s.DeactivationReason == sheaf.ByFailures:
		return health{"bad", "deactivated"}
	}
	return health{"", "paused"}
}

// eventGroup is the types of one noun, for the picker.
type eventGroup struct {
	Noun  string
	Types []eventChoice
}

type eventChoice struct {
	Type    sheaf.EventType
	Checked bool
}

// Title is what the group is called to a reader.
func (g eventGroup) Title() string {
	if g.Noun == sheaf.SubscriptionFailing.Resource() {
		return "webhook"
	}
	return g.Noun
}

// eventGroups are the types of events by their nouns, with those ticked that were chosen.
func eventGroups(chosen []string) []eventGroup {
	var out []eventGroup
	for _, t := range sheaf.EventTypes {
		if t == sheaf.WebhookTest {
			continue // it goes to whoever asks for a test
		}
		if noun := t.Resource(); len(out) == 0 || out[len(out)-1].Noun != noun {
			out = append(out, eventGroup{Noun: noun})
		}
		g := &out[len(out)-1]
		g.Types = append(g.Types, eventChoice{t, slices.Contains(chosen, string(t))})
	}
	return out
}

// webhookForm is for a new webhook, or a change of one.
type webhookForm struct {
	ID     sheaf.SubscriptionID // empty: a new one
	Name   string
	URL    string
	Groups []eventGroup
	// HeaderNames are those it has: their values are never shown again.
	HeaderNames []string
	Headers     string // to replace them, "Name: value" a line
	Replace     bool
	basis
}

// fields are those of the form that change the webhook. Of headers the names alone are told; to replace
// them is a change of its own.
func (f webhookForm) fields() []field {
	headers := field{Name: "headers", Label: "Headers", Value: strings.Join(f.HeaderNames, ", ")}
	if f.Replace {
		headers.Value = "replace"
		headers.Shown = "those in the form"
	}
	return []field{{Name: "name", Label: "Name", Value: f.Name}, {Name: "url", Label: "Address", Value: f.URL},
		{Name: "event", Label: "It hears of", Value: strings.Join(f.chosen(), " "), Shown: strings.Join(f.chosen(), ", ")}, headers}
}

// chosen are the types of events that are ticked.
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

// formOfWebhook is the form of a webhook as it is stored.
func formOfWebhook(s sheaf.Subscription) webhookForm {
	var chosen []string
	for _, t := range s.Events {
		chosen = append(chosen, string(t))
	}
	f := webhookForm{ID: s.ID, Name: s.Name, URL: s.URL, Groups: eventGroups(chosen), HeaderNames: s.HeaderNames}
	f.basis = basisOf(s.Revision, f.fields())
	return f
}

func (c *Console) newWebhook(v *visit) error {
	return v.show(http.StatusOK, "webhook-form", webhookForm{Replace: true,
		Groups: eventGroups([]string{string(sheaf.DocumentCreated), string(sheaf.DocumentUpdated), string(sheaf.DocumentDeleted)})})
}

// webhookForm reads the form, and the change that it asks for.
func (v *visit) webhookForm() (webhookForm, sheaf.SubscriptionChange) {
	chosen := v.r.PostForm["event"]
	if v.field("keep-event") == "saved" {
		chosen = strings.Fields(v.field("was-event"))
	}
	f := webhookForm{Name: v.typed("name"), URL: strings.TrimSpace(v.typed("url")), Groups: eventGroups(chosen),
		Headers: v.field("headers"), Replace: v.field("replace") != "" && v.field("keep-headers") != "saved"}
	change := sheaf.SubscriptionChange{Name: sheaf.Some(f.Name), URL: sheaf.Some(f.URL), Events: sheaf.Some(chosen)}
	if f.Replace {
		change.Headers = sheaf.Some(readHeaders(f.Headers))
	}
	return f, change
}

// readHeaders reads a header a line. A line without a colon is a name without a value, which the
// rules refuse with a sentence.
func readHeaders(lines string) []sheaf.Header {
	var out []sheaf.Header
	for line := range strings.SplitSeq(lines, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			name, value, _ := strings.Cut(line, ":")
			out = append(out, sheaf.Header{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
		}
	}
	return out
}

// secretPage shows a secret, this once, and how to verify with it.
type secretPage struct {
	sheaf.Subscription
	Secret   string
	Header   string // that carries the signature
	Snippets []snippet
	Rotated  bool
}

func (v *visit) showSecret(s sheaf.NewSubscription, rotated bool) error {
	header := v.console.app.SignatureHeader()
	return v.show(http.StatusOK, "webhook-secret", secretPage{s.Subscription, *s.Secret, header, snippets(header), rotated})
}

// createWebhook answers POST /w/{workspace}/webhooks: it makes a webhook.
func (c *Console) createWebhook(v *visit) error {
	form, change := v.webhookForm()
	s, err := c.app.CreateSubscription(v.r.Context(), v.caller, change)
	if err != nil {
		return v.again("webhook-form", form, err)
	}
	return v.showSecret(s, false)
}

// webhookOf finds the webhook in the path, or NotFound.
func (v *visit) webhookOf() (sheaf.Subscription, error) {
	id, err := id[sheaf.SubscriptionID](v, "webhook")
	if err != nil {
		return sheaf.Subscription{}, err
	}
	return v.console.app.Subscription(v.r.Context(), v.caller, id)
}

// onWebhook returns a handler that shows a template about the webhook.
func (c *Console) onWebhook(template string) func(*visit) error {
	return func(v *visit) error {
		s, err := v.webhookOf()
		if err != nil {
			return err
		}
		return v.show(http.StatusOK, template, s)
	}
}

// editWebhook answers GET /w/{workspace}/webhooks/{id}/edit: it shows the form of a webhook.
func (c *Console) editWebhook(v *visit) error {
	s, err := v.webhookOf()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "webhook-form", formOfWebhook(s))
}

// updateWebhook answers POST /w/{workspace}/webhooks/{id}: it changes a webhook.
func (c *Console) updateWebhook(v *visit) error {
	s, err := v.webhookOf()
	if err != nil {
		return err
	}
	form, change := v.webhookForm()
	form.ID, form.HeaderNames = s.ID, s.HeaderNames
	form.basis = v.basis(form.fields())
	err = v.saveOver(&form.basis, form.fields(), func(m sheaf.Match) error {
		_, err := c.app.UpdateSubscription(v.r.Context(), v.caller, s.ID, change, m)
		return err
	}, func() (present, error) {
		s, err := c.app.Subscription(v.r.Context(), v.caller, s.ID)
		return present{"", s.Revision, formOfWebhook(s).fields()}, err
	})
	if err != nil {
		return v.again("webhook-form", form, err)
	}
	return v.done(v.at("webhooks", string(s.ID)))
}

// stopped is a webhook with what it did not deliver.
type stopped struct {
	sheaf.Subscription
	app.Failing
}

// Stopped is how many deliveries failed since it began to fail, or are held.
func (s stopped) Stopped() int64 { return s.Failed + s.HeldCount }

// reactivateForm answers GET /w/{workspace}/webhooks/{id}/reactivate: it asks whether to send what was
// not delivered, too.
func (c *Console) reactivateForm(v *visit) error {
	s, err := v.stoppedWebhook()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "webhook-reactivate", s)
}

// stoppedWebhook finds the webhook in the path, and what it did not deliver.
func (v *visit) stoppedWebhook() (out stopped, err error) {
	if out.Subscription, err = v.webhookOf(); err != nil {
		return out, err
	}
	out.Failing, err = v.console.app.Failing(v.r.Context(), v.caller, out.ID)
	return out, err
}

type testPage struct {
	sheaf.Subscription
	Attempt attemptView
}

// testWebhook sends a test now and shows the answer.
func (c *Console) testWebhook(v *visit) error {
	s, err := v.webhookOf()
	if err != nil {
		return err
	}
	v.TakeTime() // the endpoint may have longer than the server gives a request
	result, err := c.app.TestSubscription(v.r.Context(), v.caller, s.ID, v.Outside)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "webhook-test", testPage{s, viewAttempt(result.Attempt, result.Attempt.Duration)})
}

// rotateSecret answers POST /w/{workspace}/webhooks/{id}/rotate: it makes a new secret and shows
// it, this once.
func (c *Console) rotateSecret(v *visit) error {
	s, err := v.webhookOf()
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

func (c *Console) pauseWebhook(v *visit) error { return v.switchWebhook("webhook-pause", false) }

// reactivateWebhook turns it active and, where asked to, sends what was held.
func (c *Console) reactivateWebhook(v *visit) error {
	return v.switchWebhook("webhook-reactivate", true)
}

// switchWebhook turns a webhook on or off, or shows the form again.
func (v *visit) switchWebhook(form string, active bool) error {
	s, err := v.stoppedWebhook()
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

// recoverWebhook sends what an active webhook still holds: it was reactivated without.
func (c *Console) recoverWebhook(v *visit) error {
	s, err := v.webhookOf()
	if err != nil {
		return err
	}
	if _, err := c.app.RecoverHeld(v.r.Context(), v.caller, s.ID); err != nil {
		return err
	}
	return v.done(v.at("webhooks", string(s.ID)))
}

// resend answers POST /w/{workspace}/webhooks/{id}/resend: it sends again what failed since the time that
// the form names.
func (c *Console) resend(v *visit) error {
	s, err := v.webhookOf()
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
	s, err := v.webhookOf()
	if err != nil {
		return err
	}
	if err := c.app.DeleteSubscription(v.r.Context(), v.caller, s.ID, sheaf.Match{}); err != nil {
		return v.again("webhook-delete", s, err)
	}
	return v.done(v.at("webhooks"))
}
