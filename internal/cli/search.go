package cli

import (
	"context"
	"iter"
	"strings"

	"sheaf.dev/client"
)

type searchCommand struct {
	apiCommand
	Words   []string `arg:"" help:"What to look for: each word must occur. Put quotation marks around what belongs together."`
	Type    []string `placeholder:"KIND" values:"project,folder,document" help:"Only projects, folders or documents: one or several of project, folder, document."`
	Project string   `placeholder:"ID|NAME" complete:"projects" help:"Only what lies in this project."`
	Folder  string   `placeholder:"ID|NAME" complete:"folders" help:"Only what lies in this folder, or in one below it."`
	Limit   int      `default:"20" help:"How many hits to show at most; 0 is all of them."`
}

func (c *searchCommand) Run(ctx context.Context, p *Program) error {
	return askAll(c.in(projects, &c.Project).in(folders, &c.Folder), ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Hit, error] {
		return api.SearchAll(ctx, client.SearchQuery{Text: quoted(c.Words), Types: c.Type, ProjectID: c.Project, FolderID: c.Folder,
			Paging: client.Paging{Limit: min(c.Limit, 100)}})
	}, "KIND\tID\tUPDATED\tTITLE\tTEXT", func(h client.Hit) []any {
		return []any{h.Type, h.ID, stamp(h.UpdatedAt), h.Title, clip(h.Snippet, 60)}
	})
}

// quoted joins arguments: what the shell was told to keep together, the server keeps together.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; len(words) > 1 && strings.ContainsAny(w, " \t") && !strings.Contains(w, `"`) {
			out[i] = `"` + w + `"`
		}
	}
	return strings.Join(out, " ")
}

// clip shortens a text for a column.
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
