package cli

import (
	"context"
	"iter"
	"slices"
	"strings"

	"sheaf.dev/client"
)

type searchCommand struct {
	apiCommand
	Words   []string `arg:"" help:"Words to search for, which must all occur. Put quotation marks around words that belong together."`
	Type    []string `placeholder:"KIND" values:"project,folder,document" help:"Only projects, folders or documents: one or several of project, folder, document."`
	Project string   `placeholder:"ID|NAME" complete:"projects" help:"Only what is in this project."`
	Folder  string   `placeholder:"ID|NAME" complete:"folders" help:"Only what is in this folder, or in one below it."`
	Limit   int      `default:"20" help:"Maximum number of hits to show; 0 shows all."`
}

func (c *searchCommand) Run(ctx context.Context, p *Program) error {
	words := slices.Clone(c.Words)
	for i, w := range words { // keep the words of one argument together
		if len(words) > 1 && strings.ContainsAny(w, " \t") && !strings.Contains(w, `"`) {
			words[i] = `"` + w + `"`
		}
	}
	return askAll(c.in(projects, &c.Project).in(folders, &c.Folder), ctx, p, c.Limit, func(ctx context.Context, api *client.Client) iter.Seq2[client.Hit, error] {
		return api.SearchAll(ctx, client.SearchQuery{Text: strings.Join(words, " "), Types: c.Type, ProjectID: c.Project, FolderID: c.Folder,
			Paging: client.Paging{Limit: min(c.Limit, 100)}})
	}, "KIND\tID\tUPDATED\tTITLE\tTEXT", func(h client.Hit) []any {
		text := []rune(h.Snippet)
		if len(text) > 60 {
			text = append(text[:59], '…')
		}
		return []any{h.Type, h.ID, stamp(h.UpdatedAt), h.Title, string(text)}
	})
}
