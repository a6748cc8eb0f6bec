package cli

import (
	"context"
	"fmt"
	"iter"

	"sheaf.dev/client"
)

type projectsCommands struct {
	List   projectsList   `cmd:"" help:"List projects."`
	Get    projectsGet    `cmd:"" help:"Show a project and its documents."`
	Create projectsCreate `cmd:"" help:"Make a project."`
	Update projectsUpdate `cmd:"" help:"Change a project."`
	Move   projectsMove   `cmd:"" help:"Move a project to a folder, or to the root level."`
	Delete projectsDelete `cmd:"" help:"Delete a project for good; its documents stay, without a project."`
}

type projectsList struct {
	apiCommand
	pages
	Folder       string `placeholder:"ID|NAME|root" complete:"folders" help:"Only those directly in this folder, or at the root level."`
	Query        string `name:"query" short:"q" placeholder:"TEXT" help:"Only those with this text in name or description."`
	ExternalID   string `name:"external-id" placeholder:"ID" help:"Only the one with this id in another system."`
	UpdatedSince string `name:"updated-since" placeholder:"TIME" help:"Only those changed last at this time or later."`
	Sort         string `placeholder:"FIELD" values:"sort_order,name,created_at,updated_at" help:"sort_order, name, created_at or updated_at."`
}

func (c *projectsList) Run(ctx context.Context, p *Program) error {
	since, err := moment("--updated-since", c.UpdatedSince)
	if err != nil {
		return err
	}
	return askAll(c.in(folders, &c.Folder), ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Project, error] {
		return api.Projects.All(ctx, client.ProjectFilter{FolderID: place(c.Folder), Query: c.Query, ExternalID: c.ExternalID, UpdatedSince: since, Sort: c.Sort, Paging: c.paging()})
	}, "ID\tDOCUMENTS\tUPDATED\tNAME", func(v client.Project) []any {
		return []any{v.ID, v.DocumentCount, stamp(v.UpdatedAt), v.Name}
	})
}

type projectsGet struct {
	apiCommand
	ID string `arg:"" complete:"projects" help:"Id or name of the project."`
}

func (c *projectsGet) Run(ctx context.Context, p *Program) error {
	return ask(c.on(projects, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Project, error) {
		return api.Projects.Get(ctx, c.ID)
	}, func(v client.Project) string {
		text := projectText(v)
		if len(v.Documents) > 0 {
			text += "\n" + Table(documentHead, func(row func(...any)) {
				for _, d := range v.Documents {
					row(documentRow(d)...)
				}
			})
		}
		if more := v.DocumentCount - len(v.Documents); more > 0 {
			text += fmt.Sprintf("and %d more: sheaf documents list --project %s\n", more, v.ID)
		}
		return text
	})
}

func projectText(v client.Project) string {
	return facts("id", v.ID, "name", v.Name, "description", or(v.Description, ""), "icon", or(v.Icon, ""), "color", or(v.Color, ""),
		"folder", or(v.FolderID, "root"), "external id", or(v.ExternalID, ""), "url", or(v.URL, ""), "metadata", pairs(v.Metadata), "review", reviewText(v.Review), "documents", fmt.Sprint(v.DocumentCount), "created", stamp(v.CreatedAt), "updated", stamp(v.UpdatedAt))
}

// reviewText says what a change of a project's documents needs; empty for nothing.
func reviewText(r *client.Review) string {
	if r == nil {
		return ""
	}
	return counted(r.Approvals, "approval")
}

type projectsCreate struct {
	apiCommand
	Name        string            `arg:"" help:"Name, 1 to 200 characters."`
	Description string            `placeholder:"TEXT"`
	Icon        string            `placeholder:"ICON" complete:"icons"`
	Color       string            `placeholder:"#RRGGBB"`
	Folder      string            `placeholder:"ID|NAME" complete:"folders" help:"Folder to make it in; without it, the root level."`
	SortOrder   int32             `placeholder:"N" help:"Position in lists, smallest first."`
	ExternalID  string            `name:"external-id" placeholder:"ID" help:"Its id in another system."`
	URL         string            `name:"url" placeholder:"URL" help:"Its address in another system."`
	Metadata    map[string]string `name:"metadata" placeholder:"NAME=TEXT" help:"A further value to store. Repeatable."`
	Approvals   int               `placeholder:"N" help:"Its documents change only by proposals that N others, 1 to 3, have approved. 0: without review."`
}

// review returns a review that needs `approvals` approvals; nil for 0.
func review(approvals int) *client.Review {
	if approvals == 0 {
		return nil
	}
	return &client.Review{Approvals: approvals}
}

func (c *projectsCreate) Run(ctx context.Context, p *Program) error {
	return ask(c.in(folders, &c.Folder), ctx, p, func(ctx context.Context, api *client.Client) (client.Project, error) {
		return api.Projects.Create(ctx, client.NewProject{Name: c.Name, Description: c.Description, Icon: c.Icon, Color: c.Color,
			FolderID: target(c.Folder), SortOrder: c.SortOrder,
			ExternalID: c.ExternalID, URL: c.URL, Metadata: c.Metadata, Review: review(c.Approvals)})
	}, projectText)
}

type projectsUpdate struct {
	apiCommand
	ID          string            `arg:"" complete:"projects" help:"Id or name of the project."`
	Name        *string           `placeholder:"TEXT"`
	Description *string           `placeholder:"TEXT" help:"An empty one clears it, as for icon and color."`
	Icon        *string           `placeholder:"ICON" complete:"icons"`
	Color       *string           `placeholder:"#RRGGBB"`
	SortOrder   *int32            `placeholder:"N" help:"Position in lists, smallest first."`
	ExternalID  *string           `name:"external-id" placeholder:"ID" help:"Its id in another system; an empty one clears it, as for url."`
	URL         *string           `name:"url" placeholder:"URL" help:"Its address in another system."`
	Metadata    map[string]string `name:"metadata" placeholder:"NAME=TEXT" help:"A further value to store; an empty text removes a name. Repeatable."`
	Approvals   *int              `placeholder:"N" help:"How many others, 1 to 3, must approve a proposal. 0: its documents change without review."`
}

// reviewChange returns the change of a project's review.
func (c *projectsUpdate) reviewChange() (out client.Opt[client.Review]) {
	switch {
	case c.Approvals == nil:
		return out
	case *c.Approvals == 0:
		return client.Null[client.Review]()
	}
	return client.Set(client.Review{Approvals: *c.Approvals})
}

func (c *projectsUpdate) Run(ctx context.Context, p *Program) error {
	return ask(c.on(projects, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Project, error) {
		return api.Projects.Update(ctx, c.ID, client.ProjectChange{Name: changeTo(c.Name), Description: change(c.Description),
			Icon: change(c.Icon), Color: change(c.Color), SortOrder: changeTo(c.SortOrder),
			ExternalID: change(c.ExternalID), URL: change(c.URL), Metadata: merge(c.Metadata), Review: c.reviewChange()})
	}, projectText)
}

type projectsMove struct {
	apiCommand
	ID     string `arg:"" complete:"projects" help:"Id or name of the project."`
	Folder string `arg:"" complete:"folders" help:"Id or name of the folder, or root."`
}

func (c *projectsMove) Run(ctx context.Context, p *Program) error {
	return ask(c.on(projects, &c.ID).in(folders, &c.Folder), ctx, p, func(ctx context.Context, api *client.Client) (client.Project, error) {
		return api.Projects.Move(ctx, c.ID, target(c.Folder))
	}, projectText)
}

type projectsDelete struct {
	apiCommand
	ID string `arg:"" complete:"projects" help:"Id or name of the project."`
}

func (c *projectsDelete) Run(ctx context.Context, p *Program) error {
	return c.on(projects, &c.ID).deleteRecord(ctx, p, "project", &c.ID, func(ctx context.Context, api *client.Client) error { return api.Projects.Delete(ctx, c.ID) })
}
