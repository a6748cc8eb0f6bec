package cli

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
)

type keysCommands struct {
	List   keysList   `cmd:"" help:"List the live API keys."`
	Create keysCreate `cmd:"" help:"Make an API key. It is shown only now."`
	Rotate keysRotate `cmd:"" help:"Give an API key a new secret; the old one works too for a while."`
	Revoke keysRevoke `cmd:"" help:"Revoke an API key."`
}

type keysList struct {
	apiCommand
	pages
}

func (c *keysList) Run(ctx context.Context, p *Program) error {
	return askAll(&c.apiCommand, ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Key, error] {
		return api.Keys.All(ctx, c.paging())
	}, "ID\tPREFIX\tOWNER\tEXPIRES\tLAST USED\tNAME\tSCOPES", func(v client.Key) []any {
		return []any{v.ID, v.Prefix, v.Owner, Moment(v.ExpiresAt), Moment(v.LastUsedAt), v.Name, strings.Join(v.Scopes, ",")}
	})
}

type keysCreate struct {
	apiCommand
	Name    string        `arg:"" help:"Name, 1 to 100 characters."`
	Scopes  []string      `required:"" placeholder:"all|a,b,c" complete:"scopes" help:"all, or some of the scopes of the key at hand: ${scopes}. events:read and webhooks:write expose all of a workspace's content."`
	Expires time.Duration `placeholder:"24h" help:"How long the key is valid; by default without end."`
}

func (c *keysCreate) Run(ctx context.Context, p *Program) error {
	in := client.NewKey{Name: c.Name, Scopes: c.Scopes}
	if slices.Equal(c.Scopes, []string{"all"}) {
		in.Scopes = sheaf.AllScopes.Strings()
	}
	if c.Expires != 0 {
		at := p.Now().Add(c.Expires)
		in.ExpiresAt = &at
	}
	return ask(&c.apiCommand, ctx, p, func(ctx context.Context, api *client.Client) (client.Key, error) {
		return api.Keys.Create(ctx, in)
	}, keyText)
}

// keyText describes a key, with its secret, which is shown once.
func keyText(v client.Key) string {
	text := facts("id", v.ID, "name", v.Name, "prefix", v.Prefix, "owner", v.Owner, "scopes", strings.Join(v.Scopes, " "), "expires", Moment(v.ExpiresAt))
	if v.Secret == nil {
		return text + "\nThe answer with the key was lost: make a new secret with sheaf keys rotate " + v.ID + "\n"
	}
	return text + "\n" + *v.Secret + "\n\nThis is the key. It is shown only now.\n"
}

// keyArg is a command on one key.
type keyArg struct {
	apiCommand
	ID string `arg:"" complete:"keys" help:"Id or name of the key."`
}

type keysRotate struct {
	keyArg
	Grace time.Duration `default:"0s" placeholder:"1h" help:"How long the old secret works too, at most 24h; by default it ends at once."`
}

func (c *keysRotate) Run(ctx context.Context, p *Program) error {
	return ask(c.on(keys, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Key, error) {
		return api.Keys.Rotate(ctx, c.ID, c.Grace)
	}, keyText)
}

type keysRevoke struct{ keyArg }

func (c *keysRevoke) Run(ctx context.Context, p *Program) error {
	return c.on(keys, &c.ID).deleteRecord(ctx, p, "key", &c.ID, func(ctx context.Context, api *client.Client) error { return api.Keys.Revoke(ctx, c.ID) })
}
