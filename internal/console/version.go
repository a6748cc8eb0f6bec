package console

import (
	"html/template"
	"strconv"

	"sheaf.dev/internal/sheaf"
)

// versionsPage is the data of versions.html.
type versionsPage struct {
	Document sheaf.Document
	Versions []sheaf.Version
	People   people
	Total    int64
	More     string
}

// versions answers GET /w/{workspace}/documents/{id}/versions: the versions of a document.
func (c *Console) versions(v *visit) error {
	d, err := find(v, "document", c.app.Document)
	if err != nil {
		return err
	}
	p := versionsPage{Document: d}
	if p.People, err = v.people(); err != nil {
		return err
	}
	offset := v.offset("from")
	page, err := c.app.Versions(v.r.Context(), v.caller, d.ID, sheaf.Paging{Limit: sheaf.DefaultLimit, Offset: offset, Desc: true})
	if err != nil {
		return err
	}
	p.Versions, p.Total, p.More = page.Items, page.Total, v.more(page.More(), offset+sheaf.DefaultLimit)
	return v.showDocument("versions", d, p)
}

// versionPage is the data of version.html: one version, in one of three views.
type versionPage struct {
	Document sheaf.Document
	Version  sheaf.Version
	By       string
	View     string // "changes" since the previous version, "now" for those up to the current one, or "text"
	Diff     diffLines
	HTML     template.HTML
	Note     string // why there is no diff
}

// Present reports whether this is the document's current version.
func (p versionPage) Present() bool { return p.Version.Number == p.Document.Version }

// versionOf finds the document and the version in the path, or NotFound.
func (v *visit) versionOf() (d sheaf.Document, x sheaf.VersionText, err error) {
	if d, err = find(v, "document", v.console.app.Document); err != nil {
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
// differs from the current one, or its text.
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
	switch p.View {
	case "text":
		p.HTML, err = v.renderText(x.Content)
	case "now":
		err = v.compare(&p, x.Number, d.Version)
	default:
		if p.View = "changes"; x.Number == 1 {
			p.Note = "This is the first version."
		} else {
			err = v.compare(&p, x.Number-1, x.Number)
		}
	}
	if err != nil {
		return err
	}
	return v.showDocument("version", d, p)
}

// compare sets the diff between two versions, or the note why there is none: one is no longer kept,
// or too long.
func (v *visit) compare(p *versionPage, from, to int64) error {
	unified, err := v.console.app.DiffVersions(v.r.Context(), v.caller, p.Document.ID, from, &to)
	switch sheaf.KindOf(err) {
	case sheaf.NotFound:
		p.Note = "The previous version is no longer kept."
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

// restoreVersionForm answers GET /w/{workspace}/documents/{id}/versions/{n}/restore: it asks for
// confirmation.
func (c *Console) restoreVersionForm(v *visit) error {
	d, x, err := v.versionOf()
	if err != nil {
		return err
	}
	return v.showDocument("version-restore", d, versionRestore{d, x.Version})
}

// restoreVersion answers POST /w/{workspace}/documents/{id}/versions/{n}/restore: it saves an old
// version's values as a new version. If the document was changed since the form was made, it asks
// again.
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
			Text: "The document was changed meanwhile, and nothing was restored. Check its versions, and restore again if you still want to"}
	}
	if err != nil {
		if lost := v.locate(sheaf.ProjectID(projectIDOf(d))); lost != nil {
			return lost
		}
		if lost := v.locateAbove(d.ParentID); lost != nil {
			return lost
		}
		return v.again("version-restore", versionRestore{d, x.Version}, err)
	}
	return v.done(v.at("documents", string(d.ID)))
}
