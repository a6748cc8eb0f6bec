package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/sheaf"
)

// exportForm is the number of the form that export writes and import reads: one
// JSON object a line, which docs/import-export.md describes.
const exportForm = 1

// The kinds of lines.
const (
	kindHead         = "sheaf_export"
	kindFolder       = "folder"
	kindProject      = "project"
	kindDocument     = "document"
	kindSubscription = "subscription"
	kindEnd          = "end"
)

type exportCommand struct {
	storeFlags
	cli.Output
	Workspace string `required:"" placeholder:"ID" help:"Workspace to export."`
	File      string `arg:"" help:"The file to write. It must not exist. - is standard output."`
}

// Run writes a workspace as of one moment, also beside a running server.
func (c *exportCommand) Run(ctx context.Context, p *program) error {
	id, err := parseID[sheaf.WorkspaceID]("workspace", c.Workspace)
	if err != nil {
		return err
	}
	if c.File == "-" && c.JSON {
		return errors.New("standard output cannot take the export and --json: name a file")
	}
	return c.operate(ctx, p, false, func(op app.Operator) error {
		var count app.ImportCount
		err := c.to(p, func(out io.Writer) (err error) {
			count, err = writeExport(ctx, op, id, out)
			return err
		})
		if err != nil || c.File == "-" {
			return err
		}
		return c.Show(&p.Program, sheaf.RecordFunc(func(o *sheaf.Object) {
			o.Text("file", c.File)
			countFields(o, count)
		}), func() string { return fmt.Sprintf("%s are in %s\n", recordCounts(count), c.File) })
	})
}

// to writes the file, whole or not at all.
func (c *exportCommand) to(p *program, write func(io.Writer) error) error {
	if c.File == "-" {
		return spooled(p.Stdout, write)
	}
	err := writeFileFrom(c.File, write)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists: choose another name", c.File)
	}
	return err
}

// spooled writes into a file that has no name first, and then to out: whoever
// takes it slowly, or never, holds up nothing in the store.
func spooled(out io.Writer, write func(io.Writer) error) error {
	f, err := os.CreateTemp("", "sheaf-export-*") // mode 0600
	if err != nil {
		return err
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return err
	}
	if err := write(f); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(out, f)
	return err
}

func countFields(o *sheaf.Object, c app.ImportCount) {
	o.Int("folders", c.Folders)
	o.Int("projects", c.Projects)
	o.Int("documents", c.Documents)
	o.Int("subscriptions", c.Subscriptions)
}

// recordCounts tells the numbers to a person.
func recordCounts(c app.ImportCount) string {
	return fmt.Sprintf("%d folders, %d projects, %d documents and %d subscriptions", c.Folders, c.Projects, c.Documents, c.Subscriptions)
}

// writeExport writes the lines of a workspace.
func writeExport(ctx context.Context, op app.Operator, id sheaf.WorkspaceID, out io.Writer) (count app.ImportCount, err error) {
	w := bufio.NewWriterSize(out, 1<<16)
	line := func(kind string, r sheaf.RecordFunc) error {
		_, err := w.Write(append(sheaf.AppendJSON(nil, sheaf.RecordFunc(func(o *sheaf.Object) {
			o.Text("kind", kind)
			r(o)
		})), '\n'))
		return err
	}
	if err := line(kindHead, func(o *sheaf.Object) { o.Int("form", exportForm) }); err != nil {
		return count, err
	}
	err = op.Export(ctx, id, func(e app.Exported) error { return line(exported(e, &count)) })
	if err == nil {
		err = line(kindEnd, func(o *sheaf.Object) { o.Int("records", count.Sum()) })
	}
	if err == nil {
		err = w.Flush()
	}
	return count, err
}

// exported returns the kind of a record and its fields, and counts it.
func exported(e app.Exported, count *app.ImportCount) (kind string, r sheaf.RecordFunc) {
	switch {
	case e.Folder != nil:
		count.Folders++
		return kindFolder, exportedFolder(e.Folder)
	case e.Project != nil:
		count.Projects++
		return kindProject, exportedProject(e.Project)
	case e.Document != nil:
		count.Documents++
		return kindDocument, e.Document.Fields // all of them are its own
	}
	count.Subscriptions++
	return kindSubscription, exportedSubscription(e.Subscription)
}

func exportedFolder(f *sheaf.Folder) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("id", string(f.ID))
		o.Text("name", f.Name)
		o.Text("entity_type", string(f.EntityType))
		o.OptText("parent_id", (*string)(f.ParentID))
		o.Text("color", f.Color)
		o.Int("sort_order", int64(f.SortOrder))
		o.Time("created_at", f.CreatedAt)
		o.Time("updated_at", f.UpdatedAt)
	}
}

func exportedProject(p *sheaf.Project) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("id", string(p.ID))
		o.Text("name", p.Name)
		o.OptText("description", p.Description)
		o.OptText("icon", p.Icon)
		o.OptText("color", p.Color)
		o.OptText("folder_id", (*string)(p.FolderID))
		o.Int("sort_order", int64(p.SortOrder))
		o.Text("visibility", p.Visibility)
		o.Time("created_at", p.CreatedAt)
		o.Time("updated_at", p.UpdatedAt)
	}
}

// exportedSubscription leaves out its state, and what only its key opens.
func exportedSubscription(s *sheaf.Subscription) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		events := make([]string, len(s.Events))
		for i, t := range s.Events {
			events[i] = string(t)
		}
		o.Text("id", string(s.ID))
		o.Text("name", s.Name)
		o.Text("url", s.URL)
		o.Texts("events", events)
		o.Texts("header_names", s.HeaderNames)
		o.Time("created_at", s.CreatedAt)
		o.Time("updated_at", s.UpdatedAt)
	}
}
