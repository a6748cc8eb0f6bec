package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"sheaf.dev/client"
)

type foldersTree struct {
	apiCommand
	Type     string `placeholder:"TYPE" values:"project,branding" help:"Only project folders, or only branding ones."`
	Projects bool   `help:"Draw the projects too."`
	IDs      bool   `name:"ids" help:"Show the ids."`
}

// leaf is a folder or a project in the drawing.
type leaf struct {
	record   json.RawMessage
	id, name string
	note     string
	project  bool
}

// forest has the content of each folder by its id. The root level has the id "".
type forest map[string][]leaf

func (c *foldersTree) Run(ctx context.Context, p *Program) error {
	return c.call(ctx, p, func(ctx context.Context, api *client.Client) error {
		all, err := c.read(ctx, api)
		if err != nil {
			return err
		}
		if c.JSON {
			return p.Print(string(asJSON(all.nested(""))) + "\n")
		}
		var b strings.Builder
		c.draw(&b, all, "", "")
		if b.Len() == 0 {
			b.WriteString("no folders: make one with sheaf folders create NAME\n")
		}
		return p.Print(b.String())
	})
}

// read reads the folders, and then the projects, so that projects come last in each folder.
func (c *foldersTree) read(ctx context.Context, api *client.Client) (forest, error) {
	all := forest{}
	for f, err := range api.Folders.All(ctx, client.FolderFilter{EntityType: c.Type}) {
		if err != nil {
			return nil, err
		}
		in := or(f.ParentID, "")
		all[in] = append(all[in], leaf{record: f.Raw(), id: f.ID, name: f.Name + "/", note: holds(f)})
	}
	if !c.Projects {
		return all, nil
	}
	for v, err := range api.Projects.All(ctx, client.ProjectFilter{}) {
		if err != nil {
			return nil, err
		}
		in := or(v.FolderID, "")
		all[in] = append(all[in], leaf{record: v.Raw(), id: v.ID, name: v.Name, note: counted(v.DocumentCount, "document"), project: true})
	}
	return all, nil
}

func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func (c *foldersTree) draw(b *strings.Builder, all forest, in, indent string) {
	for i, l := range all[in] {
		branch, deeper := "├── ", "│   "
		if i == len(all[in])-1 {
			branch, deeper = "└── ", "    "
		}
		fmt.Fprintf(b, "%s%s%s  (%s)", indent, branch, OneLine(l.name), l.note)
		if c.IDs {
			fmt.Fprintf(b, "  %s", l.id)
		}
		b.WriteByte('\n')
		if !l.project {
			c.draw(b, all, l.id, indent+deeper)
		}
	}
}

// nested returns the tree for JSON: each folder's record with its content.
func (all forest) nested(in string) []any {
	out := []any{}
	for _, l := range all[in] {
		if l.project {
			out = append(out, map[string]any{"project": l.record})
			continue
		}
		out = append(out, map[string]any{"folder": l.record, "children": all.nested(l.id)})
	}
	return out
}
