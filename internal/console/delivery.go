package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
)

// webhookDetail is the data of webhook.html.
type webhookDetail struct {
	stopped
	Deliveries []deliveryRow
	Total      int64
	State      sheaf.DeliveryState // that the log is filtered by; empty for every one
	More       string
}

// States lists the filters of the log.
func (webhookDetail) States() []sheaf.DeliveryState { return sheaf.DeliveryStates }

// Hears says of what the webhook gets events: of everything, or of 1 project, 2 folders and 1 record alone.
func (d webhookDetail) Hears() string {
	if d.Filter == nil {
		return "everything in the workspace"
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
	return listed(parts) + " alone"
}

// webhook shows one with the log of its deliveries.
func (c *Console) webhook(v *visit) error {
	s, err := v.stoppedWebhook()
	if err != nil {
		return err
	}
	d := webhookDetail{stopped: s}
	if state := sheaf.DeliveryState(v.r.URL.Query().Get("state")); slices.Contains(sheaf.DeliveryStates, state) {
		d.State = state
	}
	offset := v.offset()
	page, err := c.app.Deliveries(v.r.Context(), v.caller, s.ID, d.State,
		sheaf.Paging{Limit: sheaf.DefaultLimit, Offset: offset, Desc: true})
	if err != nil {
		return err
	}
	d.Total = page.Total
	if d.Deliveries, err = v.deliveryRows(page.Items); err != nil {
		return err
	}
	if d.More = v.more(page.More(), offset+sheaf.DefaultLimit); d.More != "" {
		d.More += "&state=" + string(d.State)
	}
	return v.show(http.StatusOK, "webhook", d)
}

// deliveryRow is a delivery with what its event is about.
type deliveryRow struct {
	sheaf.Delivery
	What string // the name or title; empty where the event is no longer kept, or has none
}

// deliveryRows names what the deliveries are about.
func (v *visit) deliveryRows(all []sheaf.Delivery) ([]deliveryRow, error) {
	ids := make([]sheaf.EventID, len(all))
	for i, d := range all {
		ids[i] = d.EventID
	}
	events, err := v.console.app.EventsByID(v.r.Context(), v.caller, ids)
	out := make([]deliveryRow, len(all))
	for i, d := range all {
		out[i] = deliveryRow{d, readEntry(events[d.EventID], nil).What}
	}
	return out, err
}

// attemptView is an attempt with its phases as a bar.
type attemptView struct {
	sheaf.Attempt
	Phases []phase
	Body   string // of the answer
}

// OK is for templates, which get a value.
func (a attemptView) OK() bool { return a.Attempt.OK() }

// phase is a part of the bar, in thousandths of the longest attempt.
type phase struct {
	Name  string
	Class string
	From  int64
	Width int64
	Took  string
}

// viewAttempt draws an attempt on a scale as long as the longest.
func viewAttempt(a sheaf.Attempt, longest time.Duration) attemptView {
	out := attemptView{Attempt: a, Body: pretty([]byte(a.ResponseBody))}
	at := int64(0)
	for _, p := range []struct {
		name, class string
		took        time.Duration
	}{
		{"name", "dns", a.Timings.DNS}, {"connection", "connect", a.Timings.Connect}, {"TLS", "tls", a.Timings.TLS},
		{"waiting", "wait", a.Timings.FirstByte}, {"answer", "body", a.Timings.Body},
	} {
		if p.took <= 0 {
			continue
		}
		width := max(int64(p.took)*1000/max(int64(longest), 1), 3)
		out.Phases = append(out.Phases, phase{p.name, p.class, at, width, millis(p.took)})
		at += width
	}
	return out
}

// toneOf is the colour of a delivery's state.
func toneOf(s sheaf.DeliveryState) string {
	switch s {
	case sheaf.Delivered:
		return "good"
	case sheaf.Failed:
		return "bad"
	case sheaf.Held:
		return "warn"
	}
	return ""
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

// deliveryPage is the data of delivery.html.
type deliveryPage struct {
	sheaf.Delivery
	Webhook  sheaf.Subscription
	Attempts []attemptView
	Headers  []sheaf.Header // of the request, with what is secret masked
	Body     string         // of the request; empty when the event is no longer kept
	What     string         // that the event is about
	Longest  string
}

// delivery shows one with its attempts: what was sent, and what came back.
func (c *Console) delivery(v *visit) error {
	id, err := id[sheaf.DeliveryID](v, "delivery")
	if err != nil {
		return err
	}
	d, err := c.app.Delivery(v.r.Context(), v.caller, id)
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
	out.Headers = v.maskedHeaders(&out)
	e, err := c.app.Event(v.r.Context(), v.caller, d.EventID)
	if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
		return err
	}
	out.Body, out.What = pretty(e.Body), readEntry(e, nil).What
	return v.show(http.StatusOK, "delivery", out)
}

const masked = "••••••••"

// maskedHeaders are those of the request. Signatures and the values of custom headers are secrets,
// and stay so.
func (v *visit) maskedHeaders(d *deliveryPage) []sheaf.Header {
	out := []sheaf.Header{
		{Name: "Content-Type", Value: "application/json"},
		{Name: v.console.app.SignatureHeader(), Value: "t=…,v1=" + masked},
		{Name: "webhook-id", Value: string(d.EventID)},
		{Name: "webhook-timestamp", Value: "…"},
		{Name: "webhook-signature", Value: "v1," + masked},
	}
	for _, name := range d.Webhook.HeaderNames {
		out = append(out, sheaf.Header{Name: name, Value: masked})
	}
	return out
}

// pretty indents JSON, and leaves anything else as it is; also what would become much longer: never
// more than four times as long and 4 KB.
func pretty(b []byte) string {
	var out bytes.Buffer
	if !indents(b) || json.Indent(&out, b, "", "  ") != nil {
		return string(b)
	}
	return out.String()
}

// maxIndent is how deep JSON may be nested to be indented: as deep as the API takes it.
const maxIndent = 32

// indents reports whether JSON may be indented. Whoever nests it decides the length, which grows
// with the square of the depth: 16 KB of brackets are 134 MB.
func indents(b []byte) bool {
	depth, size, quoted := 0, len(b), false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			size += 1 + 2*depth
		case c == ']' || c == '}':
			depth--
			size += 1 + 2*max(depth, 0)
		case c == ',':
			size += 1 + 2*max(depth, 0)
		case c == ':':
			size++
		}
		if depth > maxIndent || size > 4*len(b)+4<<10 {
			return false
		}
	}
	return true
}

func lower(s string) string { return strings.ToLower(s) }

// redeliver asks for one more attempt.
func (c *Console) redeliver(v *visit) error {
	id, err := id[sheaf.DeliveryID](v, "delivery")
	if err != nil {
		return err
	}
	d, err := c.app.Redeliver(v.r.Context(), v.caller, id)
	if err != nil {
		return err
	}
	if v.field("back") == "log" { // of its webhook, where it was asked for
		return v.done(v.at("webhooks", string(d.SubscriptionID)) + "#log")
	}
	return v.done(v.at("deliveries", string(id)))
}
