package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/sheaf"
)

// keyCreate is sheaf key create.
type keyCreate struct {
	storeFlags
	cli.Output
	workspaceFlag
	Name    string   `required:"" placeholder:"NAME" help:"Name of the key, 1 to 100 characters. It acts in the name of the workspace's owner."`
	Scopes  string   `required:"" placeholder:"all|a,b,c" complete:"scopes" list:"" help:"all, or some of: ${scopes}. events:read and webhooks:write expose all of a workspace's content."`
	Project []string `placeholder:"ID|NAME" sep:"none" help:"Restrict the key to this project; repeat for several. The key sees nothing else."`
	Folder  []string `placeholder:"ID|NAME" sep:"none" help:"Restrict the key to this folder and everything below it; repeat for several."`
	Expires string   `placeholder:"24h" help:"How long the key is valid; by default without end."`
	Owner   string   `default:"user" values:"user,workspace" help:"user: it ends when the owner leaves the workspace. workspace: it stays."`
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
	if len(c.Project)+len(c.Folder) > 0 {
		if c.Scopes == "all" {
			in.Scopes = slices.DeleteFunc(slices.Clone(in.Scopes), func(s sheaf.Scope) bool { return !s.Restrictable() })
		}
	}
	if c.Expires != "" {
		d, err := config.ParseDuration(c.Expires)
		if err != nil || d <= 0 {
			return sheaf.Invalidf("--expires: %q is not a duration above zero: write a number and a unit, for example 24h or 30d", sheaf.Clip(c.Expires))
		}
		at := p.Now().Add(d).UTC().Truncate(time.Millisecond)
		in.ExpiresAt = &at
	}
	switch c.Owner {
	case sheaf.OwnerUser:
	case sheaf.OwnerWorkspace:
		in.OfWorkspace = true
	default:
		return sheaf.Invalidf("--owner must be user or workspace, not %q", sheaf.Clip(c.Owner))
	}
	return c.operate(ctx, p, true, func(op app.Operator) error {
		id, err := c.find(ctx, op)
		if err != nil {
			return err
		}
		if in.RestrictTo, err = restrictTo(ctx, op, id, c.Project, c.Folder); err != nil {
			return err
		}
		k, err := op.CreateKey(ctx, id, in)
		if err != nil {
			return err
		}
		return showKey(p, c.Output, k)
	})
}

// showKey prints a key with its secret, which is shown once.
func showKey(p *program, out cli.Output, k sheaf.NewKey) error {
	return out.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("id", string(k.ID))
		o.OptText("key", k.Secret)
		o.Text("name", k.Name)
		o.Texts("scopes", k.Scopes.Strings())
		o.Text("owner", k.Owner())
		if k.RestrictedTo == nil {
			o.Null("restricted_to")
		} else {
			o.Record("restricted_to", k.RestrictedTo)
		}
		o.OptTime("expires_at", k.ExpiresAt)
	}), func() string {
		return fmt.Sprintf("%s\n\nThis is the key %q, id %s. It is shown only now.\n", *k.Secret, k.Name, k.ID)
	})
}

// seen says what a key sees, for a table.
func seen(to *sheaf.Restriction) string {
	if to == nil {
		return "everything"
	}
	return to.Phrase()
}

// restrictTo returns the restriction that --project and --folder name, by ids or by names in the workspace. It
// returns nil without these flags.
func restrictTo(ctx context.Context, op app.Operator, ws sheaf.WorkspaceID, projects, folders []string) (*app.RestrictTo, error) {
	if len(projects)+len(folders) == 0 {
		return nil, nil
	}
	to := &app.RestrictTo{}
	for _, text := range projects {
		id, err := recordNamed(text, "project", func() ([]cli.Known, error) {
			all, err := op.ProjectsNamed(ctx, ws, text)
			return knownOf(all, func(p sheaf.Project) cli.Known { return cli.Known{ID: string(p.ID), Name: p.Name} }), err
		})
		if err != nil {
			return nil, err
		}
		to.Projects = append(to.Projects, sheaf.ProjectID(id))
	}
	for _, text := range folders {
		id, err := recordNamed(text, "folder", func() ([]cli.Known, error) {
			all, err := op.FoldersNamed(ctx, ws, text)
			return knownOf(all, func(f sheaf.Folder) cli.Known { return cli.Known{ID: string(f.ID), Name: f.Name} }), err
		})
		if err != nil {
			return nil, err
		}
		to.Folders = append(to.Folders, sheaf.FolderID(id))
	}
	return to, nil
}

// recordNamed returns the id that the flag --noun gives, or the id of the only record with that name.
func recordNamed(text, noun string, find func() ([]cli.Known, error)) (string, error) {
	if id, ok := sheaf.ParseUUID(text); ok {
		return string(id), nil
	}
	all, err := find()
	if err != nil {
		return "", err
	}
	id, err := cli.Choose(all, text, noun, noun+"s", noun+"s list")
	if err != nil {
		return "", sheaf.Invalidf("--%s: %v", noun, err)
	}
	return id, nil
}

func knownOf[T any](all []T, as func(T) cli.Known) []cli.Known {
	out := make([]cli.Known, len(all))
	for i, v := range all {
		out[i] = as(v)
	}
	return out
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
			return cli.Table("ID\tPREFIX\tOWNER\tEXPIRES\tLAST USED\tNAME\tSEES\tSCOPES", func(row func(...any)) {
				for _, k := range keys {
					scopes := "all"
					if len(k.Scopes) < len(sheaf.AllScopes) {
						scopes = strings.Join(k.Scopes.Strings(), ",")
					}
					row(k.ID, k.Prefix, k.Owner(), cli.Moment(k.ExpiresAt), cli.Moment(k.LastUsedAt), k.Name, seen(k.RestrictedTo), scopes)
				}
			})
		})
	})
}

// keyOf is a command on one key.
type keyOf struct {
	storeFlags
	cli.Output
	workspaceFlag
	ID string `arg:"" help:"Id of the key, or its name in the workspace."`
}

// keyRotate is sheaf key rotate.
type keyRotate struct {
	keyOf
	Grace time.Duration `default:"0s" placeholder:"1h" help:"How long the old secret works too, at most 24h; by default it ends at once."`
}

// Run gives the key a new secret and shows it, once.
func (c *keyRotate) Run(ctx context.Context, p *program) error {
	return c.operate(ctx, p, true, func(op app.Operator) error {
		id, err := c.key(ctx, op)
		if err != nil {
			return err
		}
		k, err := op.RotateKey(ctx, id, c.Grace)
		if err != nil {
			return err
		}
		return showKey(p, c.Output, k)
	})
}

// keyRevoke is sheaf key revoke.
type keyRevoke struct{ keyOf }

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
func (c *keyOf) key(ctx context.Context, op app.Operator) (sheaf.KeyID, error) {
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
