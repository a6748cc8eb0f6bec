package console

import (
	"net/http"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
)

// deliveryPage is the data of delivery.html.
type deliveryPage struct {
	sheaf.Delivery
	Webhook  sheaf.Subscription
	Attempts []attemptView
	Headers  []sheaf.Header // headers of the request; secrets are masked
	Body     string         // body of the request; empty: the event is no longer kept
	What     string         // the name of the event's record
	Longest  string
}

// delivery answers GET /w/{workspace}/deliveries/{id}: the request, and the answers to its
// attempts. Signatures and the values of custom headers are secrets, so they are masked.
func (c *Console) delivery(v *visit) error {
	d, err := find(v, "delivery", c.app.Delivery)
	if err != nil {
		return err
	}
	out := deliveryPage{Delivery: d.Delivery}
	if out.Webhook, err = c.app.Subscription(v.r.Context(), v.caller, d.SubscriptionID); err != nil {
		return err
	}
	longest := time.Duration(0)
	for _, a := range d.Attempts {
		longest = max(longest, a.Duration)
	}
	for _, a := range slices.Backward(d.Attempts) {
		out.Attempts = append(out.Attempts, viewAttempt(a, longest))
	}
	out.Longest = millis(longest)
	out.Headers = []sheaf.Header{
		{Name: "Content-Type", Value: "application/json"},
		{Name: c.app.SignatureHeader(), Value: "t=…,v1=" + masked},
		{Name: "webhook-id", Value: string(d.EventID)},
		{Name: "webhook-timestamp", Value: "…"},
		{Name: "webhook-signature", Value: "v1," + masked},
	}
	for _, name := range out.Webhook.HeaderNames {
		out.Headers = append(out.Headers, sheaf.Header{Name: name, Value: masked})
	}
	e, err := c.app.Event(v.r.Context(), v.caller, d.EventID)
	if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
		return err
	}
	out.Body, out.What = pretty(e.Body), readEntry(e, nil).What
	return v.show(http.StatusOK, "delivery", out)
}

const masked = "••••••••"

// redeliver answers POST /w/{workspace}/deliveries/{id}/redeliver: it makes one more attempt.
func (c *Console) redeliver(v *visit) error {
	id, err := id[sheaf.DeliveryID](v, "delivery")
	if err != nil {
		return err
	}
	d, err := c.app.Redeliver(v.r.Context(), v.caller, id)
	if err != nil {
		return err
	}
	if v.field("back") == "log" { // the button was on the webhook's page
		return v.done(v.at("webhooks", string(d.SubscriptionID)) + "#log")
	}
	return v.done(v.at("deliveries", string(id)))
}
