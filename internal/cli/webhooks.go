package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
)

type webhooksCommands struct {
	List         webhooksList         `cmd:"" help:"List the subscriptions."`
	Get          webhooksGet          `cmd:"" help:"Show a subscription."`
	Create       webhooksCreate       `cmd:"" help:"Subscribe an endpoint to events. Its secret is shown only now."`
	Update       webhooksUpdate       `cmd:"" help:"Change a subscription, or make it active again."`
	Delete       webhooksDelete       `cmd:"" help:"Delete a subscription and cancel its deliveries."`
	Test         webhooksTest         `cmd:"" help:"Send one test event and show the answer. Exits with 1 if it was not delivered."`
	RotateSecret webhooksRotateSecret `cmd:"" help:"Make a new secret; the old one signs too for a while."`
	Recover      webhooksRecover      `cmd:"" help:"Send failed and held deliveries again."`
	Deliveries   webhooksDeliveries   `cmd:"" help:"List the deliveries of a subscription."`
	Delivery     webhooksDelivery     `cmd:"" help:"Show a delivery and its attempts."`
	Redeliver    webhooksRedeliver    `cmd:"" help:"Make one more attempt of a delivery."`
}

// subscriptionArg is a command on one subscription.
type subscriptionArg struct {
	apiCommand
	ID string `arg:"" complete:"webhooks" help:"Id or name of the subscription."`
}

type webhooksList struct {
	apiCommand
	pages
}

func (c *webhooksList) Run(ctx context.Context, p *Program) error {
	return askAll(&c.apiCommand, ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Subscription, error] {
		return api.Subscriptions.All(ctx, c.paging())
	}, "ID\tACTIVE\tFAILURES\tHELD\tNAME\tURL", func(v client.Subscription) []any {
		return []any{v.ID, v.Active, v.FailureCount, v.HeldCount, v.Name, v.URL}
	})
}

type webhooksGet struct{ subscriptionArg }

func (c *webhooksGet) Run(ctx context.Context, p *Program) error {
	return ask(c.on(webhooks, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Subscription, error) {
		return api.Subscriptions.Get(ctx, c.ID)
	}, subscriptionText)
}

func subscriptionText(v client.Subscription) string {
	active := "yes"
	if !v.Active {
		active = fmt.Sprintf("no, since %s (%s)", stampOr(v.DeactivatedAt, "?"), or(v.DeactivationReason, "?"))
	}
	return facts("id", v.ID, "name", v.Name, "url", v.URL, "events", strings.Join(v.Events, " "), "active", active,
		"failures", fmt.Sprint(v.FailureCount), "held", fmt.Sprint(v.HeldCount), "headers", strings.Join(v.HeaderNames, " "),
		"filter", filterText(v.Filter),
		"last error", or(v.LastError, ""), "created", stamp(v.CreatedAt), "updated", stamp(v.UpdatedAt))
}

// filterText describes a subscription's filter.
func filterText(f *client.Filter) string {
	if f == nil {
		return ""
	}
	var out []string
	for _, part := range []struct {
		name string
		ids  []string
	}{{"project", f.ProjectIDs}, {"folder", f.FolderIDs}, {"resource", f.ResourceIDs}} {
		for _, id := range part.ids {
			out = append(out, part.name+" "+id)
		}
	}
	return strings.Join(out, ", ")
}

// secretText is subscriptionText with the secret, which is shown once.
func secretText(v client.Subscription) string {
	if v.Secret == nil {
		return subscriptionText(v) + "\nThe answer with the secret was lost: make a new one with sheaf webhooks rotate-secret " + v.ID + "\n"
	}
	return subscriptionText(v) + "\n" + *v.Secret + "\n\nThis is the secret that signs the deliveries. It is shown only now.\n"
}

type webhooksCreate struct {
	apiCommand
	Name   string            `arg:"" help:"Name, 1 to 100 characters."`
	URL    string            `arg:"" help:"Address of the endpoint, https://..."`
	Events []string          `required:"" placeholder:"a,b" complete:"events" help:"Event types, such as project.created,document.updated."`
	Header map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"Send this header with every delivery (repeatable)."`
	filterFlags
}

// filterFlags are the flags of a subscription's filter.
type filterFlags struct {
	InProject []string `placeholder:"ID" help:"Only events of this project and what is in it (repeatable)."`
	InFolder  []string `placeholder:"ID" help:"Only events of this folder and all below it (repeatable)."`
	Of        []string `placeholder:"ID" help:"Only events of this record, its shares and files (repeatable)."`
}

// filter returns the filter of the flags; nil if there are none.
func (f filterFlags) filter() *client.Filter {
	if len(f.InProject)+len(f.InFolder)+len(f.Of) == 0 {
		return nil
	}
	return &client.Filter{ProjectIDs: f.InProject, FolderIDs: f.InFolder, ResourceIDs: f.Of}
}

func (c *webhooksCreate) Run(ctx context.Context, p *Program) error {
	return ask(&c.apiCommand, ctx, p, func(ctx context.Context, api *client.Client) (client.Subscription, error) {
		return api.Subscriptions.Create(ctx, client.NewSubscription{Name: c.Name, URL: c.URL, Events: c.Events, Headers: c.Header, Filter: c.filter()})
	}, secretText)
}

type webhooksUpdate struct {
	subscriptionArg
	Name      *string           `placeholder:"TEXT"`
	URL       *string           `name:"url" placeholder:"URL" help:"A new host drops the headers, unless you give them again."`
	Events    []string          `placeholder:"a,b" complete:"events" help:"Event types, instead of the current ones."`
	Active    *bool             `negatable:"" help:"Make it active again; --no-active makes it inactive."`
	Header    map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"Send this header instead of all others (repeatable)."`
	NoHeaders bool              `name:"clear-headers" help:"Remove all headers."`
	filterFlags
	NoFilter bool `name:"clear-filter" help:"Remove the filter: send all events again."`
}

func (c *webhooksUpdate) Run(ctx context.Context, p *Program) error {
	in := client.SubscriptionChange{Name: changeTo(c.Name), URL: changeTo(c.URL), Active: changeTo(c.Active)}
	if len(c.Events) > 0 {
		in.Events = client.Set(c.Events)
	}
	switch {
	case len(c.Header) > 0:
		in.Headers = client.Set(c.Header)
	case c.NoHeaders:
		in.Headers = client.Null[map[string]string]()
	}
	if f := c.filter(); f != nil {
		in.Filter = client.Set(*f)
	} else if c.NoFilter {
		in.Filter = client.Null[client.Filter]()
	}
	return ask(c.on(webhooks, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Subscription, error) {
		return api.Subscriptions.Update(ctx, c.ID, in)
	}, subscriptionText)
}

type webhooksDelete struct{ subscriptionArg }

func (c *webhooksDelete) Run(ctx context.Context, p *Program) error {
	return c.on(webhooks, &c.ID).deleteRecord(ctx, p, "subscription", &c.ID, func(ctx context.Context, api *client.Client) error { return api.Subscriptions.Delete(ctx, c.ID) })
}

type webhooksTest struct{ subscriptionArg }

// Run prints the endpoint's answer. It fails if the endpoint did not accept the event, so that a
// script stops.
func (c *webhooksTest) Run(ctx context.Context, p *Program) error {
	delivered := false
	err := ask(c.on(webhooks, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.TestResult, error) {
		v, err := api.Subscriptions.Test(ctx, c.ID)
		delivered = v.Delivered
		return v, err
	}, func(v client.TestResult) string {
		return facts("delivered", yesNo(v.Delivered), "status", code(v.StatusCode), "error", or(v.Error, ""), "answer", sheaf.Clip(or(v.ResponseBody, "")),
			"took", fmt.Sprintf("%d ms", v.DurationMS), "event", v.EventID)
	})
	if err == nil && !delivered {
		err = errors.New("the test event was not delivered: repair the endpoint, then test it again")
	}
	return err
}

type webhooksRotateSecret struct {
	subscriptionArg
	Grace time.Duration `default:"24h" placeholder:"24h" help:"How long the old secret signs too, at most 168h."`
}

func (c *webhooksRotateSecret) Run(ctx context.Context, p *Program) error {
	return ask(c.on(webhooks, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Subscription, error) {
		return api.Subscriptions.RotateSecret(ctx, c.ID, c.Grace)
	}, secretText)
}

type webhooksRecover struct {
	subscriptionArg
	Since     string `required:"" placeholder:"TIME|2h" help:"Events since this time, or since this long ago."`
	Until     string `placeholder:"TIME|1h" help:"Only events before this time, or from longer ago than this."`
	Delivered bool   `help:"Also send delivered events, and events that the subscription never got, to fill a new endpoint."`
}

func (c *webhooksRecover) Run(ctx context.Context, p *Program) error {
	since, err := p.moment("--since", c.Since)
	if err != nil {
		return err
	}
	until, err := p.moment("--until", c.Until)
	if err != nil {
		return err
	}
	return ask(c.on(webhooks, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (queued, error) {
		n, err := api.Subscriptions.Backfill(ctx, c.ID, client.Backfill{Since: since, Until: until, Delivered: c.Delivered})
		return queued{n}, err
	}, func(q queued) string { return counted(q.Queued, "event") + " will be sent again\n" })
}

type queued struct {
	Queued int `json:"queued"`
}

type webhooksDeliveries struct {
	subscriptionArg
	pages
	State string `placeholder:"STATE" values:"waiting,sending,delivered,failed,held" help:"waiting, sending, delivered, failed or held."`
}

func (c *webhooksDeliveries) Run(ctx context.Context, p *Program) error {
	return askAll(c.on(webhooks, &c.ID), ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Delivery, error] {
		return api.Deliveries.All(ctx, client.DeliveryFilter{SubscriptionID: c.ID, State: c.State, Paging: c.paging()})
	}, "ID\tCREATED\tSTATE\tATTEMPTS\tSTATUS\tEVENT\tERROR", func(v client.Delivery) []any {
		return []any{v.ID, stamp(v.CreatedAt), v.State, v.AttemptCount, code(v.LastStatusCode), v.EventType, or(v.LastError, "")}
	})
}

// deliveryArg is a command on one delivery.
type deliveryArg struct {
	apiCommand
	ID string `arg:"" help:"Id of the delivery."`
}

type webhooksDelivery struct{ deliveryArg }

func (c *webhooksDelivery) Run(ctx context.Context, p *Program) error {
	return ask(&c.apiCommand, ctx, p, func(ctx context.Context, api *client.Client) (client.Delivery, error) {
		return api.Deliveries.Get(ctx, c.ID)
	}, func(v client.Delivery) string {
		return deliveryText(v) + "\n" + Table("ATTEMPT\tSTARTED\tTOOK\tSTATUS\tERROR\tANSWER", func(row func(...any)) {
			for _, a := range v.Attempts {
				row(a.Number, stamp(a.StartedAt), fmt.Sprintf("%d ms", a.DurationMS), code(a.StatusCode), or(a.Error, ""), sheaf.Clip(a.ResponseBody))
			}
		})
	})
}

func deliveryText(v client.Delivery) string {
	return facts("id", v.ID, "event", v.EventID+" "+v.EventType, "subscription", v.SubscriptionID, "state", v.State,
		"attempts", fmt.Sprint(v.AttemptCount), "next attempt", stampOr(v.NextAttemptAt, ""), "last error", or(v.LastError, ""),
		"created", stamp(v.CreatedAt), "finished", stampOr(v.FinishedAt, ""))
}

type webhooksRedeliver struct{ deliveryArg }

func (c *webhooksRedeliver) Run(ctx context.Context, p *Program) error {
	return ask(&c.apiCommand, ctx, p, func(ctx context.Context, api *client.Client) (client.Delivery, error) {
		return api.Deliveries.Redeliver(ctx, c.ID)
	}, deliveryText)
}
