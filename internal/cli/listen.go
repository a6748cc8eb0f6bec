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
	Events          []string `placeholder:"a,b" complete:"events" help:"Only these types; all without it."`
	FromNow         bool     `xor:"begin" help:"Begin with the next event, not where the last run ended."`
	Since           string   `xor:"begin" placeholder:"TIME|2h" help:"Begin with the events since this time, or since so long ago, again if need be."`
	CAFile          string   `name:"ca-file" type:"path" placeholder:"FILE" help:"Trust these roots (PEM) too, where --forward-to is https:// with a certificate of your own."`
	SignatureHeader string   `default:"X-Service-Signature" placeholder:"NAME" help:"Header of the signature, as the server's."`
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
	where    string // it begins, for a person
}

func (c *listenCommand) Run(ctx context.Context, p *Program) error {
	to, err := forwardURL(c.ForwardTo)
	if err != nil {
		return err
	}
	if err := knownTypes(c.Events); err != nil {
		return err
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
		if err := l.begin(ctx, c.FromNow, since); err != nil {
			return err
		}
		if err := l.greet(saved.server, me); err != nil {
			return err
		}
		return l.run(ctx)
	})
}

// forwardURL reads an address; http:// may be left out.
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

func knownTypes(types []string) error {
	if len(types) == 0 {
		return nil
	}
	_, err := sheaf.ParseEventTypes(types)
	return err
}

// begin settles where to start, and keeps it at once: events that come while nobody listens are
// then forwarded by the next run.
func (l *listener) begin(ctx context.Context, fromNow bool, since time.Time) error {
	if l.position.Secret == "" {
		l.position.Secret = sheaf.NewSigningSecret(l.p.Random)
	}
	if !since.IsZero() {
		l.where = "with the events since " + stamp(since)
		return l.position.reach("", since)
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
		return l.position.reach("", time.Unix(0, 0)) // whatever will be in the log is new
	}
	return l.position.reach(page.Data[0].ID, page.Data[0].Timestamp)
}

func (l *listener) greet(server string, me client.Identity) error {
	return l.p.Print(fmt.Sprintf("%s on %s to %s, %s\nsigned with %s\n\n", OneLine(me.Workspace.Name), server, l.to, l.where, l.position.Secret))
}

// run forwards events until ctx ends, which is how it is meant to end.
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
		// Everything that the server still has since then is forwarded.
		f = client.EventFilter{Since: l.position.At}
		fmt.Fprintf(l.p.Stderr, "the server no longer keeps the event where this ended: events may be missing; going on with those since %s\n", stamp(l.position.At))
	}
}

func (l *listener) follow(ctx context.Context, f client.EventFilter) error {
	// All types are read, so that the position moves on past those that are not wanted.
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
		if err := l.position.reach(e.ID, e.Timestamp); err != nil {
			return err
		}
	}
	return nil
}
