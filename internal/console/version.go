package console

import (
	"html/template"
	"net/http"
	"strconv"

	"sheaf.dev/internal/sheaf"
)

// people are the names of the workspace's members, by their id.
type people map[sheaf.UserID]string

// people reads the names of the members.
func (v *visit) people() (people, error) {
	m, err := v.console.app.Members(v.r.Context(), v.caller)
	out := people{}
	for _, member := range m.Members {
		out[member.User.ID] = person(member.User)
	}
	return out, err
}

// By says who made a version. Whoever left is not known by name any more.
func (p people) By(v sheaf.Version) string {
	name := "somebody"
	switch {
	case v.UserID == nil:
	case p[*v.UserID] != "":
		name = p[*v.UserID]
	default:
		name = "somebody who left"
	}
	if v.KeyID != nil {
		name += ", with a key"
	}
	return name
}

// versionsPage is the data of versions.html.
type versionsPage struct {
	Document sheaf.Document
	Versions []sheaf.Version
	People   people
	Total    int64
	More     string
}

// versions answers GET /w/{workspace}/documents/{id}/versions: it lists what the document was.
func (c *Console) versions(v *visit) error {
	d, err := v.documentOf()
	if err != nil {
		return err
	}
	p := versionsPage{Document: d}
	if p.People, err = v.people(); err != nil {
		return err
	}
	offset := v.offset()
	page, err := c.app.Versions(v.r.Context(), v.caller, d.ID, sheaf.Paging{Limit: sheaf.DefaultLimit, Offset: offset, Desc: true})
	if err != nil {
		return err
	}
	p.Versions, p.Total, p.More = page.Items, page.Total, v.more(page.More(), offset+sheaf.DefaultLimit)
	return v.showBeside(http.StatusOK, "versions", v.here(d), p)
}

// versionPage is the data of version.html: one version, in one of three views.
type versionPage struct {
	Document sheaf.Document
	Version  sheaf.Version
	By       string
	View     string // "changes" to the one before, "now" for those to the present one, or "text"
	Diff     diffLines
	HTML     template.HTML
	Note     string // why there is nothing to compare
}

// Present reports whether the document is as it was in this version.
func (p versionPage) Present() bool { return p.Version.Number == p.Document.Version }

// versionOf finds the document and the version in the path, or NotFound.
func (v *visit) versionOf() (d sheaf.Document, x sheaf.VersionText, err error) {
	if d, err = v.documentOf(); err != nil {
		return d, x, err
	}
	n, err := strconv.ParseInt(v.r.PathValue("n"), 10, 64)
	if err != nil || n < 1 {
		return d, x, sheaf.Missing("version")
	}
	x, err = v.console.app.Version(v.r.Context(), v.caller, d.ID, n)
	return d, x, err
}

// version answers GET /w/{workspace}/documents/{id}/versions/{n}: what a version changed, how it
// differs from the present one, or its text.
func (c *Console) version(v *visit) error {
	d, x, err := v.versionOf()
	if err != nil {
		return err
	}
	names, err := v.people()
	if err != nil {
		return err
	}
	p := versionPage{Document: d, Version: x.Version, By: names.By(x.Version), View: v.r.URL.Query().Get("view")}
	if err := v.viewVersion(&p, x); err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "version", v.here(d), p)
}

// viewVersion fills in the view that is asked for.
func (v *visit) viewVersion(p *versionPage, x sheaf.VersionText) (err error) {
	switch p.View {
	case "text":
		p.HTML, err = v.shown(x.Content)
		return err
	case "now":
		return v.compare(p, x.Number, p.Document.Version)
	}
	p.View = "changes"
	if x.Number == 1 {
		p.Note = "This is the first version: there is none before it."
		return nil
	}
	return v.compare(p, x.Number-1, x.Number)
}

// compare fills in what differs between two versions, or why that is not told: one is not kept any
// more, or too long.
func (v *visit) compare(p *versionPage, from, to int64) error {
	unified, err := v.console.app.DiffVersions(v.r.Context(), v.caller, p.Document.ID, from, &to)
	switch sheaf.KindOf(err) {
	case sheaf.NotFound:
		p.Note = "The version before it is not kept any more."
		return nil
	case sheaf.Invalid:
		p.Note = faultOf(err)
		return nil
	}
	p.Diff = readDiff(unified)
	if err == nil && unified == "" {
		p.Note = "The text is the same."
	}
	return err
}

// versionRestore is the data of version-restore.html.
type versionRestore struct {
	Document sheaf.Document
	Version  sheaf.Version
}

// restoreVersionForm answers GET /w/{workspace}/documents/{id}/versions/{n}/restore: it asks whether
// the document shall be as it was.
func (c *Console) restoreVersionForm(v *visit) error {
	d, x, err := v.versionOf()
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "version-restore", v.here(d), versionRestore{d, x.Version})
}

// restoreVersion answers POST /w/{workspace}/documents/{id}/versions/{n}/restore: it makes the
// document what it was, as a new version. Who asked about another state of it is asked again.
func (c *Console) restoreVersion(v *visit) error {
	d, x, err := v.versionOf()
	if err != nil {
		return err
	}
	revision, err := v.revision()
	if err != nil {
		return err
	}
	_, err = c.app.RestoreVersion(v.r.Context(), v.caller, d.ID, x.Number, sheaf.Match{Asked: true, Revisions: []int64{revision}})
	if sheaf.KindOf(err) == sheaf.PreconditionFailed {
		err = &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
			Text: "Somebody changed the document meanwhile, and nothing was restored. Look at its versions, and restore again if you still want to"}
	}
	if err != nil {
		if lost := v.locate(sheaf.ProjectID(v.here(d))); lost != nil {
			return lost
		}
		return v.again("version-restore", versionRestore{d, x.Version}, err)
	}
	return v.done(v.at("documents", string(d.ID)))
}
