package archive

import (
	"bufio"
	"context"
	"io"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// Write writes the workspace as of one moment, also beside a running server, and returns how many
// records it has.
func Write(ctx context.Context, op app.Operator, id sheaf.WorkspaceID, out io.Writer) (count Count, err error) {
	w := bufio.NewWriterSize(out, 1<<16)
	line := func(kind string, r sheaf.RecordFunc) error {
		_, err := w.Write(append(sheaf.AppendJSON(nil, sheaf.RecordFunc(func(o *sheaf.Object) {
			o.Text("kind", kind)
			r(o)
		})), '\n'))
		return err
	}
	if err := line(kindHead, func(o *sheaf.Object) { o.Int("form", form) }); err != nil {
		return count, err
	}
	err = op.Export(ctx, id, func(e app.Exported) error { return line(lineOf(e, &count)) })
	if err == nil {
		err = line(kindEnd, func(o *sheaf.Object) { o.Int("records", count.Sum()) })
	}
	if err == nil {
		err = w.Flush()
	}
	return count, err
}

// lineOf returns the kind of a record and its fields, and counts it.
func lineOf(e app.Exported, count *Count) (kind string, r sheaf.RecordFunc) {
	switch {
	case e.Folder != nil:
		count.Folders++
		return kindFolder, folderFields(e.Folder)
	case e.Branding != nil:
		count.Brandings++
		return kindBranding, brandingFields(e.Branding, e.Default)
	case e.Project != nil:
		count.Projects++
		return kindProject, projectFields(e.Project)
	case e.Document != nil:
		count.Documents++
		return kindDocument, documentFields(e.Document, e.Version)
	case e.Version != nil:
		count.Versions++
		return kindVersion, versionFields(e.VersionOf, e.Version)
	case e.Share != nil:
		count.Shares++
		return kindShare, shareFields(e.Share)
	}
	count.Subscriptions++
	return kindSubscription, subscriptionFields(e.Subscription)
}

func folderFields(f *sheaf.Folder) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("id", string(f.ID))
		o.Text("name", f.Name)
		o.Text("entity_type", string(f.EntityType))
		o.OptText("parent_id", (*string)(f.ParentID))
		o.Text("color", f.Color)
		o.Int("sort_order", int64(f.SortOrder))
		o.OptText("external_id", f.ExternalID)
		o.Time("created_at", f.CreatedAt)
		o.Time("updated_at", f.UpdatedAt)
	}
}

// brandingFields has those of a branding, and whether it is the workspace's default one.
func brandingFields(b *sheaf.Branding, standard bool) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		b.Fields(o)
		o.Bool("default", standard)
	}
}

func projectFields(p *sheaf.Project) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("id", string(p.ID))
		o.Text("name", p.Name)
		o.OptText("description", p.Description)
		o.OptText("icon", p.Icon)
		o.OptText("color", p.Color)
		o.OptText("folder_id", (*string)(p.FolderID))
		o.Int("sort_order", int64(p.SortOrder))
		o.Text("visibility", p.Visibility)
		o.OptText("external_id", p.ExternalID)
		o.OptText("url", p.URL)
		o.Metadata("metadata", p.Metadata)
		o.Time("created_at", p.CreatedAt)
		o.Time("updated_at", p.UpdatedAt)
	}
}

// shareFields leaves out how often it was seen, its address, and its password but for that it has one.
func shareFields(s *sheaf.Share) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("id", string(s.ID))
		o.Text("resource_type", string(s.ResourceType))
		o.Text("resource_id", s.ResourceID)
		o.Bool("has_password", s.PasswordHash != "")
		o.OptTime("expires_at", s.ExpiresAt)
		o.OptText("branding_id", (*string)(s.BrandingID))
		o.Bool("listed", s.Listed)
		o.Time("created_at", s.CreatedAt)
		o.Time("updated_at", s.UpdatedAt)
	}
}

// subscriptionFields leaves out its state, and what only its key opens.
func subscriptionFields(s *sheaf.Subscription) sheaf.RecordFunc {
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
