package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/cli"
)

// workspaceDelete is sheaf workspace delete.
type workspaceDelete struct {
	storeFlags
	cli.Output
	ID          string        `arg:"" complete:"workspaces" help:"Id or name of the workspace."`
	DeleteAfter time.Duration `default:"168h" placeholder:"7d" help:"How long the workspace can be brought back with sheaf workspace undelete. Then its data is removed. 0 removes it at once."`
}

// Run deletes the workspace. With --delete-after 0 it also removes the data, unless a server has the
// data folder: the server then removes it within a minute, between other writes.
func (c *workspaceDelete) Run(ctx context.Context, p *program) error {
	settings, err := c.Load(p.Env)
	if err != nil {
		return err
	}
	files, err := p.media(settings)
	if err != nil {
		return err
	}
	st, err := c.open(ctx, p, false)
	if err != nil {
		return err
	}
	defer st.Close()
	served, release := reserveFolder(settings)
	defer release()
	config := app.Config{Store: st, Now: p.Now, Random: p.Random, Media: files}
	if !served {
		index := p.index(settings, st, slog.New(slog.DiscardHandler))
		defer index.Close()
		config.Index = index
	}
	op := app.New(config).Operator()
	id, err := findWorkspace(ctx, op, c.ID)
	if err != nil {
		return err
	}
	ws, err := op.DeleteWorkspace(ctx, id, c.DeleteAfter)
	if err != nil {
		return err
	}
	next := fmt.Sprintf("a server removes its data after %s; until then sheaf workspace undelete %s brings it back", ws.EndsAt.Format(time.RFC3339), ws.ID)
	switch {
	case c.DeleteAfter > 0:
	case served:
		next = "the running server removes its data within a minute"
	default:
		if err := op.RemoveWorkspace(ctx, ws.ID, ws.EndsAt); err != nil {
			return err
		}
		next = "its data is removed; backups that were made earlier still have it"
	}
	return c.Show(&p.Program, &ws, func() string { return fmt.Sprintf("workspace %s is deleted; %s\n", ws.ID, next) })
}

// workspaceUndelete is sheaf workspace undelete.
type workspaceUndelete struct {
	storeFlags
	cli.Output
	ID string `arg:"" complete:"workspaces" help:"Id or name of the workspace."`
}

func (c *workspaceUndelete) Run(ctx context.Context, p *program) error {
	return c.operate(ctx, p, false, func(op app.Operator) error {
		id, err := findWorkspace(ctx, op, c.ID)
		if err != nil {
			return err
		}
		ws, err := op.UndeleteWorkspace(ctx, id)
		if err != nil {
			return err
		}
		return c.Show(&p.Program, &ws, func() string { return fmt.Sprintf("workspace %s is back, with its keys\n", ws.ID) })
	})
}
