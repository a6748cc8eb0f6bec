package main

import (
	"context"
	"fmt"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/sheaf"
)

// workspaceCreate is sheaf workspace create.
type workspaceCreate struct {
	storeFlags
	cli.Output
	Name       string `required:"" placeholder:"NAME" help:"Name of the workspace, 1 to 200 characters."`
	Plan       string `required:"" placeholder:"PLAN" help:"Its plan: free, pro or business."`
	Personal   bool   `help:"Make it one user's own: its events carry no workspace."`
	OwnerEmail string `placeholder:"EMAIL" help:"E-mail of its owner: a known user's, or a new one's. Without it the owner has none."`
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
			// Nobody proves that an address is theirs: somebody else may have used an invitation to
			// it.
			fmt.Fprintf(p.Stderr, "%s is a user who was here before, and signs in as ever. Is it the right one? sheaf user list shows them all.\n", c.OwnerEmail)
		}
		return c.Show(&p.Program, &ws, func() string { return workspaceTable(ws) })
	})
}

// workspaceSetPlan is sheaf workspace set-plan.
type workspaceSetPlan struct {
	storeFlags
	cli.Output
	ID   string `arg:"" help:"Id of the workspace."`
	Plan string `arg:"" help:"free, pro or business."`
}

func (c *workspaceSetPlan) Run(ctx context.Context, p *program) error {
	id, err := parseID[sheaf.WorkspaceID]("workspace", c.ID)
	if err != nil {
		return err
	}
	plan, err := sheaf.ParsePlan(c.Plan)
	if err != nil {
		return err
	}
	return c.operate(ctx, p, true, func(op app.Operator) error {
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
			row(w.ID, w.Plan, w.Owner, w.Name)
		}
	})
}
