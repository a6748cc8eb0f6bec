package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sheaf.dev/client"
	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/sheaf"
)

// forwardTimeout bounds one request to the local program. It is longer than a delivery's timeout,
// because the program may be stopped in a debugger.
const forwardTimeout = 60 * time.Second

type listenCommand struct {
	apiFlags
	ForwardTo       string   `required:"" placeholder:"URL" help:"Where to post the events, such as http://localhost:3000/hook."`
	Events          []string `placeholder:"a,b" complete:"events" help:"Only these types; by default all."`
	FromNow         bool     `xor:"begin" help:"Begin with the next event, not where the last run ended."`
	Since           string   `xor:"begin" placeholder:"TIME|2h" help:"Begin with the events since this time, or since this long ago, even if they were forwarded before."`
	CAFile          string   `name:"ca-file" type:"path" placeholder:"FILE" help:"Trust these root certificates (PEM) too, for an https:// address with your own certificate."`
	SignatureHeader string   `default:"X-Service-Signature" placeholder:"NAME" help:"Name of the signature header, as set on the server."`
}

// listener forwards one workspace's events.
type listener struct {
	p        *Program
	api      *client.Client
	http     *http.Client
	signer   deliver.Signer
	to       string
	types    []string
	position *position
	where    string // start of the stream, in words for a person
}

func (c *listenCommand) Run(ctx context.Context, p *Program) error {
	to, err := forwardURL(c.ForwardTo)
	if err != nil {
		return err
	}
	if len(c.Events) > 0 {
		if _, err := sheaf.ParseEventTypes(c.Events); err != nil {
			return err
		}
	}
	since, err := p.moment("--since", c.Since)
	if err != nil {
		return err
	}
	forwarder, err := newForwarder(c.CAFile)
	if err != nil {
		return err
	}
	saved, err := c.login(p)
	if err != nil {
		return err
	}
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	return c.callWith(ctx, p, fewRetries, func(ctx context.Context, api *client.Client) error {
		me, err := api.Me(ctx)
		if err != nil {
			return err
		}
		at, err := p.openPosition(saved.server, me.Workspace.ID)
		if err != nil {
			return err
		}
		defer at.close()
		l := &listener{p: p, api: api, http: forwarder, signer: deliver.Signer{Header: c.SignatureHeader},
			to: to, types: c.Events, position: at}
		if err := l.start(ctx, c.FromNow, since); err != nil {
			return err
		}
		if err := p.Print(fmt.Sprintf("%s on %s to %s, %s\nsigned with %s\n\n", OneLine(me.Workspace.Name), saved.server, l.to, l.where, l.position.Secret)); err != nil {
			return err
		}
		return l.run(ctx)
	})
}

// forwardURL reads an address. http:// may be left out.
func forwardURL(s string) (string, error) {
	if !strings.Contains(s, "://") {
		s = "http://" + strings.TrimPrefix(s, "//")
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", sheaf.Invalidf("--forward-to: %q is not an address such as http://localhost:3000/hook", sheaf.Clip(s))
	}
	if strings.HasPrefix(u.Host, ":") {
		u.Host = "localhost" + u.Host
	}
	return u.String(), nil
}

// start determines the first event to forward, and saves the position at once: if this run ends,
// the next run forwards the events in between.
func (l *listener) start(ctx context.Context, fromNow bool, since time.Time) error {
	if l.position.Secret == "" {
		l.position.Secret = sheaf.NewSigningSecret(l.p.Random)
	}
	if !since.IsZero() {
		l.where = "with the events since " + stamp(since)
		return l.position.moveTo("", since)
	}
	if l.position.known && !fromNow {
		l.where = "from where it ended, " + stamp(l.position.At)
		return l.position.save()
	}
	l.where = "from now on"
	page, err := l.api.Events.List(ctx, client.EventFilter{Paging: client.Paging{Limit: 1, Desc: true}})
	if err != nil {
		return err
	}
	if len(page.Data) == 0 {
		return l.position.moveTo("", time.Unix(0, 0)) // the log is empty, so every event will be new
	}
	return l.position.moveTo(page.Data[0].ID, page.Data[0].Timestamp)
}

// run forwards events until ctx ends, which is no error.
func (l *listener) run(ctx context.Context) error {
	f := client.EventFilter{After: l.position.After}
	if f.After == "" {
		f.Since = l.position.At
	}
	for {
		err := l.follow(ctx, f)
		switch {
		case ctx.Err() != nil:
			return nil
		case !errors.Is(err, client.ErrNotFound):
			return err
		}
		// Forward the events since that time that the server still has.
		f = client.EventFilter{Since: l.position.At}
		fmt.Fprintf(l.p.Stderr, "the server no longer keeps the event where the last run ended: events may be missing; continuing with those since %s\n", stamp(l.position.At))
	}
}

func (l *listener) follow(ctx context.Context, f client.EventFilter) error {
	// All types are read, so that the position also moves past unwanted events.
	for e, err := range l.api.Events.Stream(ctx, f) {
		if err != nil {
			return err
		}
		if len(l.types) == 0 || slices.Contains(l.types, e.Type) {
			result, err := l.forward(ctx, e)
			if err != nil {
				return err
			}
			if err := l.p.Print(eventLine(e) + "  " + result + "\n"); err != nil {
				return err
			}
		}
		if err := l.position.moveTo(e.ID, e.Timestamp); err != nil {
			return err
		}
	}
	return nil
}
