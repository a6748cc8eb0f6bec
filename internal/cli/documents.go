package cli

import (
	"context"
	"iter"

	"sheaf.dev/client"
)

type documentsCommands struct {
	List     documentsList     `cmd:"" help:"List documents."`
	Get      documentsGet      `cmd:"" help:"Show a document."`
	Create   documentsCreate   `cmd:"" help:"Make a document."`
	Update   documentsUpdate   `cmd:"" help:"Change a document."`
	Tree     documentsTree     `cmd:"" help:"Print the documents of a project as a tree, in reading order."`
	Move     documentsMove     `cmd:"" help:"Move a document, with everything below it, to another place."`
	Delete   documentsDelete   `cmd:"" help:"Move a document to the trash; restore brings it back."`
	Restore  documentsRestore  `cmd:"" help:"Restore a deleted document."`
	Trash    documentsTrash    `cmd:"" help:"List deleted documents, the last deleted first."`
	Content  documentsContent  `cmd:"" help:"Print the text of a document."`
	Edit     documentsEdit     `cmd:"" help:"Change the text of a document in your editor."`
	Versions documentsVersions `cmd:"" help:"List the versions of a document, newest first."`
	Purge    documentsPurge    `cmd:"" help:"Delete a trashed document for good, with its text and versions."`
}

type documentsList struct {
	apiCommand
	pages
	Project      string `placeholder:"ID|NAME|none" complete:"projects" help:"Only those of this project; none means without a project."`
	Parent       string `placeholder:"ID|TITLE|root" complete:"documents" help:"Only those directly below this document; root means the top level."`
	Query        string `name:"query" short:"q" placeholder:"TEXT" help:"Only those with this text in title or description."`
	ExternalID   string `name:"external-id" placeholder:"ID" help:"Only the one with this id in another system."`
	UpdatedSince string `name:"updated-since" placeholder:"TIME" help:"Only those changed last at this time or later."`
	Sort         string `placeholder:"FIELD" values:"created_at,updated_at,title,sort_order" help:"created_at, updated_at, title or sort_order."`
}

func (c *documentsList) Run(ctx context.Context, p *Program) error {
	since, err := moment("--updated-since", c.UpdatedSince)
	if err != nil {
		return err
	}
	return askAll(c.in(projects, &c.Project).in(documents, &c.Parent), ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Document, error] {
		return api.Documents.All(ctx, client.DocumentFilter{ProjectID: place(c.Project), ParentID: place(c.Parent), Query: c.Query, ExternalID: c.ExternalID, UpdatedSince: since, Sort: c.Sort, Paging: c.paging()})
	}, documentHead, documentRow)
}

const documentHead = "ID\tUPDATED\tTITLE"

func documentRow(v client.Document) []any { return []any{v.ID, stamp(v.UpdatedAt), v.Title} }

func documentText(v client.Document) string {
	return facts("id", v.ID, "title", v.Title, "description", or(v.Description, ""), "project", or(v.ProjectID, "none"), "parent", or(v.ParentID, ""), "external id", or(v.ExternalID, ""), "url", or(v.URL, ""), "metadata", pairs(v.Metadata),
		"created", stamp(v.CreatedAt), "updated", stamp(v.UpdatedAt))
}

type documentsGet struct {
	apiCommand
	ID string `arg:"" complete:"documents" help:"Id or title of the document."`
}

func (c *documentsGet) Run(ctx context.Context, p *Program) error {
	return ask(c.on(documents, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Document, error) {
		return api.Documents.Get(ctx, c.ID)
	}, documentText)
}

type documentsCreate struct {
	apiCommand
	Title       string            `arg:"" help:"Title, 1 to 200 characters."`
	Description string            `placeholder:"TEXT"`
	Project     string            `placeholder:"ID|NAME" complete:"projects" help:"Project to make it in."`
	Parent      string            `placeholder:"ID|TITLE" complete:"documents" help:"Document to make it below, in the project of that document."`
	ExternalID  string            `name:"external-id" placeholder:"ID" help:"Its id in another system."`
	URL         string            `name:"url" placeholder:"URL" help:"Its address in another system."`
	Metadata    map[string]string `name:"metadata" placeholder:"NAME=TEXT" help:"A further value to store. Repeatable."`
}

func (c *documentsCreate) Run(ctx context.Context, p *Program) error {
	return ask(c.in(projects, &c.Project).in(documents, &c.Parent), ctx, p, func(ctx context.Context, api *client.Client) (client.Document, error) {
		if c.Parent != "" && c.Project == "" {
			parent, err := api.Documents.Get(ctx, c.Parent)
			if err != nil {
				return client.Document{}, err
			}
			c.Project = or(parent.ProjectID, "")
		}
		return api.Documents.Create(ctx, client.NewDocument{Title: c.Title, Description: c.Description, ProjectID: target(c.Project), ParentID: c.Parent,
			ExternalID: c.ExternalID, URL: c.URL, Metadata: c.Metadata})
	}, documentText)
}

type documentsUpdate struct {
	apiCommand
	ID          string            `arg:"" complete:"documents" help:"Id or title of the document."`
	Title       *string           `placeholder:"TEXT"`
	Description *string           `placeholder:"TEXT" help:"An empty one clears it."`
	Project     *string           `placeholder:"ID|NAME|none" complete:"projects" help:"The project to move it to; none means no project."`
	ExternalID  *string           `name:"external-id" placeholder:"ID" help:"Its id in another system; an empty one clears it, as for url."`
	URL         *string           `name:"url" placeholder:"URL" help:"Its address in another system."`
	Metadata    map[string]string `name:"metadata" placeholder:"NAME=TEXT" help:"A further value to store; an empty text removes a name. Repeatable."`
}

func (c *documentsUpdate) Run(ctx context.Context, p *Program) error {
	if c.Project != nil {
		*c.Project = target(*c.Project)
	}
	return ask(c.on(documents, &c.ID).in(projects, c.Project), ctx, p, func(ctx context.Context, api *client.Client) (client.Document, error) {
		return api.Documents.Update(ctx, c.ID, client.DocumentChange{Title: changeTo(c.Title), Description: change(c.Description), ProjectID: change(c.Project),
			ExternalID: change(c.ExternalID), URL: change(c.URL), Metadata: merge(c.Metadata)})
	}, documentText)
}

type documentsDelete struct {
	apiCommand
	ID string `arg:"" complete:"documents" help:"Id or title of the document."`
}

func (c *documentsDelete) Run(ctx context.Context, p *Program) error {
	return c.on(documents, &c.ID).deleteRecord(ctx, p, "document", &c.ID, func(ctx context.Context, api *client.Client) error { return api.Documents.Delete(ctx, c.ID) })
}

type documentsRestore struct {
	apiCommand
	ID string `arg:"" complete:"trashed" help:"Id or title of the document, which is deleted."`
}

func (c *documentsRestore) Run(ctx context.Context, p *Program) error {
	return ask(c.on(trashed, &c.ID), ctx, p, func(ctx context.Context, api *client.Client) (client.Document, error) {
		return api.Documents.Restore(ctx, c.ID)
	}, documentText)
}

type documentsTrash struct {
	apiCommand
	pages
}

func (c *documentsTrash) Run(ctx context.Context, p *Program) error {
	f := client.DocumentFilter{Deleted: true, Sort: "deleted_at", Paging: c.paging()}
	f.Desc = !f.Desc // the last deleted first
	return askAll(&c.apiCommand, ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Document, error] {
		return api.Documents.All(ctx, f)
	}, "ID\tDELETED\tTITLE", func(v client.Document) []any { return []any{v.ID, Moment(v.DeletedAt), v.Title} })
}

type documentsPurge struct {
	apiCommand
	ID       string `arg:"" complete:"trashed" help:"Id or title of the document, which is deleted."`
	Releases bool   `help:"Take it out of all releases that have it, too. Without this, a document in releases stays."`
}

func (c *documentsPurge) Run(ctx context.Context, p *Program) error {
	return c.on(trashed, &c.ID).deleteRecord(ctx, p, "document", &c.ID, func(ctx context.Context, api *client.Client) error {
		if c.Releases {
			return api.Documents.PurgeWithReleases(ctx, c.ID)
		}
		return api.Documents.Purge(ctx, c.ID)
	})
}
