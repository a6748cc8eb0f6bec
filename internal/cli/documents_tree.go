package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sheaf.dev/client"
)

type documentsTree struct {
	apiCommand
	Project string `arg:"" complete:"projects" help:"Id or name of the project."`
	IDs     bool   `name:"ids" help:"Show the ids."`
}

// Run draws the documents of a project in reading order.
func (c *documentsTree) Run(ctx context.Context, p *Program) error {
	return ask(c.on(projects, &c.Project), ctx, p, func(ctx context.Context, api *client.Client) (client.DocumentTree, error) {
		return api.Projects.Tree(ctx, c.Project)
	}, func(tree client.DocumentTree) string {
		return drawTree(tree, c.IDs, "no documents: make one with sheaf documents create TITLE --project ID\n")
	})
}

// drawTree draws documents that are in reading order, with their ids if `ids` is set. Without documents it
// returns `none`.
func drawTree(tree client.DocumentTree, ids bool, none string) string {
	var b strings.Builder
	var open []int // for each level, the number of siblings still to come
	top := 0
	for _, e := range tree.Data {
		if e.Depth == 1 {
			top++
		}
	}
	open = append(open, top)
	for _, e := range tree.Data {
		open = open[:e.Depth]
		open[e.Depth-1]--
		for _, left := range open[:e.Depth-1] {
			if left > 0 {
				b.WriteString("│   ")
			} else {
				b.WriteString("    ")
			}
		}
		if open[e.Depth-1] > 0 {
			b.WriteString("├── ")
		} else {
			b.WriteString("└── ")
		}
		b.WriteString(OneLine(e.Title))
		if ids {
			fmt.Fprintf(&b, "  %s", e.ID)
		}
		b.WriteByte('\n')
		open = append(open, e.Children)
	}
	if len(tree.Data) == 0 {
		return none
	}
	return b.String()
}

type documentsMove struct {
	apiCommand
	ID      string  `arg:"" complete:"documents" help:"Id or title of the document."`
	Project *string `placeholder:"ID|NAME|none" complete:"projects" help:"Project to move it to; none means no project."`
	Parent  *string `placeholder:"ID|TITLE|root" complete:"documents" help:"Document to move it below; root means the top level."`
	Before  *string `placeholder:"ID|TITLE" complete:"documents" xor:"neighbour" help:"Document that it comes right before. Without it or --after, it goes to the end."`
	After   *string `placeholder:"ID|TITLE" complete:"documents" xor:"neighbour" help:"Document that it comes right after."`
}

// Run moves a document with everything below it.
func (c *documentsMove) Run(ctx context.Context, p *Program) error {
	places := 0
	for name, flag := range map[string]*string{"--project": c.Project, "--parent": c.Parent, "--before": c.Before, "--after": c.After} {
		switch {
		case flag == nil:
			continue
		case *flag == "":
			return fmt.Errorf("%s is empty: name the place, or leave the flag out", name)
		}
		places++
	}
	if places == 0 {
		return errors.New("say where to move it: --parent, --before, --after or --project")
	}
	for _, flag := range []*string{c.Project, c.Parent} {
		if flag != nil {
			*flag = target(*flag)
		}
	}
	named := c.on(documents, &c.ID).in(projects, c.Project).in(documents, c.Parent).in(documents, c.Before).in(documents, c.After)
	return ask(named, ctx, p, func(ctx context.Context, api *client.Client) (client.Document, error) {
		return api.Documents.Move(ctx, c.ID, client.DocumentMove{ProjectID: change(c.Project), ParentID: change(c.Parent), BeforeID: or(c.Before, ""), AfterID: or(c.After, "")})
	}, documentText)
}
