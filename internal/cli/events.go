package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
)

type eventsCommands struct {
	List    eventsList    `cmd:"" help:"List the newest events."`
	Tail    eventsTail    `cmd:"" help:"Show events as they happen, until interrupted."`
	Get     eventsGet     `cmd:"" help:"Show an event."`
	Fates   eventsFates   `cmd:"" help:"Show the deliveries of an event, one per webhook."`
	Publish eventsPublish `cmd:"" help:"Report an event of another part: media.*, generation.* or share.*."`
}

// eventFlags filter the log and the stream.
type eventFlags struct {
	Type     string `placeholder:"TYPE" complete:"events" help:"Only events of this type, such as project.created."`
	Resource string `placeholder:"ID" help:"Only events about this project, folder or document."`
	Since    string `placeholder:"TIME|2h" help:"Only events since this time, or since this long ago."`
	After    string `placeholder:"EVENT" help:"Only events after this one."`
}

func (f eventFlags) filter(p *Program) (client.EventFilter, error) {
	since, err := p.moment("--since", f.Since)
	return client.EventFilter{Type: f.Type, ResourceID: f.Resource, Since: since, After: f.After}, err
}

type eventsList struct {
	apiCommand
	eventFlags
	Limit       int  `default:"50" placeholder:"N" help:"Show at most N; 0 is all of them."`
	OldestFirst bool `help:"Begin with the oldest, as --after does."`
	Desc        bool `hidden:"" help:"Newest first, which is the default."`
}

// Run shows the newest events first, unless --after or --oldest-first asks for the other order.
func (c *eventsList) Run(ctx context.Context, p *Program) error {
	f, err := c.filter(p)
	if err != nil {
		return err
	}
	f.Paging = pages{Limit: c.Limit, Desc: !c.OldestFirst && c.After == "" || c.Desc}.paging()
	return askAll(&c.apiCommand, ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Event, error] {
		return api.Events.All(ctx, f)
	}, "TIME\tTYPE\tID\tRESOURCE\tWHAT", func(v client.Event) []any {
		return []any{stamp(v.Timestamp), v.Type, v.ID, v.ResourceID, eventName(v)}
	})
}

// eventName returns the name or title of the event's record; empty if it has none.
func eventName(e client.Event) string {
	var payload struct{ Name, Title string }
	if json.Unmarshal(e.Payload, &payload) != nil {
		return ""
	}
	return payload.Name + payload.Title
}

// eventLine returns an event as a line of text.
func eventLine(e client.Event) string {
	line := fmt.Sprintf("%s  %-20s  %s", stamp(e.Timestamp), OneLine(e.Type), OneLine(e.ID))
	if name := eventName(e); name != "" {
		line += fmt.Sprintf("  %q", sheaf.Clip(name))
	}
	return line
}

type eventsTail struct {
	apiCommand
	eventFlags
}

// Run prints events until it is interrupted, which is no error.
func (c *eventsTail) Run(ctx context.Context, p *Program) error {
	f, err := c.filter(p)
	if err != nil {
		return err
	}
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	return c.call(ctx, p, func(ctx context.Context, api *client.Client) error {
		for e, err := range api.Events.Stream(ctx, f) {
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			if err := c.one(p, e.Raw(), func() string { return eventLine(e) + "\n" }); err != nil {
				return err
			}
		}
		return nil
	})
}

// untilInterrupted returns a context that ends at the first signal. A second signal ends the
// process.
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

type eventsGet struct {
	apiCommand
	ID string `arg:"" help:"Id of the event."`
}

func (c *eventsGet) Run(ctx context.Context, p *Program) error {
	return ask(&c.apiCommand, ctx, p, func(ctx context.Context, api *client.Client) (client.Event, error) {
		return api.Events.Get(ctx, c.ID)
	}, eventText)
}

func eventText(e client.Event) string {
	return facts("id", e.ID, "type", e.Type, "time", stamp(e.Timestamp), "resource", e.ResourceType+" "+e.ResourceID, "user", e.UserID,
		"workspace", or(e.WorkspaceID, "personal"), "payload", string(e.Payload))
}

type eventsFates struct {
	apiCommand
	ID string `arg:"" help:"Id of the event."`
}

func (c *eventsFates) Run(ctx context.Context, p *Program) error {
	return askAll(&c.apiCommand, ctx, p, 0, func(ctx context.Context, api *client.Client) iter.Seq2[client.Fate, error] {
		return api.Events.AllFates(ctx, c.ID, client.Paging{})
	}, "SUBSCRIPTION\tSTATE\tDELIVERY\tNAME\tREASON", func(v client.Fate) []any {
		state, id := "-", "-"
		if v.Delivery != nil {
			state, id = v.Delivery.State, v.Delivery.ID
		}
		return []any{v.SubscriptionID, state, id, v.SubscriptionName, v.Reason}
	})
}

type eventsPublish struct {
	apiCommand
	Type     string `arg:"" help:"media.*, generation.* or share.*."`
	Resource string `arg:"" help:"Id (a UUID) of the event's resource."`
	Payload  string `default:"{}" placeholder:"JSON|@FILE|-" help:"An object; @FILE reads a file, - standard input."`
	User     string `placeholder:"ID" help:"The user who did it; by default the key's user."`
}

func (c *eventsPublish) Run(ctx context.Context, p *Program) error {
	payload, err := p.readArgument(c.Payload)
	if err != nil {
		return err
	}
	if !json.Valid(payload) {
		return sheaf.Invalidf("--payload is not JSON: give an object such as {}, or @FILE, or - for standard input")
	}
	return ask(&c.apiCommand, ctx, p, func(ctx context.Context, api *client.Client) (client.Event, error) {
		return api.Events.Publish(ctx, client.NewEvent{Type: c.Type, ResourceID: c.Resource, Payload: payload, UserID: c.User})
	}, eventText)
}

// readArgument returns the argument itself, or for @FILE the content of the file, and for - that of
// standard input.
func (p *Program) readArgument(s string) ([]byte, error) {
	if s == "-" {
		return io.ReadAll(io.LimitReader(p.Stdin, 10<<20))
	}
	if path, ok := strings.CutPrefix(s, "@"); ok {
		return os.ReadFile(path)
	}
	return []byte(s), nil
}
