package cli

import (
	"context"
	"fmt"
	"iter"

	"sheaf.dev/client"
)

type foldersCommands struct {
	List   foldersList   `cmd:"" help:"List folders."`
	Tree   foldersTree   `cmd:"" help:"Draw the folders, and with --projects what is in them."`
	Get    foldersGet    `cmd:"" help:"Show a folder."`
	Create foldersCreate `cmd:"" help:"Make a folder."`
	Update foldersUpdate `cmd:"" help:"Change a folder."`
	Move   foldersMove   `cmd:"" help:"Move a folder into another, or to the root level."`
	Delete foldersDelete `cmd:"" help:"Delete a folder and all folders below it; their projects or brandings move to the root level."`
}

type foldersList struct {
	apiCommand
	pages
	Type         string `placeholder:"TYPE" values:"project,branding" help:"Only project folders, or only branding ones."`
	Parent       string `placeholder:"ID|NAME|root" complete:"folders" help:"Only those directly in this folder, or at the root level."`
	Query        string `name:"query" short:"q" placeholder:"TEXT" help:"Only those with this text in the name."`
	ExternalID   string `name:"external-id" placeholder:"ID" help:"Only the one with this id in another system."`
	UpdatedSince string `name:"updated-since" placeholder:"TIME" help:"Only those changed last at this time or later."`
	Sort         string `placeholder:"FIELD" values:"sort_order,name,created_at,updated_at" help:"sort_order, name, created_at or updated_at."`
}

func (c *foldersList) Run(ctx context.Context, p *Program) error {
	since, err := moment("--updated-since", c.UpdatedSince)
	if err != nil {
		return err
	}
	return askAll(c.in(folders, &c.Parent), ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Folder, error] {
		return api.Folders.All(ctx, client.FolderFilter{EntityType: c.Type, ParentID: place(c.Parent), Query: c.Query, ExternalID: c.ExternalID, UpdatedSince: since, Sort: c.Sort, Paging: c.paging()})
	}, "ID\tTYPE\tDEPTH\tHOLDS\tNAME", func(v client.Folder) []any {
		return []any{v.ID, v.EntityType, v.Depth, holds(v), v.Name}
	})
}

type foldersGet struct {
	apiCommand
	ID string `arg:"" complete:"folders" help:"Id or name of the folder."`
}

func (c *foldersGet) Run(ctx context.Context, p *Program) error {
	return ask(c.on(folders, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Folder, error) {
		return api.Folders.Get(ctx, c.ID)
	}, folderText)
}

func folderText(v client.Folder) string {
	return facts("id", v.ID, "name", v.Name, "type", v.EntityType, "parent", or(v.ParentID, "root"), "color", v.Color, "external id", or(v.ExternalID, ""),
		"depth", fmt.Sprint(v.Depth), "holds", holds(v), "created", stamp(v.CreatedAt), "updated", stamp(v.UpdatedAt))
}

// holds returns the number of records directly in a folder.
func holds(v client.Folder) string {
	if v.EntityType == client.BrandingFolder {
		return counted(v.BrandingCount, "branding")
	}
	return counted(v.ProjectCount, "project")
}

type foldersCreate struct {
	apiCommand
	Name       string `arg:"" help:"Name, 1 to 200 characters."`
	Type       string `default:"project" placeholder:"TYPE" values:"project,branding" help:"project or branding; a subfolder has its parent's."`
	Parent     string `placeholder:"ID|NAME" complete:"folders" help:"Folder to make it in; without it, the root level."`
	Color      string `placeholder:"#RRGGBB"`
	SortOrder  int32  `placeholder:"N" help:"Position in lists, smallest first."`
	ExternalID string `name:"external-id" placeholder:"ID" help:"Its id in another system."`
}

func (c *foldersCreate) Run(ctx context.Context, p *Program) error {
	return ask(c.in(folders, &c.Parent), ctx, p, func(ctx context.Context, api *client.Client) (client.Folder, error) {
		return api.Folders.Create(ctx, client.NewFolder{Name: c.Name, EntityType: c.Type, ParentID: target(c.Parent), Color: c.Color, SortOrder: c.SortOrder,
			ExternalID: c.ExternalID})
	}, folderText)
}

type foldersUpdate struct {
	apiCommand
	ID         string  `arg:"" complete:"folders" help:"Id or name of the folder."`
	Name       *string `placeholder:"TEXT"`
	Color      *string `placeholder:"#RRGGBB" help:"An empty one is the default."`
	SortOrder  *int32  `placeholder:"N" help:"Position in lists, smallest first."`
	ExternalID *string `name:"external-id" placeholder:"ID" help:"Its id in another system; an empty one clears it."`
}

func (c *foldersUpdate) Run(ctx context.Context, p *Program) error {
	return ask(c.on(folders, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Folder, error) {
		return api.Folders.Update(ctx, c.ID, client.FolderChange{Name: changeTo(c.Name), Color: change(c.Color), SortOrder: changeTo(c.SortOrder),
			ExternalID: change(c.ExternalID)})
	}, folderText)
}

type foldersMove struct {
	apiCommand
	ID     string `arg:"" complete:"folders" help:"Id or name of the folder."`
	Parent string `arg:"" complete:"folders" help:"Id or name of the folder to move it into, or root."`
}

func (c *foldersMove) Run(ctx context.Context, p *Program) error {
	return ask(c.on(folders, &c.ID).in(folders, &c.Parent), ctx, p, func(ctx context.Context, api *client.Client) (client.Folder, error) {
		return api.Folders.Move(ctx, c.ID, target(c.Parent))
	}, folderText)
}

type foldersDelete struct {
	apiCommand
	ID string `arg:"" complete:"folders" help:"Id or name of the folder."`
}

func (c *foldersDelete) Run(ctx context.Context, p *Program) error {
	return c.on(folders, &c.ID).deleteRecord(ctx, p, "folder", &c.ID, func(ctx context.Context, api *client.Client) error { return api.Folders.Delete(ctx, c.ID) })
}
