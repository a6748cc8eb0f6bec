package main

import (
	"context"
	"fmt"
	"slices"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/sheaf"
)

// workspaceFlag names a workspace. If there is only one, the flag is not needed.
type workspaceFlag struct {
	Workspace string `placeholder:"ID|NAME" complete:"workspaces" help:"Id or name of the workspace; not needed if there is only one."`
}

// find returns the workspace that the flag names. Without the flag it returns the only workspace that is not deleted.
func (f workspaceFlag) find(ctx context.Context, op app.Operator) (sheaf.WorkspaceID, error) {
	if f.Workspace != "" {
		return findWorkspace(ctx, op, f.Workspace)
	}
	all, err := op.Workspaces(ctx)
	all = slices.DeleteFunc(all, func(w app.OwnedWorkspace) bool { return w.IsDeleted() })
	switch {
	case err != nil:
		return "", err
	case len(all) == 0:
		return "", sheaf.Invalidf("there is no workspace yet: make one with sheaf workspace create")
	case len(all) > 1:
		return "", sheaf.Invalidf("there are %d workspaces: say which with --workspace; sheaf workspace list shows them", len(all))
	}
	return all[0].ID, nil
}

// findWorkspace returns the id in text. If text is no id, it returns that of the only workspace
// with that name.
func findWorkspace(ctx context.Context, op app.Operator, text string) (sheaf.WorkspaceID, error) {
	if id, ok := sheaf.ParseUUID(text); ok {
		return sheaf.WorkspaceID(id), nil
	}
	all, err := op.Workspaces(ctx)
	if err != nil {
		return "", err
	}
	known := make([]cli.Known, len(all))
	for i, w := range all {
		known[i] = cli.Known{ID: string(w.ID), Name: w.Name}
	}
	id, err := cli.Choose(known, text, "workspace", "workspaces", "workspace list")
	return sheaf.WorkspaceID(id), err
}

// workspaceCreate is sheaf workspace create.
type workspaceCreate struct {
	storeFlags
	cli.Output
	Name       string `required:"" placeholder:"NAME" help:"Name of the workspace, 1 to 200 characters."`
	Plan       string `required:"" placeholder:"PLAN" values:"free,pro,business" help:"Its plan: free, pro or business."`
	Personal   bool   `help:"Make it personal: it has one member, and its events name no workspace."`
	OwnerEmail string `placeholder:"EMAIL" help:"E-mail of its owner, an existing or a new user. Without it, the owner has no e-mail."`
}

func (c *workspaceCreate) Run(ctx context.Context, p *program) error {
	plan, err := sheaf.ParsePlan(c.Plan)
	if err != nil {
		return err
	}
	return c.operate(ctx, p, true, func(op app.Operator) error {
		ws, err := op.CreateWorkspace(ctx, app.NewWorkspace{Name: c.Name, Plan: plan, Personal: c.Personal, OwnerEmail: c.OwnerEmail})
		if err != nil {
			return err
		}
		if ws.Known {
			// Addresses are not verified: another person may have used an invitation for this one.
			fmt.Fprintf(p.Stderr, "%s is an existing user and signs in as before. Check that it is the right person: sheaf user list shows all users.\n", c.OwnerEmail)
		}
		return c.Show(&p.Program, &ws, func() string { return workspaceTable(ws) })
	})
}

// workspaceSetPlan is sheaf workspace set-plan.
type workspaceSetPlan struct {
	storeFlags
	cli.Output
	ID   string `arg:"" complete:"workspaces" help:"Id or name of the workspace."`
	Plan string `arg:"" values:"free,pro,business" help:"free, pro or business."`
}

func (c *workspaceSetPlan) Run(ctx context.Context, p *program) error {
	plan, err := sheaf.ParsePlan(c.Plan)
	if err != nil {
		return err
	}
	return c.operate(ctx, p, true, func(op app.Operator) error {
		id, err := findWorkspace(ctx, op, c.ID)
		if err != nil {
			return err
		}
		ws, err := op.SetPlan(ctx, id, plan)
		if err != nil {
			return err
		}
		return c.Show(&p.Program, &ws, func() string { return workspaceTable(ws) })
	})
}

type workspaceList struct {
	storeFlags
	cli.Output
}

func (c *workspaceList) Run(ctx context.Context, p *program) error {
	return c.operate(ctx, p, false, func(op app.Operator) error {
		all, err := op.Workspaces(ctx)
		if err != nil {
			return err
		}
		records := make([]sheaf.Record, len(all))
		for i := range all {
			records[i] = &all[i]
		}
		return c.ShowAll(&p.Program, records, func() string { return workspaceTable(all...) })
	})
}

// workspaceTable shows workspaces to a person.
func workspaceTable(all ...app.OwnedWorkspace) string {
	return cli.Table("ID\tPLAN\tOWNER\tNAME", func(row func(...any)) {
		for _, w := range all {
			name := w.Name
			if w.IsDeleted() {
				name += " (deleted)"
			}
			row(w.ID, w.Plan, w.Owner, name)
		}
	})
}
