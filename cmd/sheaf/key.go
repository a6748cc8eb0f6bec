package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/sheaf"
)

// keyCreate is sheaf key create.
type keyCreate struct {
	storeFlags
	cli.Output
	workspaceFlag
	Name    string `required:"" placeholder:"NAME" help:"Name of the key, 1 to 100 characters. It belongs to the workspace's owner."`
	Scopes  string `required:"" placeholder:"all|a,b,c" complete:"scopes" list:"" help:"all, or some of: ${scopes}. events:read and webhooks:write expose all of a workspace's content."`
	Expires string `placeholder:"24h" help:"How long the key is valid; by default without end."`
}

// Run creates the key and shows it, once.
func (c *keyCreate) Run(ctx context.Context, p *program) (err error) {
	in := app.NewKey{Name: c.Name, Scopes: sheaf.AllScopes}
	if c.Scopes != "all" {
		names := strings.Split(c.Scopes, ",")
		for i := range names {
			names[i] = strings.TrimSpace(names[i])
		}
		if in.Scopes, err = sheaf.ParseScopes(names); err != nil {
			return err
		}
	}
	if c.Expires != "" {
		d, err := time.ParseDuration(c.Expires)
		if err != nil || d <= 0 {
			return sheaf.Invalidf("--expires: %q is not a time ahead: write a number and a unit, for example 24h", sheaf.Clip(c.Expires))
		}
		at := p.Now().Add(d).UTC().Truncate(time.Millisecond)
		in.ExpiresAt = &at
	}
	return c.operate(ctx, p, true, func(op app.Operator) error {
		id, err := c.find(ctx, op)
		if err != nil {
			return err
		}
		k, err := op.CreateKey(ctx, id, in)
		if err != nil {
			return err
		}
		return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
			o.Text("id", string(k.ID))
			o.OptText("key", k.Secret)
			o.Text("name", k.Name)
			o.Texts("scopes", k.Scopes.Strings())
			o.OptTime("expires_at", k.ExpiresAt)
		}), func() string {
			return fmt.Sprintf("%s\n\nThis is the key %q, id %s. It is shown only now.\n", *k.Secret, k.Name, k.ID)
		})
	})
}

// keyList is sheaf key list.
type keyList struct {
	storeFlags
	cli.Output
	workspaceFlag
}

func (c *keyList) Run(ctx context.Context, p *program) error {
	return c.operate(ctx, p, false, func(op app.Operator) error {
		id, err := c.find(ctx, op)
		if err != nil {
			return err
		}
		keys, err := op.Keys(ctx, id)
		if err != nil {
			return err
		}
		records := make([]sheaf.Record, len(keys))
		for i := range keys {
			records[i] = &keys[i]
		}
		return c.ShowAll(&p.Program, records, func() string {
			return cli.Table("ID\tPREFIX\tEXPIRES\tLAST USED\tNAME\tSCOPES", func(row func(...any)) {
				for _, k := range keys {
					scopes := "all"
					if len(k.Scopes) < len(sheaf.AllScopes) {
						scopes = strings.Join(k.Scopes.Strings(), ",")
					}
					row(k.ID, k.Prefix, cli.Moment(k.ExpiresAt), cli.Moment(k.LastUsedAt), k.Name, scopes)
				}
			})
		})
	})
}

// keyRevoke is sheaf key revoke.
type keyRevoke struct {
	storeFlags
	cli.Output
	workspaceFlag
	ID string `arg:"" help:"Id of the key, or its name in the workspace."`
}

func (c *keyRevoke) Run(ctx context.Context, p *program) error {
	return c.operate(ctx, p, true, func(op app.Operator) error {
		id, err := c.key(ctx, op)
		if err != nil {
			return err
		}
		k, err := op.RevokeKey(ctx, id)
		if err != nil {
			return err
		}
		return c.Show(&p.Program, &k, func() string { return fmt.Sprintf("revoked %s (%s…, %q)\n", k.ID, k.Prefix, k.Name) })
	})
}

// key returns the id of the argument. If it is no id, it returns that of the workspace's only key
// with that name.
func (c *keyRevoke) key(ctx context.Context, op app.Operator) (sheaf.KeyID, error) {
	if id, ok := sheaf.ParseUUID(c.ID); ok {
		return sheaf.KeyID(id), nil
	}
	workspace, err := c.find(ctx, op)
	if err != nil {
		return "", err
	}
	keys, err := op.Keys(ctx, workspace)
	if err != nil {
		return "", err
	}
	known := make([]cli.Known, len(keys))
	for i, k := range keys {
		known[i] = cli.Known{ID: string(k.ID), Name: k.Name}
	}
	id, err := cli.Choose(known, c.ID, "key", "keys", "key list")
	return sheaf.KeyID(id), err
}
