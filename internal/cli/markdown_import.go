package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"sheaf.dev/client"
	"sheaf.dev/internal/markdown"
	"sheaf.dev/internal/sheaf"
)

type importMarkdown struct {
	apiCommand
	Path      string `arg:"" help:"Folder or zip archive of Markdown."`
	Source    string `required:"" placeholder:"NAME" help:"Name that identifies the files at the next import."`
	AsProject bool   `name:"as-project" help:"Import everything into one project: each subfolder becomes a document, with its files below it."`
	Into      string `placeholder:"ID|NAME" complete:"folders" help:"Folder below which new folders and projects are made; without it, the root level."`
	Prune     bool   `help:"Move documents of this source whose file is gone to the trash."`
	Propose   bool   `help:"Change no document: make one proposal of what differs, or update the open one of this source."`
	Versions  string `placeholder:"FILE" help:"With --propose: the file that export-markdown --versions wrote. Only what changed in the files since then is proposed, and is merged with what changed on the server."`
	DryRun    bool   `name:"dry-run" help:"Change nothing; print what would be done."`
}

// Run reads and checks all files before its first request to the server.
func (c *importMarkdown) Run(ctx context.Context, p *Program) error {
	baseline, err := c.baseline()
	if err != nil {
		return err
	}
	tree, err := markdown.Open(c.Path)
	if err != nil {
		return err
	}
	defer tree.Close()
	load := markdown.Load
	if c.AsProject {
		load = markdown.LoadProject
	}
	lib, err := load(tree, c.Source)
	if err != nil {
		return err
	}
	return c.callWith(ctx, p, manyRetries, func(ctx context.Context, api *client.Client) error {
		if err := c.in(folders, &c.Into).resolve(ctx, api); err != nil {
			return err
		}
		report, err := c.apply(ctx, api, lib, baseline)
		if err != nil {
			return err
		}
		report.Pictures, report.OtherFiles, report.Links = lib.Pictures, tree.Others()-len(lib.Files()), tree.Passed
		report.TooLong, report.LinksKept, report.MDX = lib.TooLong, lib.LinksKept(), lib.MDX()
		return c.one(p, asJSON(report), report.text)
	})
}

// importReport says what an import did, or with DryRun would do.
type importReport struct {
	DryRun     bool         `json:"dry_run"`
	Uploaded   int          `json:"uploaded"` // files that became media
	Created    int          `json:"created"`
	Updated    int          `json:"updated"`
	Trashed    int          `json:"trashed"`
	Unchanged  int          `json:"unchanged"`
	Gone       int          `json:"gone"`     // documents without a file, which are kept
	Pictures   int          `json:"pictures"` // missing ones
	OtherFiles int          `json:"other_files"`
	TooLong    []string     `json:"too_long,omitempty"`   // files that are too long for media
	LinksKept  []string     `json:"links_kept,omitempty"` // files whose text would be too long with ids
	MDX        int          `json:"mdx"`                  // files whose JSX is shown as text
	Links      int          `json:"links"`
	Proposal   string       `json:"proposal,omitempty"`  // id of the open proposal, with Propose
	Withdrawn  string       `json:"withdrawn,omitempty"` // id of a proposal that has nothing left to change
	Later      int          `json:"later,omitempty"`     // changes that the proposal has no room for
	Plan       []importStep `json:"plan,omitempty"`
}

// importStep says what would be done with one file.
type importStep struct {
	Act    string   `json:"act"` // upload, create, update or trash
	Path   string   `json:"path"`
	Title  string   `json:"title"`
	What   []string `json:"what"`             // the changed fields, or why the file is left alone
	In     string   `json:"in,omitempty"`     // new folders and project, with --into
	Parent string   `json:"parent,omitempty"` // path of the file or folder above it, with AsProject

	level, place int // of a project: level from 1, and position in reading order
}

// baseline reads the file of --versions, or returns nil.
func (c *importMarkdown) baseline() (*markdown.Baseline, error) {
	if c.Versions == "" {
		return nil, nil
	}
	if !c.Propose {
		return nil, sheaf.Invalidf("--versions needs --propose: without it an import makes the documents equal to the files")
	}
	data, err := os.ReadFile(c.Versions)
	if err != nil {
		return nil, err
	}
	b, err := markdown.ParseBaseline(data)
	if err != nil {
		return nil, fileError(c.Versions, err)
	}
	return b, nil
}

// apply compares the files with the server's documents, and makes the changes unless DryRun is set.
func (c *importMarkdown) apply(ctx context.Context, api *client.Client, lib *markdown.Library, baseline *markdown.Baseline) (*importReport, error) {
	below, err := folderInto(ctx, api, c.Into)
	if err != nil {
		return nil, err
	}
	have, err := serverDocuments(ctx, api, "")
	if err != nil {
		return nil, err
	}
	media, err := serverMedia(ctx, api, len(lib.Files()) > 0)
	if err != nil {
		return nil, err
	}
	if c.AsProject {
		for p, err := range api.Projects.All(ctx, client.ProjectFilter{ExternalID: markdown.ExternalID(c.Source, markdown.Root)}) {
			if err != nil {
				return nil, err
			}
			lib.Home = p.ID
		}
	}
	if baseline != nil {
		baseline.Recognize(c.Source, have)
	}
	known := markdown.Know(media)
	plan, err := lib.Compare(have, known)
	if err != nil {
		return nil, err
	}
	m := newImporter(api, lib, have, known, below)
	if baseline != nil {
		m.baseline = baseline
		if plan, err = m.merged(ctx, lib.Since(baseline, plan)); err != nil {
			return nil, err
		}
	}
	report := &importReport{DryRun: c.DryRun, Uploaded: len(plan.Upload), Created: len(plan.Create), Updated: len(plan.Update), Unchanged: plan.Same}
	if c.Prune {
		report.Trashed, report.Gone = len(plan.Trash), plan.Kept
	} else {
		report.Gone, plan.Trash = len(plan.Trash)+plan.Kept, nil
	}
	if c.Propose && !c.DryRun {
		return report, m.propose(ctx, plan, report)
	}
	if !c.DryRun {
		return report, m.run(ctx, plan)
	}
	if c.Propose {
		if err := m.canPropose(ctx, plan); err != nil {
			return report, err
		}
	}
	report.Plan = stepsOf(plan, lib)
	return report, m.addPlaces(ctx, plan, report.Plan)
}

// serverMedia reads every medium of the workspace, the oldest first, if `wanted` is set: a key that
// may not read media can import texts without media.
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

// serverDocuments reads every document of the workspace, or of one project, without its text.
func serverDocuments(ctx context.Context, api *client.Client, project string) (all []markdown.Document, err error) {
	for d, err := range api.Documents.All(ctx, client.DocumentFilter{ProjectID: project, Sort: "created_at"}) {
		if err != nil {
			return nil, err
		}
		all = append(all, markdownDocument(d))
	}
	return all, nil
}

// stepsOf returns the steps of a plan: of a project in reading order, else sorted by path.
func stepsOf(plan markdown.Plan, lib *markdown.Library) (steps []importStep) {
	places := map[*markdown.Entry]int{}
	for i, e := range lib.Entries {
		if lib.AsProject {
			places[e] = i
		}
	}
	page := func(act string, e *markdown.Entry, what []string) {
		s := importStep{Act: act, Path: e.Path, Title: e.Title, What: append(what, remarks(e)...), level: e.Level, place: places[e]}
		if e.Parent != nil {
			s.Parent = e.Parent.Path
		}
		steps = append(steps, s)
	}
	for _, f := range plan.Upload {
		steps = append(steps, importStep{Act: "upload", Path: f.Path, Title: f.Name, What: []string{"new"}, place: len(lib.Entries)})
	}
	for _, e := range plan.Create {
		page("create", e, []string{"new"})
	}
	for _, u := range plan.Update {
		page("update", u.Entry, slices.Clip(u.Fields))
	}
	for _, d := range plan.Trash {
		_, path, _ := strings.Cut(d.ExternalID, ":")
		steps = append(steps, importStep{Act: "trash", Path: path, Title: d.Title, What: []string{"its file is gone"}, place: len(lib.Entries)})
	}
	slices.SortStableFunc(steps, func(a, b importStep) int {
		if lib.AsProject && a.place != b.place {
			return a.place - b.place
		}
		return strings.Compare(a.Path, b.Path)
	})
	return steps
}

// addPlaces adds to the steps of new documents where these will be, if the import has a folder of the
// server.
func (m *importer) addPlaces(ctx context.Context, plan markdown.Plan, steps []importStep) error {
	if m.into.id == "" {
		return nil
	}
	if err := m.known(ctx); err != nil {
		return err
	}
	places := map[string]string{}
	for _, e := range plan.Create {
		places[e.Path] = m.newPlace(e)
	}
	for i := range steps {
		if s := &steps[i]; s.Act == "create" && places[s.Path] != "" {
			s.In = places[s.Path]
			s.What = append(s.What, "in "+s.In)
		}
	}
	return nil
}

// remarks returns how the document will differ from the file.
func remarks(e *markdown.Entry) (out []string) {
	if e.LinksKept {
		out = append(out, "links to other files kept: ids would make the text too long")
	}
	if markdown.IsMDX(e.Path) {
		out = append(out, "JSX shown as text")
	}
	return out
}

// text returns the report for a person.
func (r *importReport) text() string {
	var b strings.Builder
	if len(r.Plan) > 0 {
		b.WriteString(Table("DO\tFILE\tTITLE\tWHAT", func(row func(...any)) {
			for _, s := range r.Plan {
				row(s.Act, s.Path, strings.Repeat("· ", max(s.level-1, 0))+s.Title, strings.Join(s.What, ", "))
			}
		}))
	}
	words := []string{"created %d", "updated %d", "put %d into the trash", "%d unchanged", "uploaded %d"}
	if r.DryRun || r.Proposal != "" {
		words = []string{"%d to create", "%d to update", "%d to put into the trash", "%d unchanged", "%d to upload"}
	}
	fmt.Fprintln(&b, sentence(r.Uploaded, words[4], r.Created, words[0], r.Updated, words[1], r.Trashed, words[2], r.Unchanged, words[3]))
	if r.Proposal != "" {
		fmt.Fprintf(&b, "proposal %s waits for a decision\n", r.Proposal)
	}
	if r.Later > 0 {
		fmt.Fprintf(&b, "%s more do not fit into one proposal: accept it, and import again\n", counted(r.Later, "change"))
	}
	if r.Withdrawn != "" {
		fmt.Fprintf(&b, "withdrew proposal %s: nothing differs any more\n", r.Withdrawn)
	}
	if r.Gone > 0 {
		fmt.Fprintf(&b, "%s without a file: not deleted. --prune moves such documents to the trash, unless a document below them stays\n", counted(r.Gone, "document"))
	}
	if r.MDX > 0 {
		fmt.Fprintf(&b, "%s of MDX: JSX is shown as text\n", counted(r.MDX, "file"))
	}
	for _, path := range r.LinksKept {
		fmt.Fprintf(&b, "%s: its links to other files are kept as they were, because ids would make the text too long\n", OneLine(path))
	}
	if left := sentence(r.Pictures, "%d pictures that are not there", len(r.TooLong), "%d files that are too large for media",
		r.OtherFiles-len(r.TooLong), "%d files that no text links to", r.Links, "%d symbolic links"); left != "" {
		fmt.Fprintln(&b, "left: "+left)
	}
	return b.String()
}
