package cli

import (
	"context"
	"fmt"
	"iter"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
)

type releasesCommands struct {
	List    releasesList    `cmd:"" help:"List the releases of a project, the newest first."`
	Get     releasesGet     `cmd:"" help:"Show a release."`
	Create  releasesCreate  `cmd:"" help:"Freeze the documents of a project as they are, under a name."`
	Tree    releasesTree    `cmd:"" help:"Print the documents of a release as a tree, in reading order."`
	Content releasesContent `cmd:"" help:"Print the text of a document as a release has it."`
	Diff    releasesDiff    `cmd:"" help:"Show what has changed since a release."`
	Update  releasesUpdate  `cmd:"" help:"Change the notes of a release."`
	Delete  releasesDelete  `cmd:"" help:"Delete a release. The documents of the project stay."`
}

// releasesOf returns the releases of the project with this id, as a noun. The id is read when a name is
// looked up, because a name of the project is replaced by its id only then.
func releasesOf(project *string) noun {
	return noun{"release of the project", "releases", "", func(ctx context.Context, api *client.Client, text string) iter.Seq2[Known, error] {
		if *project == "" {
			return func(yield func(Known, error) bool) {
				yield(Known{}, sheaf.Invalidf("%q is not an id: name the project of the release with --project, because names of releases are unique only in their project", sheaf.Clip(text)))
			}
		}
		return known(api.Releases.All(ctx, *project, client.ReleaseFilter{Paging: client.Paging{Desc: true}}), func(v client.Release) Known { return Known{v.ID, v.Name} })
	}}
}

type releasesList struct {
	apiCommand
	pages
	Project string `arg:"" complete:"projects" help:"Id or name of the project."`
}

func (c *releasesList) Run(ctx context.Context, p *Program) error {
	f := client.ReleaseFilter{Paging: c.paging()}
	f.Desc = !f.Desc // the newest first
	return askAll(c.on(projects, &c.Project), ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Release, error] {
		return api.Releases.All(ctx, c.Project, f)
	}, "ID\tMADE\tDOCUMENTS\tNAME", func(v client.Release) []any { return []any{v.ID, stamp(v.CreatedAt), v.Documents, v.Name} })
}

// releaseArgument is the argument of a command about one release.
type releaseArgument struct {
	apiCommand
	ID      string `arg:"" complete:"releases" help:"Id of the release, or its name with --project."`
	Project string `placeholder:"ID|NAME" complete:"projects" help:"Project of the release."`
}

// named returns the command with its arguments to resolve.
func (c *releaseArgument) named() *apiCommand {
	return c.in(projects, &c.Project).on(releasesOf(&c.Project), &c.ID)
}

func releaseText(v client.Release) string {
	return facts("id", v.ID, "name", v.Name, "project", v.ProjectID, "documents", fmt.Sprint(v.Documents), "notes", or(v.Notes, ""), "by", v.UserID, "made", stamp(v.CreatedAt))
}

type releasesGet struct{ releaseArgument }

func (c *releasesGet) Run(ctx context.Context, p *Program) error {
	return ask(c.named(), ctx, p, func(ctx context.Context, api *client.Client) (client.Release, error) {
		return api.Releases.Get(ctx, c.ID)
	}, releaseText)
}

type releasesCreate struct {
	apiCommand
	Project string `arg:"" complete:"projects" help:"Id or name of the project."`
	Name    string `arg:"" help:"Name, 1 to 100 characters, such as 1.0."`
	Notes   string `placeholder:"TEXT" help:"What is new, in Markdown."`
}

func (c *releasesCreate) Run(ctx context.Context, p *Program) error {
	return ask(c.on(projects, &c.Project), ctx, p, func(ctx context.Context, api *client.Client) (client.Release, error) {
		return api.Releases.Create(ctx, c.Project, client.NewRelease{Name: c.Name, Notes: c.Notes})
	}, releaseText)
}

type releasesTree struct {
	releaseArgument
	IDs bool `name:"ids" help:"Show the ids."`
}

func (c *releasesTree) Run(ctx context.Context, p *Program) error {
	return ask(c.named(), ctx, p, func(ctx context.Context, api *client.Client) (client.DocumentTree, error) {
		return api.Releases.Tree(ctx, c.ID)
	}, func(tree client.DocumentTree) string { return drawTree(tree, c.IDs, "the release has no documents\n") })
}

type releasesContent struct {
	apiCommand
	ID       string `arg:"" complete:"releases" help:"Id of the release, or its name with --project."`
	Document string `arg:"" complete:"documents" help:"Id of the document, or the title that it has in the release."`
	Project  string `placeholder:"ID|NAME" complete:"projects" help:"Project of the release."`
}

// Run prints the text unchanged. It adds no line end.
func (c *releasesContent) Run(ctx context.Context, p *Program) error {
	inRelease := noun{"document of the release", "documents of the release", "releases tree RELEASE --ids", func(ctx context.Context, api *client.Client, _ string) iter.Seq2[Known, error] {
		return func(yield func(Known, error) bool) {
			tree, err := api.Releases.Tree(ctx, c.ID)
			if err != nil {
				yield(Known{}, err)
				return
			}
			for _, e := range tree.Data {
				if !yield(Known{e.ID, e.Title}, nil) {
					return
				}
			}
		}
	}}
	named := c.in(projects, &c.Project).on(releasesOf(&c.Project), &c.ID).on(inRelease, &c.Document)
	return ask(named, ctx, p, func(ctx context.Context, api *client.Client) (client.Document, error) {
		return api.Releases.Document(ctx, c.ID, c.Document)
	}, func(d client.Document) string { return or(d.Content, "") })
}

type releasesDiff struct {
	releaseArgument
	To string `placeholder:"ID|NAME" complete:"releases" help:"Compare with this later release; without it, with the documents as they are now."`
}

// Run prints a line for each document that differs.
func (c *releasesDiff) Run(ctx context.Context, p *Program) error {
	named := c.named()
	if c.To != "" && c.To != client.Present {
		named = named.on(releasesOf(&c.Project), &c.To)
	}
	return ask(named, ctx, p, func(ctx context.Context, api *client.Client) (client.ReleaseDiff, error) {
		return api.Releases.Diff(ctx, c.ID, c.To)
	}, releaseDiffText)
}

func releaseDiffText(d client.ReleaseDiff) string {
	if len(d.Added)+len(d.Removed)+len(d.Changed)+len(d.Moved) == 0 {
		return "nothing differs\n"
	}
	return Table("WHAT\tDOCUMENT\tTITLE", func(row func(...any)) {
		for _, l := range []struct {
			what string
			list []client.DocumentName
		}{{"added", d.Added}, {"removed", d.Removed}, {"changed", d.Changed}, {"moved", d.Moved}} {
			for _, v := range l.list {
				row(l.what, v.ID, v.Title)
			}
		}
	})
}

type releasesUpdate struct {
	releaseArgument
	Notes *string `placeholder:"TEXT" help:"What is new, in Markdown; an empty one removes the notes."`
}

func (c *releasesUpdate) Run(ctx context.Context, p *Program) error {
	return ask(c.named(), ctx, p, func(ctx context.Context, api *client.Client) (client.Release, error) {
		return api.Releases.Update(ctx, c.ID, client.ReleaseChange{Notes: change(c.Notes)})
	}, releaseText)
}

type releasesDelete struct{ releaseArgument }

func (c *releasesDelete) Run(ctx context.Context, p *Program) error {
	return c.named().deleteRecord(ctx, p, "release", &c.ID, func(ctx context.Context, api *client.Client) error { return api.Releases.Delete(ctx, c.ID) })
}
