package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sheaf.dev/client"
	"sheaf.dev/internal/markdown"
)

type importMarkdown struct {
	apiCommand
	Path   string `arg:"" help:"Folder or zip archive of Markdown."`
	Source string `required:"" placeholder:"NAME" help:"Name by which the files are known again at the next import."`
	Prune  bool   `help:"Put documents of this source whose file is gone into the trash."`
	DryRun bool   `name:"dry-run" help:"Change nothing; print what would be done."`
}

// Run reads and judges all files before it asks the server anything.
func (c *importMarkdown) Run(ctx context.Context, p *Program) error {
	tree, err := markdown.Open(c.Path)
	if err != nil {
		return err
	}
	defer tree.Close()
	lib, err := markdown.Load(tree, c.Source)
	if err != nil {
		return err
	}
	return c.callWith(ctx, p, patience, func(ctx context.Context, api *client.Client) error {
		report, err := c.bring(ctx, api, lib)
		if err != nil {
			return err
		}
		report.Pictures, report.OtherFiles, report.Links = lib.Pictures, tree.Others()-len(lib.Files()), tree.Passed
		report.TooLong, report.LinksKept, report.MDX = lib.TooLong, lib.LinksKept(), lib.MDX()
		return c.one(p, asJSON(report), report.text)
	})
}

// importReport is what an import did, or with DryRun would do.
type importReport struct {
	DryRun     bool         `json:"dry_run"`
	Uploaded   int          `json:"uploaded"` // files that have become media
	Created    int          `json:"created"`
	Updated    int          `json:"updated"`
	Trashed    int          `json:"trashed"`
	Unchanged  int          `json:"unchanged"`
	Gone       int          `json:"gone"`     // documents without a file, which stay
	Pictures   int          `json:"pictures"` // that are not there
	OtherFiles int          `json:"other_files"`
	TooLong    []string     `json:"too_long,omitempty"`   // for media
	LinksKept  []string     `json:"links_kept,omitempty"` // files whose text would be too long with ids
	MDX        int          `json:"mdx"`                  // files whose JSX is shown as text
	Links      int          `json:"links"`
	Plan       []importStep `json:"plan,omitempty"`
}

// importStep is what would be done with one file.
type importStep struct {
	Act   string   `json:"act"` // upload, create, update or trash
	Path  string   `json:"path"`
	Title string   `json:"title"`
	What  []string `json:"what"` // the fields that differ, or why it is new or goes
}

// bring compares the files with the server and does what is to be done.
func (c *importMarkdown) bring(ctx context.Context, api *client.Client, lib *markdown.Library) (*importReport, error) {
	have, err := serverDocuments(ctx, api)
	if err != nil {
		return nil, err
	}
	media, err := serverMedia(ctx, api, len(lib.Files()) > 0)
	if err != nil {
		return nil, err
	}
	known := markdown.Know(media)
	plan, err := lib.Compare(have, known)
	if err != nil {
		return nil, err
	}
	report := &importReport{DryRun: c.DryRun, Uploaded: len(plan.Upload), Created: len(plan.Create), Updated: len(plan.Update), Unchanged: plan.Same}
	if c.Prune {
		report.Trashed = len(plan.Trash)
	} else {
		report.Gone, plan.Trash = len(plan.Trash), nil
	}
	if c.DryRun {
		report.Plan = stepsOf(plan)
		return report, nil
	}
	return report, newImporter(api, lib, have, known).run(ctx, plan)
}

// serverMedia reads every medium of the workspace, in the order of their creation, where that is wanted:
// a key that may not read media can bring texts without any.
func serverMedia(ctx context.Context, api *client.Client, wanted bool) (all []markdown.Medium, err error) {
	if !wanted {
		return nil, nil
	}
	for m, err := range api.Media.All(ctx, client.MediumFilter{}) {
		if err != nil {
			return nil, err
		}
		all = append(all, markdown.Medium{ID: m.ID, Filename: m.Filename, SHA256: m.SHA256})
	}
	return all, nil
}

// serverDocuments reads every document of the workspace, without its text.
func serverDocuments(ctx context.Context, api *client.Client) (all []markdown.Document, err error) {
	for d, err := range api.Documents.All(ctx, client.DocumentFilter{Sort: "created_at"}) {
		if err != nil {
			return nil, err
		}
		all = append(all, markdownDocument(d))
	}
	return all, nil
}

// stepsOf lists a plan by path.
func stepsOf(plan markdown.Plan) (steps []importStep) {
	for _, f := range plan.Upload {
		steps = append(steps, importStep{"upload", f.Path, f.Name, []string{"new"}})
	}
	for _, e := range plan.Create {
		steps = append(steps, importStep{"create", e.Path, e.Title, append([]string{"new"}, remarks(e)...)})
	}
	for _, u := range plan.Update {
		steps = append(steps, importStep{"update", u.Path, u.Title, append(slices.Clip(u.Fields), remarks(u.Entry)...)})
	}
	for _, d := range plan.Trash {
		_, path, _ := strings.Cut(d.ExternalID, ":")
		steps = append(steps, importStep{"trash", path, d.Title, []string{"its file is gone"}})
	}
	slices.SortStableFunc(steps, func(a, b importStep) int { return strings.Compare(a.Path, b.Path) })
	return steps
}

// remarks returns how the document of a file will differ from what the author sees elsewhere.
func remarks(e *markdown.Entry) (out []string) {
	if e.LinksKept {
		out = append(out, "links to other files kept: ids would make the text too long")
	}
	if markdown.IsMDX(e.Path) {
		out = append(out, "JSX shown as text")
	}
	return out
}

// text is the report for a person.
func (r *importReport) text() string {
	var b strings.Builder
	if len(r.Plan) > 0 {
		b.WriteString(Table("DO\tFILE\tTITLE\tWHAT", func(row func(...any)) {
			for _, s := range r.Plan {
				row(s.Act, s.Path, s.Title, strings.Join(s.What, ", "))
			}
		}))
	}
	words := []string{"created %d", "updated %d", "put %d into the trash", "%d unchanged", "uploaded %d"}
	if r.DryRun {
		words = []string{"%d to create", "%d to update", "%d to put into the trash", "%d unchanged", "%d to upload"}
	}
	fmt.Fprintln(&b, sentence(r.Uploaded, words[4], r.Created, words[0], r.Updated, words[1], r.Trashed, words[2], r.Unchanged, words[3]))
	if r.Gone > 0 {
		fmt.Fprintf(&b, "%s without a file: --prune puts what has none into the trash\n", counted(r.Gone, "document"))
	}
	if r.MDX > 0 {
		fmt.Fprintf(&b, "%s of MDX: JSX is shown as text\n", counted(r.MDX, "file"))
	}
	for _, path := range r.LinksKept {
		fmt.Fprintf(&b, "%s: its links to other files are kept as they were, because ids would make the text too long\n", OneLine(path))
	}
	if left := sentence(r.Pictures, "%d pictures that are not there", len(r.TooLong), "%d files that are too long for media",
		r.OtherFiles-len(r.TooLong), "%d files to which no text leads", r.Links, "%d symbolic links"); left != "" {
		fmt.Fprintln(&b, "left: "+left)
	}
	return b.String()
}
